"""The tool `forget`: it proposes, and the person decides under the reply. Nothing is deleted by a model's word."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import select

from webapp.conversations.models import Message
from webapp.db.base import db
from webapp.memories.learning.models import ForgetProposal
from webapp.memories.learning.tools import lock_conversation, refusal_text
from webapp.memories.models import Memory
from webapp.memories.store.journal import statement_hash

MOST = 20
ASKS_FIRST = (
    "Not forgotten yet: the user confirms it with a button under this reply. Tell them what would be forgotten."
)


class Forget(BaseModel):
    """Propose to forget a memory for good, when the user asks for it. They confirm it themselves."""

    model_config = ConfigDict(extra="ignore")

    memory_id: int | None = Field(None, ge=1, le=2**31 - 1, description="From search_memories")
    content: str | None = Field(None, max_length=500, description="Or the memory as you know it")


def forget(turn: Message, args: Forget) -> dict[str, Any]:
    """Propose memories to be forgotten; the reply offers it to the user."""
    conversation = lock_conversation(turn)
    chosen = Memory.memory_id == args.memory_id
    if args.memory_id is None:
        chosen = Memory.statement_hash == statement_hash(args.content or "")
    rows = db.session.scalars(
        select(Memory).where(Memory.user_id == conversation.user_id, chosen).order_by(Memory.memory_id).limit(MOST)
    ).all()
    if not rows:
        return refusal_text("unknown_memory", "There is no such memory. Find its memory_id with search_memories.")
    ids = [row.memory_id for row in rows]
    asked = ForgetProposal.message_id == turn.message_id
    known = set(db.session.scalars(select(ForgetProposal.memory_id).where(asked, ForgetProposal.memory_id.in_(ids))))
    db.session.add_all(
        ForgetProposal(user_id=conversation.user_id, memory_id=memory_id, message_id=turn.message_id)
        for memory_id in ids
        if memory_id not in known
    )
    return {
        "status": "asks_first",
        "detail": ASKS_FIRST,
        "memories": [{"memory_id": row.memory_id, "content": row.content} for row in rows],
    }
