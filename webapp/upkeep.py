"""What keeps promises when something was killed or away: derived from the tables alone, safe to run at any time."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import delete

from webapp.accounts.models import IdempotencyKey
from webapp.chat.recovery import recover_all
from webapp.conversations import service as conversations
from webapp.database import db, now, write_transaction
from webapp.queueing import enqueue

OWED_DAYS = 7
IDEMPOTENCY_HOURS = 24
TEMPORARY_HOURS = 24


def sweep() -> dict[str, int]:
    """Finish turns whose process died and queue the titles that are owed."""
    recovered = recover_all()
    owed = conversations.owed_titles(since=now() - timedelta(days=OWED_DAYS))
    db.session.rollback()
    queued = sum(enqueue("title", conversation_id=conversation_id) is not None for conversation_id in owed)
    return {"recovered": recovered, "titles": queued}


def purge() -> dict[str, int]:
    """Delete hidden and temporary conversations and idempotency keys that are past their time."""
    at = now()
    with write_transaction():
        gone = conversations.purge_conversations(
            deleted_before=at - timedelta(seconds=conversations.UNDO_SECONDS),
            temporary_before=at - timedelta(hours=TEMPORARY_HOURS),
        )
        keys = db.session.execute(
            delete(IdempotencyKey).where(IdempotencyKey.created_at < at - timedelta(hours=IDEMPOTENCY_HOURS))
        ).rowcount
    return {"conversations": gone, "idempotency_keys": keys}
