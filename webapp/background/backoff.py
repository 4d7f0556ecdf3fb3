"""The sweep's schedule for owed work: soon after a success, ever more rarely while it keeps failing on its own.

Work that fails because a model or database is unavailable does not count as a failure: it is asked for every minute,
so that it is done a minute after they are back.
"""

from __future__ import annotations

from redis import Redis

FIRST_SECONDS = 60
LONGEST_SECONDS = 900
_FORGOTTEN_SECONDS = 7 * 86_400


def _token(key: str) -> str:
    return f"owed:{key}"


def _tries(key: str) -> str:
    return f"owed:{key}:tries"


def may_ask(client: Redis, key: str) -> bool:
    """Return whether it is time to ask for a job, by the key of its request."""
    return not client.exists(_token(key))


def note_request(client: Redis, key: str) -> None:
    """Note that a job was asked for: it counts as a failure until it ends otherwise, because it may kill its worker."""
    tries = int(client.incr(_tries(key)))
    pause = min(FIRST_SECONDS * 2 ** min(tries - 1, 20), LONGEST_SECONDS)
    with client.pipeline(transaction=False) as pipe:
        pipe.expire(_tries(key), _FORGOTTEN_SECONDS)
        pipe.set(_token(key), b"1", ex=pause)
        pipe.execute()


def note_success(client: Redis, key: str) -> None:
    """Note that a job succeeded, or failed for a reason outside itself."""
    with client.pipeline(transaction=False) as pipe:
        pipe.delete(_tries(key))
        pipe.set(_token(key), b"1", ex=FIRST_SECONDS, xx=True)
        pipe.execute()
