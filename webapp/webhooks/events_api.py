"""`/api/events`: a person's events as they happen; resumable, bounded, and ended with the right to see them."""

import json
import logging
import re
import select
import threading
import time
from collections.abc import Generator, Iterator, Mapping
from typing import Any

from flask import Flask, Response, request
from pydantic import BaseModel, Field, field_validator
from redis.exceptions import RedisError

from webapp.accounts.auth import require_identity
from webapp.accounts.identity import Identity, is_valid
from webapp.chat import sse
from webapp.db.base import db, expect_writes
from webapp.errors import Unavailable
from webapp.extensions import redis, this_app
from webapp.http.validation import Line
from webapp.webhooks.schemas import ALL_KINDS

MAX_EACH, MAX_LISTENERS = 5, 100
"""The most open streams in one process, per person and in all."""
HEARTBEAT, LONGEST = 15.0, 3_600.0
PAUSE = 1.0
"""Seconds between two polls while nothing happens."""

_open = sse.OpenStreams()
ending = threading.Event()
"""Once set, every open stream of this process ends, and each new one at once; clients reconnect by themselves."""


class EventQuery(BaseModel):
    kinds: Line = Field("", max_length=300, description=f"Only these, with commas: {', '.join(ALL_KINDS)}.")
    after: Line = Field("", max_length=40, description="The id of the last event received; or Last-Event-ID.")

    @field_validator("kinds")
    @classmethod
    def _require_known(cls, kinds: str) -> str:
        if unknown := {kind.strip() for kind in kinds.split(",") if kind.strip()} - set(ALL_KINDS):
            raise ValueError(f"knows no {', '.join(sorted(unknown))[:100]}")
        return kinds


def response(user_id: int, query: EventQuery) -> Response:
    """Return the stream of events. Raises TooMany, and Unavailable while Redis is away."""
    identity = require_identity()
    kinds = {kind.strip() for kind in query.kinds.split(",") if kind.strip()}
    try:
        listen(user_id)
        after, is_gap = position(user_id, request.headers.get("Last-Event-ID") or query.after)
    except RedisError:
        raise Unavailable("Events cannot be sent at the moment.") from None
    db.session.remove()  # no connection is held while the stream is open
    chunks = _stream(this_app(), identity, after, is_gap, kinds, request.environ.get("gunicorn.socket"))
    return sse.response(_open.open(user_id, chunks, MAX_EACH, MAX_LISTENERS))


def _stream(
    app: Flask, identity: Identity, after: str, is_gap: bool, kinds: set[str], connection: Any
) -> Generator[bytes, None, None]:
    yield b"retry: 3000\n: connected\n\n"
    if is_gap:
        yield sse.event("missed", {}, after)
    start = last = time.monotonic()
    client = select.poll()
    if connection is not None:
        client.register(connection, select.POLLRDHUP)
    # Who has left would be noticed at the next heartbeat, and count as a listener until then.
    while time.monotonic() - start < LONGEST and not ending.is_set() and not client.poll(0):
        try:
            with app.app_context():
                entries = list(read(identity.user_id, after))
        except RedisError:
            return  # the client reconnects by itself, and continues where this ended
        if entries and not _is_still_allowed(app, identity):
            return
        for after, kind, data in entries:  # noqa: B020
            if not kinds or kind in kinds:
                yield sse.event(kind, data, after)
        if not entries:
            ending.wait(PAUSE)
        if time.monotonic() - last >= HEARTBEAT:
            if not _is_still_allowed(app, identity):
                return
            last = time.monotonic()
            yield b": waiting\n\n"


def _is_still_allowed(app: Flask, identity: Identity) -> bool:
    """Return whether the token or session, and the account, are still valid; also renews the mark of a listener."""
    with app.app_context():
        expect_writes(False)
        try:
            listen(identity.user_id)
            return is_valid(identity)
        except RedisError:
            return False


log = logging.getLogger(__name__)

MAX_EVENTS = 500
"""Roughly how many events a listener who was away can catch up with."""
RECORDING_SECONDS = 3_600
"""Seconds that events are recorded after the last sign of a listener, and kept after the last event."""
_POSITION = re.compile(r"\d{1,15}-\d{1,10}")
_ADD = """
if redis.call('exists', KEYS[2]) == 0 then return false end
local id = redis.call('xadd', KEYS[1], 'maxlen', '~', ARGV[1], '*', 'k', ARGV[2], 'd', ARGV[3])
redis.call('expire', KEYS[1], ARGV[4])
return id
"""


def publish(user_id: int, kind: str, data: Mapping[str, Any]) -> None:
    """Publish an event to listeners; none are reached while Redis is away."""
    try:
        text = json.dumps(dict(data), separators=(",", ":"))
        redis().eval(_ADD, 2, *_keys(user_id), MAX_EVENTS, kind, text, RECORDING_SECONDS)
    except RedisError as error:
        log.warning("event not told", extra={"error": type(error).__name__})


def listen(user_id: int) -> None:
    """Record that somebody is listening, from now on and for a while. Raises RedisError."""
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
