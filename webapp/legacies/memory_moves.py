"""Memories of conversations that move into or out of a space, and of members who leave one.

Those of a conversation go along with it. What a member had in a space becomes theirs alone, and the others lose what it
told them.
"""

from dataclasses import dataclass, field

from sqlalchemy import select, update

from webapp.accounts.signals import account_ending
from webapp.conversations import service as conversations
from webapp.conversations.models import Conversation, Message
from webapp.conversations.signals import conversation_moved
from webapp.db.base import count_rows, db
from webapp.errors import Conflict
from webapp.i18n.marks import say_n
from webapp.memories.models import Memory, MemoryEvidence
from webapp.memories.service import key_holder
from webapp.memories.store import forgetting, versions
from webapp.memories.store.journal import record_changes
from webapp.memories.store.reach import Reach, lock_withdrawal, reach_of, withdraw
from webapp.memories.store.writing import scope_of
from webapp.retrieval import changes
from webapp.retrieval.changes import Change
from webapp.retrieval.models import ConversationChunk
from webapp.spaces.members import leave_all, lock_spaces
from webapp.spaces.models import Space
from webapp.spaces.service import require_member
from webapp.spaces.signals import Consequence, collect_consequences, membership_ending, touch


@dataclass(frozen=True, slots=True)
class Move:
    """The effect of a move: memories that go along, those among them that others can see now and will not any more,
    those that are archived because their new place has another value under their key, and those that stay."""

    dependents: list[Memory] = field(default_factory=list)
    withdrawn: list[Memory] = field(default_factory=list)
    set_aside: list[Memory] = field(default_factory=list)
    staying: list[Memory] = field(default_factory=list)


def plan_move(user_id: int, conversation_id: int, to: int | None) -> Move:
    """Return what would happen if a conversation were moved; changes nothing. Raises NotFound."""
    row = conversations.get_conversation(user_id, conversation_id)
    if to is not None:
        require_member(user_id, to)
    return Move() if to == row.space_id else _plan(row, to)


def _plan(row: Conversation, to: int | None) -> Move:
    said_here = select(Message.message_id).where(Message.conversation_id == row.conversation_id)
    evidence_of = forgetting.memories_with_evidence(MemoryEvidence.message_id.in_(said_here))
    rows = db.session.scalars(
        select(Memory)
        .where(Memory.memory_id.in_(evidence_of), *scope_of(row.user_id, row.space_id))
        .order_by(Memory.memory_id)
    ).all()
    dependents = [memory for memory in rows if evidence_of[memory.memory_id]]
    return Move(
        dependents=dependents,
        withdrawn=[memory for memory in dependents if memory.visibility == "shared"],
        set_aside=[memory for memory in dependents if _has_other_value(memory, to)],
        staying=[memory for memory in rows if not evidence_of[memory.memory_id]],
    )


def _has_other_value(memory: Memory, to: int | None) -> bool:
    """Return whether the key of a memory in use has another current value in its new place."""
    in_use = memory.valid_to is None and not memory.is_archived and not memory.needs_review
    holder = key_holder(memory.user_id, memory.fact_key, memory.category, to) if memory.fact_key and in_use else None
    return holder is not None


@conversation_moved.connect
def _move_memories(_sender: object, *, conversation: Conversation, to: int | None, confirmed: bool) -> None:
    """Move the memories that rest on the conversation alone along with it, made private; others stay.

    Raises Conflict if shared ones would move and that is not confirmed.
    """
    shared = [memory.memory_id for memory in _plan(conversation, to).withdrawn]
    if shared:
        lock_withdrawal(conversation.user_id, shared)
    versions.begin_change(conversation.user_id)
    move = _plan(conversation, to)
    if move.withdrawn and not confirmed:
        raise Conflict(
            "Memories that rest on this conversation are shared with the space. If you move it, they will be "
            "yours alone again. Please confirm.",
            errors=[
                {"loc": ["confirm"], "memory_id": memory.memory_id, "msg": "is shared"} for memory in move.withdrawn
            ],
        )
    if move.withdrawn:
        withdraw(conversation.user_id, move.withdrawn)
    if move.dependents:
        ids = {memory.memory_id for memory in move.set_aside}
        for memory in move.dependents:
            touch(memory.space_id)
            memory.is_archived = memory.is_archived or memory.memory_id in ids
            memory.space_id, memory.visibility = to, "private"
        counts = {"moved": len(move.dependents)}
        record_changes(
            conversation.user_id, "moved", move.dependents, counts, conversation_id=conversation.conversation_id
        )
    db.session.execute(
        update(ConversationChunk)
        .where(ConversationChunk.conversation_id == conversation.conversation_id)
        .values(space_id=to)
        .execution_options(synchronize_session=False)
    )
    changes.note(conversation.user_id, Change("conversation", conversation.conversation_id))


