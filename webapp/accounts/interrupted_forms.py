"""Forms interrupted by the question for the password: kept for half an hour, to go on with what was typed."""

from __future__ import annotations

import json
import secrets
from typing import Any

from flask import request
from redis.exceptions import RedisError

from webapp.extensions import redis

KEPT_SECONDS = 1_800
MOST_CHARACTERS = 100_000
_LEFT_OUT = {"csrf_token"}


def keep_form(user_id: int) -> str:
    """Keep the posted form for its user, and return the key to it; empty if it holds files or is too long."""
    fields = [(name, value) for name, value in request.form.items(multi=True) if name not in _LEFT_OUT]
    action = request.script_root + request.full_path.rstrip("?")
    sealed_form = json.dumps({"user": user_id, "action": action, "fields": fields})
    if request.files or len(sealed_form) > MOST_CHARACTERS:
        return ""
    key = secrets.token_urlsafe(16)
    try:
        redis().set(_name(key), sealed_form, ex=KEPT_SECONDS)
    except RedisError:
        return ""  # the form is asked for again
    return key


def take_form(user_id: int, key: str) -> dict[str, Any] | None:
    """Take a form that was kept: its `action` and `fields`, pairs in their order. None if it is gone or another's."""
    try:
        sealed_form = redis().getdel(_name(key[:100]))
    except RedisError:
        return None
    form: dict[str, Any] = json.loads(sealed_form) if isinstance(sealed_form, str | bytes) else {}
    return form if form.get("user") == user_id else None


def _name(key: str) -> str:
    return f"interrupted-form:{key}"
