"""Services' reading of conversations."""

from collections.abc import Sequence

from sqlalchemy import select

from webapp.conversations.models import Message
from webapp.db.base import db


def finished_messages(conversation_id: int, *, after: int = 0, limit: int = 500) -> Sequence[Message]:
    """Return current messages after `after`, oldest first, without failed, unfinished or empty ones."""
    return db.session.scalars(
        select(Message)
        .where(
            Message.conversation_id == conversation_id,
            Message.superseded_by_id.is_(None),
            Message.status.in_(("complete", "stopped", "interrupted")),
            Message.content != "",
            Message.message_id > after,
        )
        .order_by(Message.message_id)
        .limit(limit)
    ).all()
