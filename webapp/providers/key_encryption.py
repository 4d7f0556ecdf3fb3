"""The stored keys of model servers: encrypted under a key of their own, derived from the installation's secret."""

import json
from dataclasses import dataclass, field
from functools import lru_cache

from flask import current_app

from webapp.db import encryption

PURPOSE = b"model connections"


@dataclass(frozen=True)
class Secrets:
    """The secrets of a connection."""

    api_key: str = field(default="", repr=False)
    headers: dict[str, str] = field(default_factory=dict, repr=False)


def seal(secrets: Secrets) -> str:
    """Return secrets as they are stored."""
    return encryption.seal(PURPOSE, json.dumps({"k": secrets.api_key, "h": secrets.headers}))


def unseal(stored: str | None) -> Secrets:
    """Return stored secrets; empty if the installation's secret has changed since."""
    return _decrypt(current_app.config["SECRET_KEY"], stored) if stored else Secrets()


@lru_cache(maxsize=256)
def _decrypt(_secret: str, stored: str) -> Secrets:
    """Return the decrypted text, cached, so that each stored text is decrypted only once for each secret."""
    plaintext = encryption.unseal(PURPOSE, stored)
    if plaintext is None:
        return Secrets()
    data = json.loads(plaintext)
    return Secrets(data["k"], data["h"])
