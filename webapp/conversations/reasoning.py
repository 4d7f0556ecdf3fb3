"""What models thought for their replies: stored apart from them, and read by their owner only."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import insert, select

from webapp.conversations.messages import get_message
from webapp.conversations.models import MessageReasoning
from webapp.database import db, table_of
from webapp.errors import NotFound


def store(message_id: int, text: str, duration_ms: int) -> None:
    """Keep what was thought for a reply that has just become final."""
    values = {"message_id": message_id, "content": text.strip(), "duration_ms": duration_ms}
    db.session.execute(insert(table_of(MessageReasoning)), values)


def get_reasoning(user_id: int, message_id: int) -> MessageReasoning:
    """What was thought for a reply of the user's. Raises NotFound, also where nothing was."""
    row = db.session.get(MessageReasoning, get_message(user_id, message_id).message_id)
    if row is None:
        raise NotFound("No reasoning is kept for this message.")
    return row


def texts_of(message_ids: Collection[int]) -> dict[int, str]:
    """What was thought for each of these messages that has any."""
    if not message_ids:
        return {}
    found = select(MessageReasoning.message_id, MessageReasoning.content)
    return dict(db.session.execute(found.where(MessageReasoning.message_id.in_(list(message_ids)))).all())
