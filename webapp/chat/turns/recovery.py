"""Saves running replies as they grow, and finishes turns whose process died: nothing stays `streaming`."""

import logging
import time
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any

from redis.exceptions import RedisError
from sqlalchemy import select, text

from webapp.background.job_specs import push_all
from webapp.chat.turns import turnlog
from webapp.chat.turns.finish import Outcome, finish_turn, fit_column
from webapp.conversations.models import Message
from webapp.db.base import db, now, rows_changed, write_transaction
from webapp.db.conflicts import run_each
from webapp.extensions import redis
from webapp.i18n.marks import N_

log = logging.getLogger(__name__)

GRACE_SECONDS = 4.0
"""Seconds a turn must be seen without a lease: if Redis is emptied its runner renews within MAX_RENEWAL_SECONDS."""
CLAIM_MS = 30_000
"""The longest that recovery holds a turn's lease; its process, if it is alive after all, writes no more."""

INTERRUPTED = N_("The server stopped while this reply was being written.")
CUT_OFF = {"status": "stopped", "detail": "The server stopped while this ran. Whether it was done is not known."}


def may_be_running(turn_id: int) -> bool:
    """Return whether a living process may run a turn: it holds a lease, or Redis does not say."""
    try:
        return turnlog.has_lease(redis(), turn_id)
    except RedisError:
        return True


def recover_turn(turn_id: int) -> bool:
    """Finish a turn nobody runs as `interrupted`; return whether it did: only at a second look, GRACE_SECONDS later."""
    client = redis()
    if turnlog.has_lease(client, turn_id):
        client.delete(turnlog.suspect_key(turn_id))
        return False
    suspect = turnlog.suspect_key(turn_id)
    moment = time.time()
    if client.set(suspect, repr(moment), nx=True, ex=120):
        return False
    if abs(moment - float(client.get(suspect) or moment)) < GRACE_SECONDS:  # in the future: the clock was set back
        return False
    lease = turnlog.lease_key(turn_id)
    if not client.set(lease, f"recovery:{uuid.uuid4().hex}", nx=True, px=CLAIM_MS):
        return False
    try:
        return _finish(turn_id)
    finally:
        client.delete(lease, suspect)


def _finish(turn_id: int) -> bool:
    client = redis()
    entries = turnlog.read(client, turn_id)
    streamed, thoughts, tool_calls = turnlog.text_of(entries), turnlog.thoughts_of(entries), _tool_calls(entries)
    with write_transaction():
        # What the process stored while writing, in case Redis died with it.
        stored = db.session.scalar(select(Message.content).where(Message.message_id == turn_id)) or ""
        text = max(streamed, stored, key=len)
        outcome = Outcome(
            "interrupted",
            text,
            error_code="interrupted",
            error_detail=INTERRUPTED,
            thoughts=thoughts,
            tool_calls=tool_calls,
        )
        turn = finish_turn(turn_id, outcome)
    if turn is None:
        return False
    log.warning("turn recovered", extra={"turn_id": turn_id})
    turnlog.report(client, turn_id, turn.kind, turn.data)
    turnlog.report(client, turn_id, turnlog.SETTLED, {})
    push_all(client, turn.jobs)
    return True


def _tool_calls(entries: Iterable[turnlog.Entry]) -> list[dict[str, Any]]:
    """Return the tool calls on the stream, including unfinished ones: they may have had an effect."""
    calls: dict[int | str, dict[str, Any]] = {}
    for item in entries:
        if item.kind in ("tool", "tool_start"):
            record = {name: value for name, value in item.data.items() if name != "asks"}
            calls[item.data.get("number", item.id)] = record if item.kind == "tool" else {**record, "output": CUT_OFF}
    return list(calls.values())


def recover_all() -> int:
    """Check every reply that is being written; returns how many were finished as interrupted."""
    oldest_first = (
        select(Message.message_id)
        .where(Message.status == "streaming", Message.created_at < now() - timedelta(seconds=5))
        .order_by(Message.message_id)
    )
    turn_ids = db.session.scalars(oldest_first).all()
    db.session.rollback()
    return sum(run_each({turn_id: partial(recover_turn, turn_id) for turn_id in turn_ids}).values())


LOSS_SECONDS = 2.0
"""At most the text that was seen so recently is lost if web and Redis die together, as docs/reliability.md says."""
BATCH = 200
"""How many turns one statement writes, and how many bytes of text: it has to fit into `max_allowed_packet`."""
BATCH_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class FinishedReplies:
    """Replies that need no more writing: others have ended them, or their rows are gone."""

    ended: set[int] = field(default_factory=set)
    gone: set[int] = field(default_factory=set)


def save_texts(texts: Mapping[int, str]) -> FinishedReplies:
    """Store the text so far of replies, by id; returns those that are no longer being written. The caller commits."""
    left = FinishedReplies()
    for batch in _batches(texts):
        # As text: building such a statement from parts costs ten times as much as sending it.
        numbers = range(len(batch))
        whens = " ".join(f"WHEN :i{n} THEN :t{n}" for n in numbers)
        ids = ", ".join(f":i{n}" for n in numbers)
        statement = (
            f"UPDATE messages SET content = CASE message_id {whens} ELSE content END"
            f" WHERE message_id IN ({ids}) AND status = 'streaming'"
        )
        values: dict[str, int | str] = {}
        for number, (turn_id, content) in enumerate(batch):
            values[f"i{number}"], values[f"t{number}"] = turn_id, content
        if rows_changed(text(statement), values) < len(batch):
            turn_ids = {turn_id for turn_id, _ in batch}
            statuses = dict(
                db.session.execute(
                    select(Message.message_id, Message.status).where(Message.message_id.in_(turn_ids))
                ).all()
            )
            left.ended.update(turn_id for turn_id, status in statuses.items() if status != "streaming")
            left.gone.update(turn_ids - statuses.keys())
    return left


def streaming_replies(turn_ids: Collection[int]) -> set[int]:
    """Return which of some replies are still being written."""
    return set(
        db.session.scalars(
            select(Message.message_id).where(Message.message_id.in_(list(turn_ids)), Message.status == "streaming")
        )
    )


def _batches(texts: Mapping[int, str]) -> Iterator[list[tuple[int, str]]]:
    """Yield the texts ordered by id, as everyone who locks several rows does, in batches that fit a statement."""
    batch: list[tuple[int, str]] = []
    size = 0
    for turn_id in sorted(texts):
        content = fit_column(texts[turn_id])
        if batch and (len(batch) == BATCH or size + len(content) > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append((turn_id, content))
        size += len(content)
    if batch:
        yield batch
