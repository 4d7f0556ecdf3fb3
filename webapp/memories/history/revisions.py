"""The origin of a memory and its earlier wordings: evidence, revisions, earlier values, and the end of its source."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, delete, func, or_, select, update

from webapp.conversations import messages, service as conversations
from webapp.conversations.models import Conversation, Message
from webapp.conversations.signals import conversation_deleted
from webapp.db.base import db
from webapp.errors import Conflict, NotFound
from webapp.memories.models import Memory, MemoryEvidence, MemoryRevision
from webapp.memories.rules.tombstones import TombstoneSet
from webapp.memories.service import check_key, get_memory
from webapp.memories.store import forgetting, versions
from webapp.memories.store.journal import record_changes, restore, snapshot, statement_hash
from webapp.memories.store.tombstones import tombstone_set
from webapp.spaces.service import is_member
from webapp.spaces.signals import touch


@dataclass(frozen=True)
class QuotedEvidence:
    """A piece of evidence and where it was said."""

    row: MemoryEvidence
    conversation_id: int
    title: str | None
    is_current: bool


def revisions_of(user_id: int, memory_id: int) -> Sequence[MemoryRevision]:
    """Return every revision of a memory, oldest first. Raises NotFound."""
    get_memory(user_id, memory_id)
    return db.session.scalars(
        select(MemoryRevision).where(MemoryRevision.memory_id == memory_id).order_by(MemoryRevision.revision)
    ).all()


def values_of(user_id: int, memory_id: int) -> Sequence[Memory]:
    """Return every memory that has had the same key, and those it replaced or was replaced by; oldest first."""
    memory = get_memory(user_id, memory_id)
    ties = [Memory.memory_id == memory_id, Memory.superseded_by_id == memory_id]
    if memory.superseded_by_id:
        ties.append(Memory.memory_id == memory.superseded_by_id)
    if memory.fact_key:
        ties.append((Memory.fact_key == memory.fact_key) & (Memory.space_slot == (memory.space_id or 0)))
    return db.session.scalars(
        select(Memory).where(Memory.user_id == user_id, or_(*ties)).order_by(Memory.memory_id).limit(100)
    ).all()


def evidence_of(user_id: int, memory_ids: Iterable[int]) -> dict[int, list[QuotedEvidence]]:
    """Return the evidence of the user's memories, by memory, in the order it was said."""
    # The owner is checked here: as part of the query, SQLite would begin with all of the user's memories.
    rows = db.session.execute(
        select(MemoryEvidence, Memory.user_id, Message.conversation_id, Conversation.title, Message.superseded_by_id)
        .join(Memory, Memory.memory_id == MemoryEvidence.memory_id)
        .join(Message, Message.message_id == MemoryEvidence.message_id)
        .join(Conversation, Conversation.conversation_id == Message.conversation_id)
        .where(MemoryEvidence.memory_id.in_(list(memory_ids)))
        .order_by(MemoryEvidence.said_at, MemoryEvidence.message_id, MemoryEvidence.start)
    ).all()
    evidence: dict[int, list[QuotedEvidence]] = {}
    for row, owner_id, conversation_id, title, superseded in rows:
        if owner_id == user_id:
            evidence.setdefault(row.memory_id, []).append(
                QuotedEvidence(row, conversation_id, title, superseded is None)
            )
    return evidence


def restore_revision(user_id: int, memory_id: int, revision: int) -> Memory:
    """Restore a memory's fields at a revision, as a new one. Raises NotFound, Conflict if forgotten or key taken."""
    versions.begin_change(user_id)
    memory = get_memory(user_id, memory_id, lock=True)
    fields = db.session.scalar(
        select(MemoryRevision.snapshot).where(
            MemoryRevision.memory_id == memory_id, MemoryRevision.revision == revision
        )
    )
    if fields is None:
        raise NotFound("There is no such revision.")
    if is_forgotten(tombstone_set(user_id), fields):
        raise Conflict("What this memory said then was forgotten. Forgotten things do not come back.")
    # The words are restored, not the audience they had.
    fields = {**fields, "visibility": memory.visibility, "space_id": memory.space_id}
    present = snapshot(memory)
    if all(present.get(name) == value for name, value in fields.items()):
        return memory
    restore_fields(memory, fields)
    check_key(memory)
    record_changes(user_id, "restored", [memory], {"updated": 1})
    return memory


