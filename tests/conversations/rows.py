"""Rows for tests, without a turn."""

from datetime import datetime
from typing import Any

from flask import Flask

from webapp.conversations.models import Conversation, Message
from webapp.db.base import add_row, db, now, write_transaction


def add_conversation(app: Flask, user_id: int, *, at: datetime | None = None, **fields: Any) -> int:
    """A conversation that was last active `at`."""
    at = at or now()
    with app.app_context(), write_transaction():
        return add_row(Conversation(user_id=user_id, created_at=at, updated_at=at, **fields)).conversation_id


def add_messages(app: Flask, conversation_id: int, count: int, *, text: str = "Message") -> list[int]:
    """A chain of finished messages, user and assistant in turn; their ids."""
    ids: list[int] = []
    with app.app_context(), write_transaction():
        conversation = db.session.get(Conversation, conversation_id)
        for number in range(count):
            is_reply = number % 2 == 1
            row = add_row(
                Message(
                    conversation_id=conversation_id,
                    role="assistant" if is_reply else "user",
                    content=f"{text} {number}",
                    parent_id=ids[-1] if ids else None,
                    reply_to_id=ids[-1] if is_reply else None,
                )
            )
            ids.append(row.message_id)
        conversation.message_count += count
    return ids
