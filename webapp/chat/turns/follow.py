"""A viewer's stream of a turn, from any process and from any point: live from the stream, else from the tables."""

import logging
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress

from flask import Flask
from redis.exceptions import RedisError
from sqlalchemy.exc import SQLAlchemyError

from webapp.accounts.identity import Identity, is_valid
from webapp.chat.turns import recovery, turnlog
from webapp.chat.turns.finish import final_event
from webapp.chat.turns.stream_hub import Hub
from webapp.chat.turns.turnlog import FINAL_KINDS, REPLY_DELETED, SETTLED, Entry, order, preceding_id
from webapp.conversations.models import Message
from webapp.db.base import db, expect_writes
from webapp.extensions import redis

log = logging.getLogger(__name__)

HEARTBEAT_SECONDS = 4.0
"""A dead client is noticed only when writing to it; the contract asks for a comment at least every 15 s."""
JOBS_SECONDS = 30.0
FIRST_LOOK_SECONDS = 1.0
"""How long until a viewer that has received nothing checks whether Redis is there at all."""
CHECK_SECONDS = 15.0
"""How long somebody whose token or session has ended may still be watching."""
POLL_SECONDS = 0.5
"""Time between queries of the tables, where a running reply is stored as it grows (`recovery.py`)."""


def follow(
    app: Flask,
    hub: Hub,
    turn_id: int,
    *,
    after: str = "",
    jobs: bool = False,
    patience: float | None = None,
    launched: bool = False,
) -> Iterator[Entry | None]:
    """Yield entries of a turn after a cursor, None as a heartbeat; ends after `done` or `error`.

    With `jobs` it continues until `settled`, at most JOBS_SECONDS after the end of the reply. `patience` limits the
    total time in seconds; a turn that was just `launched` cannot have ended yet. The generator holds no database
    connection. A turn whose process died is finished on the way.
    """
    start = time.monotonic()
    with ExitStack() as stack:
        try:
            subscription = stack.enter_context(hub.subscribe(turn_id, after))
            seen = {item.kind for item in turnlog.read(redis.of(app), turn_id, last_id=after)} if after else set()
            has_log = launched or bool(seen or redis.of(app).exists(turnlog.log_key(turn_id)))
        except RedisError:
            yield from _stored_turn(app, turn_id, start, patience)
            return
        if SETTLED in seen or (seen.intersection(FINAL_KINDS) and not jobs):
            return
        ended_at = start if seen.intersection(FINAL_KINDS) else None
        stored = None if has_log else stored_entries(app, turn_id)
        if stored is not None:
            yield from _entries_after(stored, after)
            return
        first_look = FIRST_LOOK_SECONDS
        while True:
            item = subscription.get(min(first_look, _wait(start, ended_at, patience)))
            first_look = HEARTBEAT_SECONDS
            if item is not None:
                if item.kind == SETTLED and ended_at is None:
                    # Somebody else finished it, and said so on the stream unknown to the one who was writing it.
                    end = _stored_end(app, turn_id, preceding_id(item.id))
                    if end is None:
                        return  # whoever resumes gets it once the database answers
                    yield end
                yield item
                if item.kind in FINAL_KINDS:
                    ended_at = time.monotonic()
                    if not jobs:
                        return
                if item.kind == SETTLED:
                    return
                continue
            now = time.monotonic()
            if ended_at is not None and now - ended_at >= JOBS_SECONDS:
                return
            if patience is not None and now - start >= patience:
                return
            yield None
            try:
                stored = _final_entries(app, turn_id) if ended_at is None else None
            except RedisError:
                yield from _stored_turn(app, turn_id, start, patience)
                return
            if stored is not None:
                yield from stored[-1:] or [_deleted("0-3"), Entry("0-4", SETTLED, {})]
                return


