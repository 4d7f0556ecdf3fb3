"""Keys of model servers at rest: encrypted under a key of their own, derived from the installation's secret."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from dataclasses import dataclass, field

from cryptography.fernet import Fernet, InvalidToken
from flask import current_app


@dataclass(frozen=True)
class Secrets:
    """What a connection must not tell."""

    api_key: str = field(default="", repr=False)
    headers: dict[str, str] = field(default_factory=dict, repr=False)


def seal(secrets: Secrets) -> str:
    """Secrets as they are stored."""
    return _box().encrypt(json.dumps({"k": secrets.api_key, "h": secrets.headers}).encode()).decode()


def unseal(stored: str | None) -> Secrets:
    """Stored secrets; empty where the installation's secret has changed since, so that they must be entered again."""
    if not stored:
        return Secrets()
    try:
        found = json.loads(_box().decrypt(stored.encode()))
    except (InvalidToken, ValueError):
        return Secrets()
    return Secrets(found["k"], found["h"])


def _box() -> Fernet:
    key = hmac.new(current_app.config["SECRET_KEY"].encode(), b"model connections", hashlib.sha256).digest()
    return Fernet(base64.urlsafe_b64encode(key))
