"""Signatures according to Standard Webhooks (standardwebhooks.com), and when to try again; pure."""

import base64
import hashlib
import hmac
import secrets

PREFIX = "whsec_"
RETRY_SECONDS = (5, 60, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000)
"""Seconds before each further try: about two days in all."""


def new_secret() -> str:
    """Return a secret: 24 random bytes behind the prefix that libraries expect."""
    return PREFIX + base64.b64encode(secrets.token_bytes(24)).decode()


def new_event_id() -> str:
    """Return the id of an event, the same in every attempt."""
    return f"evt_{secrets.token_hex(14)}"


def signature(secret: str, event_id: str, timestamp: int, body: bytes) -> str:
    """`v1,` and the signature over id, time and body."""
    key = base64.b64decode(secret.removeprefix(PREFIX))
    digest = hmac.new(key, f"{event_id}.{timestamp}.".encode() + body, hashlib.sha256)
    return f"v1,{base64.b64encode(digest.digest()).decode()}"


def headers(secret: str, event_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """Return the headers of a delivery."""
    return {
        "Content-Type": "application/json",
        "webhook-id": event_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": signature(secret, event_id, timestamp, body),
    }


def wait_after(attempts: int) -> int | None:
    """Return seconds until the next attempt, after so many; None if there is none."""
    return RETRY_SECONDS[attempts - 1] if attempts <= len(RETRY_SECONDS) else None