def watch(app: Flask, identity: Identity, entries: Iterable[Entry | None]) -> Iterator[Entry | None]:
    """Yield the entries of a turn for as long as the token or session that watches it is valid."""
    checked = time.monotonic()
    for item in entries:
        if time.monotonic() - checked >= CHECK_SECONDS:
            expect_writes(False)  # the request that began the turn wrote
            with suppress(SQLAlchemyError), app.app_context():  # while the database is away, nothing can have ended
                if not is_valid(identity):
                    return
            checked = time.monotonic()
        yield item


def _entries_after(stored: list[Entry], after: str) -> list[Entry]:
    """Return what a viewer has not seen of a finished turn; at least its end."""
    return [item for item in stored if order(item.id) > order(after)] or stored[-1:]


def _stored_turn(app: Flask, turn_id: int, start: float, patience: float | None) -> Iterator[Entry | None]:
    """Yield a turn from the tables, from its beginning until it has ended, while Redis is unreachable."""
    length, has_begun, last = 0, False, time.monotonic()
    while patience is None or time.monotonic() - start < patience:
        try:
            state = _read_turn(app, turn_id) or ({}, "", _deleted("0-3"))
        except SQLAlchemyError as error:
            log.warning("state of the turn unknown", extra={"turn_id": turn_id, "error": type(error).__name__})
            state = None
        if state is not None:
            first, text, end = state
            if first and not has_begun:
                yield Entry("0-1", "turn", first)
                has_begun = True
            if len(text) > length:
                yield Entry("0-2", "delta", {"text": text[length:]}, length)
                length, last = len(text), time.monotonic()
            if end is not None:
                yield end
                return
        if time.monotonic() - last >= HEARTBEAT_SECONDS:
            yield None
            last = time.monotonic()
        time.sleep(POLL_SECONDS)


def _read_turn(app: Flask, turn_id: int) -> tuple[dict[str, int | None], str, Entry | None] | None:
    """Return a stored turn: its first event, its text, and its last event if it has ended; None if it is gone."""
    with app.app_context():
        row = db.session.get(Message, turn_id)
        if row is None:
            return None
        end = None if row.status == "streaming" else Entry("0-3", *final_event(row))
        return header(row), row.content, end


def _wait(start: float, ended_at: float | None, patience: float | None) -> float:
    now = time.monotonic()
    limits = [HEARTBEAT_SECONDS]
    if patience is not None:
        limits.append(start + patience - now)
    if ended_at is not None:
        limits.append(ended_at + JOBS_SECONDS - now)
    return max(0.0, min(limits))


def _final_entries(app: Flask, turn_id: int) -> list[Entry] | None:
    """Return the entries of a turn that no process runs, finished if needed; None if one does. Raises RedisError."""
    try:
        if turnlog.has_lease(redis.of(app), turn_id):
            return None
        with app.app_context():
            recovery.recover_turn(turn_id)
        return stored_entries(app, turn_id)
    except SQLAlchemyError as error:
        log.warning("state of the turn unknown", extra={"turn_id": turn_id, "error": type(error).__name__})
        return None


def _stored_end(app: Flask, turn_id: int, entry_id: str) -> Entry | None:
    """Return the end of a turn that has settled, with this id if the reply is gone; None if it is unknown."""
    try:
        stored = stored_entries(app, turn_id)
    except SQLAlchemyError as error:
        log.warning("end of the turn unknown", extra={"turn_id": turn_id, "error": type(error).__name__})
        return None
    return stored[-1] if stored else _deleted(entry_id)


def _deleted(entry_id: str) -> Entry:
    return Entry(entry_id, "error", REPLY_DELETED)


def stored_entries(app: Flask, turn_id: int) -> list[Entry] | None:
    """Return a finished turn's entries from the tables, with ids below any real stream's; None while it is written."""
    state = _read_turn(app, turn_id)
    if state is None:
        return []
    first, text, end = state
    if end is None:
        return None
    return [Entry("0-1", "turn", first), *([Entry("0-2", "delta", {"text": text})] if text else []), end]


def header(row: Message) -> dict[str, int | None]:
    """Return the data of a turn's first event."""
    return {
        "conversation_id": row.conversation_id,
        "user_message_id": row.reply_to_id,
        "assistant_message_id": row.message_id,
    }
