"""Secrets as they are stored: encrypted by a key per purpose, from SECRET_KEY, where read again, otherwise a digest."""

import base64
import hashlib
import hmac

from cryptography.fernet import Fernet, InvalidToken
from flask import current_app


def digest_of(secret: str) -> str:
    """Return the digest by which a secret is recognised: made of random bits, it needs no slow hash."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def seal(purpose: bytes, text: str) -> str:
    """Return the text as it is stored."""
    return _box(purpose).encrypt(text.encode()).decode()


def unseal(purpose: bytes, stored: str) -> str | None:
    """Return the stored text; None if SECRET_KEY has changed since, or if it was never sealed."""
    try:
        return _box(purpose).decrypt(stored.encode()).decode()
    except (InvalidToken, ValueError):
        return None


def keyed_hash(data: bytes) -> hmac.HMAC:
    """Begin a hash that nobody without SECRET_KEY can make."""
    return hmac.new(current_app.config["SECRET_KEY"].encode(), data, "sha256")


def _box(purpose: bytes) -> Fernet:
    return Fernet(base64.urlsafe_b64encode(keyed_hash(purpose).digest()))
