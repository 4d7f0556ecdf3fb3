"""Checks that a session must pass before it may continue: a password of the user's own, or the password once more."""

import json
import secrets
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from flask import Response, request
from redis.exceptions import RedisError

from webapp.accounts.identity import Identity
from webapp.db.base import now
from webapp.db.encryption import seal, unseal
from webapp.errors import Forbidden
from webapp.extensions import redis
from webapp.http.views import previous_page, redirect_to, wants_json

PROOF_DURATION = timedelta(minutes=30)
NEW_PASSWORD, CONFIRM, CONTINUE = "/new-password", "/confirm", "/confirm/continue"


RETENTION_SECONDS = 1_800
MAX_CHARACTERS = 100_000
_LEFT_OUT = {"csrf_token"}


def next_step(view: Callable[..., Any], identity: Identity | None, access: str) -> Response | None:
    """Return where to go first; None when nothing is owed. Raises Forbidden for programs that use a session."""
    if identity is None or identity.via != "session" or access == "public":
        return None
    if identity.must_change_password and request.path != NEW_PASSWORD:
        return _interrupt_until_passed(NEW_PASSWORD, "", "Change the password that you were given first.")
    if not getattr(view, "password_required", False):
        return None
    if identity.proved_at is not None and now() - identity.proved_at < PROOF_DURATION:
        return None
    next_url = "" if wants_json() else _return_url(identity.user_id, keeps_form=not getattr(view, "asks_again", False))
    return _interrupt_until_passed(CONFIRM, next_url, "Give your password again first: POST /api/account/proof.")


def _interrupt_until_passed(path: str, next_url: str, detail: str) -> Response:
    if wants_json():
        raise Forbidden(detail)
    return redirect_to(f"{request.script_root}{path}" + (f"?{urlencode({'next': next_url})}" if next_url else ""), 403)


def _return_url(user_id: int, *, keeps_form: bool) -> str:
    """Return where to go on afterwards: with the form that was sent, or else at its page, to send it again."""
    if request.method == "GET":
        return request.full_path.rstrip("?")
    key = store_form(user_id) if keeps_form else ""
    page = previous_page()
    return f"{request.script_root}{CONTINUE}?{urlencode({'form': key, 'page': page})}" if key else page


def store_form(user_id: int) -> str:
    """Keep the posted form for its user, and return the key to it; empty if it holds files or is too long."""
    fields = [(name, value) for name, value in request.form.items(multi=True) if name not in _LEFT_OUT]
    action = request.script_root + request.full_path.rstrip("?")
    form = json.dumps({"action": action, "fields": fields})
    if request.files or len(form) > MAX_CHARACTERS:
        return ""
    key = secrets.token_urlsafe(16)
    try:
        redis().set(_form_key(key), seal(_purpose(user_id), form), ex=RETENTION_SECONDS)
    except RedisError:
        return ""  # the form is asked for again
    return key


def pop_form(user_id: int, key: str) -> dict[str, Any] | None:
    """Take a form that was kept: its `action` and `fields`, pairs in their order. None if it is gone or another's."""
    try:
        sealed_form = redis().getdel(_form_key(key[:100]))
    except RedisError:
        return None
    form = unseal(_purpose(user_id), sealed_form.decode()) if isinstance(sealed_form, bytes) else None
    return json.loads(form) if form else None


def _form_key(key: str) -> str:
    return f"interrupted-form:{key}"


def _purpose(user_id: int) -> bytes:
    return f"interrupted form of {user_id}".encode()
