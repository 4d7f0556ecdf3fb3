"""Finishes turns whose process died: nothing stays `streaming`."""

import logging
import time
import uuid
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from sqlalchemy import select

from webapp.chat.turns import turnlog
from webapp.chat.turns.finish import Outcome, finish_turn
from webapp.conversations.models import Message
from webapp.db.base import db, now, write_transaction
from webapp.extensions import redis
from webapp.i18n.marks import N_

log = logging.getLogger(__name__)

GRACE_SECONDS = 4.0
"""How long a turn must be seen without a lease: if Redis is emptied its runner renews within LONGEST_RENEWAL."""
CLAIM_MS = 30_000
"""The longest that recovery holds a turn's lease; its process, if it is alive after all, writes no more."""

INTERRUPTED = N_("The server stopped while this reply was being written.")
CUT_OFF = {"status": "stopped", "detail": "The server stopped while this ran. Whether it was done is not known."}


def recover_turn(turn_id: int) -> bool:
    """Finish a turn as `interrupted`, with what had been streamed, if nobody runs it any more; returns whether it did.

    Call it again after GRACE_SECONDS: the first call only records the suspicion.
    """
    client = redis()
    if turnlog.has_lease(client, turn_id):
        client.delete(turnlog.suspect_key(turn_id))
        return False
    suspect = turnlog.suspect_key(turn_id)
    moment = time.time()
    if client.set(suspect, repr(moment), nx=True, ex=120):
        return False
    if moment - float(client.get(suspect) or moment) < GRACE_SECONDS:
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
    return sum(recover_turn(turn_id) for turn_id in turn_ids)
