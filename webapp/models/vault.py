"""The stored keys of model servers: encrypted under a key of their own, derived from the installation's secret."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from dataclasses import dataclass, field
from functools import lru_cache

from cryptography.fernet import Fernet, InvalidToken
from flask import current_app


@dataclass(frozen=True)
class Secrets:
    """What a connection must not reveal."""

    api_key: str = field(default="", repr=False)
    headers: dict[str, str] = field(default_factory=dict, repr=False)


def seal(secrets: Secrets) -> str:
    """Secrets as they are stored."""
    return (
        _box(current_app.config["SECRET_KEY"])
        .encrypt(json.dumps({"k": secrets.api_key, "h": secrets.headers}).encode())
        .decode()
    )


def unseal(stored: str | None) -> Secrets:
    """Stored secrets; empty if the installation's secret has since changed, so that they must be entered again."""
    if not stored:
        return Secrets()
    return _opened(current_app.config["SECRET_KEY"], stored)


@lru_cache(maxsize=256)
def _opened(secret: str, stored: str) -> Secrets:
    """The decrypted text, cached, so that each stored text is decrypted only once."""
    try:
        found = json.loads(_box(secret).decrypt(stored.encode()))
    except (InvalidToken, ValueError):
        return Secrets()
    return Secrets(found["k"], found["h"])


def _box(secret: str) -> Fernet:
    key = hmac.new(secret.encode(), b"model connections", hashlib.sha256).digest()
    return Fernet(base64.urlsafe_b64encode(key))