IS_SHARED = Memory.visibility == "shared"


@collect_consequences.connect
def _consequence_texts(_sender: object, *, space: Space, user_id: int) -> list[Consequence]:
    """Return what will happen, in words; only the member's own things are counted."""
    conversations = count_rows(
        Conversation.user_id == user_id, Conversation.space_id == space.space_id, Conversation.deleted_at.is_(None)
    )
    own = Memory.user_id == user_id, Memory.space_id == space.space_id
    memories, shared = count_rows(*own), count_rows(*own, IS_SHARED)
    return [
        Consequence(
            "conversations",
            conversations,
            say_n(
                "One of your conversations in %(name)s will become personal.",
                "%(num)s of your conversations in %(name)s will become personal.",
                conversations,
                name=space.name,
            ),
        ),
        Consequence(
            "memories",
            memories,
            say_n(
                "One of your memories will be moved to your own archive.",
                "%(num)s of your memories will be moved to your own archive.",
                memories,
            ),
        ),
        Consequence(
            "shared",
            shared,
            say_n(
                "%(num)s memory you share here will be yours alone again.",
                "%(num)s memories you share here will be yours alone again.",
                shared,
            ),
        ),
    ]


@membership_ending.connect
def _on_membership_ending(_sender: object, *, space: Space, user_id: int, forget: bool) -> Reach:
    """Conversations become personal. Memories, which are about the subject of the space and not about the user, are
    archived among the personal ones, private; or forgotten, if the user says so. Others lose what they were told."""
    space_id = space.space_id
    db.session.execute(
        update(Conversation)
        .where(Conversation.user_id == user_id, Conversation.space_id == space_id)
        .values(space_id=None, persona=None, updated_at=Conversation.updated_at)
        .execution_options(synchronize_session=False)
    )
    conditions = Memory.user_id == user_id, Memory.space_id == space_id
    shared = db.session.scalars(select(Memory.memory_id).where(*conditions, IS_SHARED)).all()
    if shared:
        lock_withdrawal(user_id, shared)
    versions.begin_change(user_id)
    db.session.execute(
        update(ConversationChunk)
        .where(ConversationChunk.user_id == user_id, ConversationChunk.space_id == space_id)
        .values(space_id=None)
        .execution_options(synchronize_session=False)
    )
    rows = db.session.scalars(
        select(Memory)
        .where(*conditions)
        .order_by(Memory.memory_id)
        .with_for_update()
        .execution_options(populate_existing=True)
    ).all()
    reach = Reach()
    if forget and rows:
        forgetting.forget(user_id, [row.memory_id for row in rows], cause="space_ended")
    elif rows:
        reach = withdraw(user_id, [row for row in rows if row.visibility == "shared"])
        for row in rows:
            row.space_id, row.visibility, row.is_archived, row.is_pinned = None, "private", True, False
        record_changes(user_id, "space_ended", rows, {"archived": len(rows)})
    changes.note(user_id, Change("memories"))  # everything of theirs in the space has moved
    return reach


@account_ending.connect
def _on_account_ending(_sender: object, *, user_id: int) -> dict[str, int]:
    """End an account's memberships in all spaces; return what others lose by it."""
    lock_spaces(user_id)
    shared = select(Memory.memory_id).where(Memory.user_id == user_id, IS_SHARED)
    lock_withdrawal(user_id, db.session.scalars(shared).all())
    reach = reach_of(leave_all(user_id))
    return {"replies_of_others": reach.replies, "quoted_by_others": reach.quoted}
