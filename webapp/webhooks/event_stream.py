"""Events, as a bounded stream per person in Redis: kept while somebody is listening, or was lately."""

import json
import logging
import re
from collections.abc import Iterator, Mapping
from typing import Any

from redis.exceptions import RedisError

from webapp.extensions import redis

log = logging.getLogger(__name__)

MAX_EVENTS = 500
"""Roughly how many events a listener who was away can catch up with."""
RECORDING_SECONDS = 3_600
"""How long events are recorded after the last sign of a listener, and kept after the last event."""
_POSITION = re.compile(r"\d{1,15}-\d{1,10}")
_ADD = """
if redis.call('exists', KEYS[2]) == 0 then return false end
local id = redis.call('xadd', KEYS[1], 'maxlen', '~', ARGV[1], '*', 'k', ARGV[2], 'd', ARGV[3])
redis.call('expire', KEYS[1], ARGV[4])
return id
"""


def publish(user_id: int, kind: str, data: Mapping[str, Any]) -> None:
    """Tell those who are listening; while Redis is away, nobody is."""
    try:
        text = json.dumps(dict(data), separators=(",", ":"))
        redis().eval(_ADD, 2, *_keys(user_id), MAX_EVENTS, kind, text, RECORDING_SECONDS)
    except RedisError as error:
        log.warning("event not told", extra={"error": type(error).__name__})


def listen(user_id: int) -> None:
    """Note that somebody is listening, from now on and for a while. Raises RedisError."""
    redis().set(_keys(user_id)[1], b"1", ex=RECORDING_SECONDS)


def position(user_id: int, last_id: str) -> tuple[str, bool]:
    """Return where to continue (after `last_id`, or from now on), and whether something is lost. Raises RedisError."""
    stream = _keys(user_id)[0]
    ends = [redis().xrange(stream, count=1), redis().xrevrange(stream, count=1)]
    first, last = (_text(entries[0][0]) if entries else "" for entries in ends)
    if not _POSITION.fullmatch(last_id):
        return last or "0-0", False
    if not first or _number(last_id) > _number(last):
        return last or "0-0", True
    return last_id, _number(last_id) < _number(first)


def read(user_id: int, after: str) -> Iterator[tuple[str, str, str]]:
    """Return id, kind and data (JSON) of up to a hundred events after a position, at once. Raises RedisError."""
    rows: Any = redis().xread({_keys(user_id)[0]: after}, count=100)
    for _, entries in rows or ():
        for entry_id, fields in entries:
            yield _text(entry_id), _text(fields[b"k"]), _text(fields[b"d"])


def _keys(user_id: int) -> tuple[str, str]:
    return f"{{events:{user_id}}}", f"{{events:{user_id}}}:heard"


def _text(value: bytes | str | None) -> str:
    return value.decode() if isinstance(value, bytes) else value or ""


def _number(entry_id: str) -> tuple[int, int]:
    milliseconds, _, order = entry_id.partition("-")
    return int(milliseconds), int(order or 0)