def drop_evidence(condition: ColumnElement[bool]) -> None:
    """Delete evidence rows and recount what their memories have left."""
    ids = set(db.session.scalars(select(MemoryEvidence.memory_id).where(condition)))
    db.session.execute(delete(MemoryEvidence).where(condition).execution_options(synchronize_session=False))
    recount(ids)


def recount(memory_ids: Iterable[int]) -> None:
    """Correct the `evidence_count` of these memories."""
    number = select(func.count()).where(MemoryEvidence.memory_id == Memory.memory_id).scalar_subquery()
    rows = update(Memory).where(Memory.memory_id.in_(list(memory_ids))).values(evidence_count=number)
    db.session.execute(rows.execution_options(synchronize_session="fetch"))


def is_forgotten(tombstones: TombstoneSet, fields: Mapping[str, Any]) -> bool:
    """Return whether the tombstones forbid a memory with these fields."""
    return tombstones.forbids(str(fields.get("content") or ""), fields.get("fact_key"), fields.get("fact_value"))


def restore_fields(memory: Memory, fields: Mapping[str, Any]) -> None:
    """Set the fields of a snapshot; a reference to a memory that is gone is dropped, and a limit to a conversation that
    is gone is left as it was."""
    wording, limited_to = memory.content, memory.only_conversation_id
    touch(memory.space_id)
    restore(memory, dict(fields))
    if memory.space_id is not None and not is_member(memory.user_id, memory.space_id):
        memory.space_id, memory.visibility = None, "private"  # the user has since left the space
    with db.session.no_autoflush:
        for name in ("superseded_by_id", "contradicts_id"):
            other = getattr(memory, name)
            if other is not None and db.session.get(Memory, other) is None:
                setattr(memory, name, None)
        if memory.only_conversation_id not in (None, limited_to):
            conversation = db.session.get(Conversation, memory.only_conversation_id)
            if conversation is None or conversation.deleted_at is not None:
                memory.only_conversation_id = limited_to
    if memory.content != wording:
        memory.embedding = memory.embedding_model = None
    memory.statement_hash = statement_hash(memory.content)


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


@conversation_deleted.connect
def _drop_evidence_of_deleted(_sender: object, *, conversation: Conversation, forget: bool) -> None:
    """Remove evidence in a deleted conversation; with `forget`, forget memories that have no other."""
    user_id, condition = conversation.user_id, _in_conversations([conversation.conversation_id])
    versions.begin_change(user_id)
    if forget:
        only_here = [
            memory_id for memory_id, is_only in forgetting.memories_with_evidence(condition).items() if is_only
        ]
        forgetting.forget(user_id, only_here, cause="conversation_deleted")
    drop_evidence(condition)


def dependent_ids(conversation_ids: Collection[int]) -> list[int]:
    """Return the memories with evidence in these conversations, to be recounted once those are gone."""
    return list(forgetting.memories_with_evidence(_in_conversations(conversation_ids)))


def _in_conversations(conversation_ids: Collection[int]) -> ColumnElement[bool]:
    return MemoryEvidence.message_id.in_(
        select(Message.message_id).where(Message.conversation_id.in_(list(conversation_ids)))
    )


def _dependents_where(condition: ColumnElement[bool]) -> DependentMemories:
    memories = forgetting.memories_with_evidence(condition)
    rows = db.session.scalars(select(Memory).where(Memory.memory_id.in_(memories)).order_by(Memory.memory_id)).all()
    return DependentMemories(list(rows), sorted(memory_id for memory_id, is_only in memories.items() if is_only))
