"""A short stream with which `flask doctor` measures how it arrives through the proxy in front."""

import json
import time
from collections.abc import Iterator
from typing import Any

from redis import Redis

PIECES = 3
PAUSE = 0.4
_SECONDS = 60


def grant(client: Redis, key: str) -> None:
    """Allow one request for the stream with this key."""
    client.set(f"probe:{key}", b"1", ex=_SECONDS)


def use(client: Redis, key: str) -> bool:
    """Return whether the key was granted and has not been used yet."""
    return 0 < len(key) <= 100 and client.getdel(f"probe:{key}") is not None


def pieces(seen: dict[str, Any]) -> Iterator[bytes]:
    """Yield what the request looked like, then lines with pauses between them."""
    yield f"data: {json.dumps(seen)}\n\n".encode()
    for number in range(PIECES):
        time.sleep(PAUSE)
        yield f"data: {number}\n\n".encode()
