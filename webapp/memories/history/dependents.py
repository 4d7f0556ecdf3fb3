"""Memories that rest on a conversation or a message, and their fate when it is deleted."""

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import ColumnElement, select

from webapp.conversations import messages
from webapp.conversations import service as conversations
from webapp.conversations.models import Conversation, Message
from webapp.conversations.signals import conversation_deleted
from webapp.db.base import db
from webapp.memories.history.revisions import drop_evidence
from webapp.memories.models import Memory, MemoryEvidence
from webapp.memories.store import forgetting, versions


@dataclass(frozen=True)
class DependentMemories:
    """Memories with evidence in some place; `only_here` are those with none elsewhere."""

    memories: list[Memory]
    only_here: list[int]


def conversation_dependents(user_id: int, conversation_id: int) -> DependentMemories:
    """Return the memories that rest on a conversation. Raises NotFound."""
    conversations.get_conversation(user_id, conversation_id)
    return _dependents_where(_in_conversations([conversation_id]))


def message_dependents(user_id: int, message_id: int) -> DependentMemories:
    """Return the memories that rest on a message. Raises NotFound."""
    messages.get_message(user_id, message_id)
    return _dependents_where(MemoryEvidence.message_id == message_id)


def init_dependents() -> None:
    """React to conversations being deleted."""
    conversation_deleted.connect(_drop_evidence_of_deleted)


def _drop_evidence_of_deleted(_sender: object, *, conversation: Conversation, forget: bool) -> None:
    """Remove evidence in a deleted conversation; with `forget`, forget memories that have no other."""
    user_id, condition = conversation.user_id, _in_conversations([conversation.conversation_id])
    versions.hold(user_id)
    if forget:
        only_here = [
            memory_id for memory_id, is_only in forgetting.memories_with_evidence(condition).items() if is_only
        ]
        forgetting.forget(user_id, only_here, cause="conversation_deleted")
    drop_evidence(condition)


def dependent_ids(conversation_ids: Collection[int]) -> list[int]:
    """Ids of the memories with evidence in these conversations, to be recounted once the conversations are gone."""
    return list(forgetting.memories_with_evidence(_in_conversations(conversation_ids))) if conversation_ids else []


def _in_conversations(conversation_ids: Collection[int]) -> ColumnElement[bool]:
    return MemoryEvidence.message_id.in_(
        select(Message.message_id).where(Message.conversation_id.in_(list(conversation_ids)))
    )


def _dependents_where(condition: ColumnElement[bool]) -> DependentMemories:
    memories = forgetting.memories_with_evidence(condition)
    rows = db.session.scalars(select(Memory).where(Memory.memory_id.in_(memories)).order_by(Memory.memory_id)).all()
    return DependentMemories(list(rows), sorted(memory_id for memory_id, is_only in memories.items() if is_only))
