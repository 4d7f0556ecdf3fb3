"""The models' reasoning for their replies: stored apart from them, and read only by their owner."""

from sqlalchemy import insert

from webapp.conversations.messages import get_message
from webapp.conversations.models import MessageReasoning
from webapp.db.base import db, table_of
from webapp.errors import require


def store(message_id: int, text: str, duration_ms: int) -> None:
    """Store the reasoning for a reply that has just become final."""
    values = {"message_id": message_id, "content": text.strip(), "duration_ms": duration_ms}
    db.session.execute(insert(table_of(MessageReasoning)), values)


def get_reasoning(user_id: int, message_id: int) -> MessageReasoning:
    """Return the reasoning for one of the user's replies. Raises NotFound, also if there is none."""
    row = db.session.get(MessageReasoning, get_message(user_id, message_id).message_id)
    return require(row, "No reasoning is kept for this message.")
