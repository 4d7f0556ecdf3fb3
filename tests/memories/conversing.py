"""Conversations for the tests of the memory service: rows put in place, and what the scripted model answers."""

from datetime import timedelta
from typing import Any

from flask import Flask
from sqlalchemy import select

from testkit.people import Person
from tests.support.queries import change_row
from webapp.conversations.models import Conversation, Message
from webapp.db.base import add_row, db, now, write_transaction
from webapp.memories.learning import extraction
from webapp.memories.models import Memory
from webapp.memories.schemas import MemoryFields
from webapp.memories.service import create_memory


def converse(app: Flask, user_id: int, *said: str, title: str = "A talk", **fields: Any) -> int:
    """A conversation in which the user said these things, each answered; its id. `said` may name a role: `role: text`.

    It waits for its extraction, as after a turn.
    """
    with app.app_context(), write_transaction():
        row = add_row(Conversation(user_id=user_id, title=title, title_source="user", extraction_due=True, **fields))
        conversation_id = row.conversation_id
    say(app, conversation_id, *said)
    return conversation_id


def say(app: Flask, conversation_id: int, *said: str) -> list[int]:
    """More of a conversation; the ids of the user's messages."""
    ids = []
    with app.app_context(), write_transaction():
        conversation = db.session.get(Conversation, conversation_id)
        for text in said:
            role, _, words = text.partition(": ") if text.startswith("assistant: ") else ("user", "", text)
            message = add_row(Message(conversation_id=conversation_id, role=role, content=words, created_at=now()))
            ids.append(message.message_id)
            if role == "user":
                reply = {"role": "assistant", "content": "I see.", "reply_to_id": message.message_id}
                db.session.add(Message(conversation_id=conversation_id, created_at=now(), **reply))
        conversation.extraction_due = True
        conversation.message_count += len(said)
    return ids


def idle(app: Flask, conversation_id: int) -> None:
    """Let two minutes pass for a conversation."""
    change_row(app, Conversation, conversation_id, updated_at=now() - timedelta(minutes=2))


def make_memories(app: Flask, conversation_id: int, **options: Any) -> Any:
    """Have memories made of a conversation, as its job does; what came of it."""
    with app.app_context():
        return extraction.extract(conversation_id, **options)


def add_memory(app: Flask, person: Person, content: str, **fields: Any) -> int:
    """A memory, a fact unless told otherwise, that a person wrote themselves; its id."""
    with app.app_context(), write_transaction():
        written = MemoryFields(**{"memory_type": "fact", "content": content, **fields})
        return create_memory(person.user_id, written).memory_id


def operation(quote: str, content: str = "", **fields: Any) -> dict[str, Any]:
    """One statement as the model sends it, told in the engine's own words (`fact_key`, `memory_type` and so on)."""
    values: dict[str, Any] = {
        "message_number": 1,
        "quote": quote,
        "about": "user",
        "content": content or quote,
        "action": "add",
        "memory_number": 0,
        "memory_type": "fact",
        "fact_key": "none",
        "fact_value": "",
        "confidence": 0.9,
    }
    wire = {"message_number": "message", "memory_number": "memory", "memory_type": "kind"}
    wire |= {"fact_key": "key", "fact_value": "value"}
    return {wire.get(field, field): value for field, value in (values | fields).items()}


def name(quote: str, value: str, confidence: float, **fields: Any) -> dict[str, Any]:
    """Name, proposed."""
    fact = {"fact_key": "name", "fact_value": value, "confidence": confidence}
    return operation(quote, f"The user's name is {value}.", **(fact | fields))


def answers(model: Any, *statements: dict[str, Any], **more: Any) -> None:
    """Let the scripted model answer the next extraction with these statements."""
    structured = {"statements": list(statements), "title": "A talk"}
    model.script(match="memory_operations", structured=structured, **({"times": 1} | more))


def memories_of(app: Flask, user_id: int) -> list[Memory]:
    """Every memory of a user, in order of id, detached."""
    with app.app_context():
        rows = list(db.session.scalars(select(Memory).where(Memory.user_id == user_id).order_by(Memory.memory_id)))
        db.session.expunge_all()
        return rows


def current(app: Flask, user_id: int) -> list[str]:
    """The statements in use."""
    return [
        row.content
        for row in memories_of(app, user_id)
        if row.valid_to is None and not row.is_archived and not row.needs_review
    ]
