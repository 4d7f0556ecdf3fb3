"""A short stream for `flask doctor`, which measures through the proxy in front how it arrives."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

from redis import Redis

PIECES = 3
PAUSE = 0.4
_SECONDS = 60


def grant(client: Redis, key: str) -> None:
    """Let the stream be asked for once with this key."""
    client.set(f"probe:{key}", b"1", ex=_SECONDS)


def use(client: Redis, key: str) -> bool:
    """Whether the key was granted and not used yet."""
    return 0 < len(key) <= 100 and client.getdel(f"probe:{key}") is not None


def pieces(seen: dict[str, Any]) -> Iterator[bytes]:
    """What the request looked like, then lines with pauses in between."""
    yield f"data: {json.dumps(seen)}\n\n".encode()
    for number in range(PIECES):
        time.sleep(PAUSE)
        yield f"data: {number}\n\n".encode()
