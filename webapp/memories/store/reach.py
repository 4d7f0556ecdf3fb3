"""The reach of what is forgotten or withdrawn: replies that used it, and what models told other members."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field

from blinker import Signal
from pydantic import BaseModel, Field
from sqlalchemy import Select, false, select, true

from webapp.db.base import db
from webapp.extensions import Part
from webapp.memories.models import IN_USE, Memory, MemoryRevision
from webapp.memories.rules.paraphrases import ForgottenStatements

lock_affected_conversations = Signal()
"""Sent with `user_id` and `memory_ids` before the user's memory is held: receivers that will write to other
conversations when these are withdrawn or forgotten lock them now."""

pre_withdraw = Signal()
"""Sent inside the transaction with `user_id`, `memory_ids` and the `texts` that others could read; receivers return a
Reach."""


@dataclass(frozen=True, slots=True)
class Reach:
    """In other members' conversations: replies that lost a text, and messages of theirs that quote it, which stay."""

    replies: int = 0
    quoted: int = 0

    def __add__(self, other: "Reach") -> "Reach":
        return Reach(self.replies + other.replies, self.quoted + other.quoted)


def lock_withdrawal(user_id: int, memory_ids: Collection[int]) -> None:
    """Lock what withdrawing these memories will write to; call it before the user's memory is locked."""
    lock_affected_conversations.send(None, user_id=user_id, memory_ids=memory_ids)


def reach_of(answers: Iterable[tuple[object, object]]) -> Reach:
    """Return the sum of the reports of a signal's receivers."""
    return sum((answer for _, answer in answers if isinstance(answer, Reach)), Reach())


def withdraw(user_id: int, memories: Collection[Memory]) -> Reach:
    """Remove what these memories of the user say, or said before, from what other members were told."""
    ids = [memory.memory_id for memory in memories]
    if not ids:
        return Reach()
    snapshots = db.session.scalars(select(MemoryRevision.snapshot).where(MemoryRevision.memory_id.in_(ids)))
    texts = {memory.content for memory in memories} | {str(fields.get("content") or "") for fields in snapshots}
    return reach_of(pre_withdraw.send(None, user_id=user_id, memory_ids=ids, texts=texts - {""}))


MAX_NAMED = 50
"""The most replies that a report names."""


class UsedIn(BaseModel):
    """A reply whose prompt held one of the memories."""

    message_id: int
    conversation_id: int
    space_id: int | None = Field(None, exclude=True)
    is_shared: bool = Field(False, description="Whether a link shows it to others.")


@dataclass(frozen=True, slots=True)
class Uses:
    """The user's replies that used some memories, those behind a link first, then the newest; at most MAX_NAMED of the
    `count`. Of replies to other members only the number (`by_others`)."""

    replies: list[UsedIn] = field(default_factory=list)
    count: int = 0
    by_others: int = 0


uses_of: Part[Callable[[int, Collection[int]], Uses]] = Part("uses_of_memories")
"""Finds the uses of a user's memories by their ids, also of memories that are gone. The domains that know the receipts
and the links build on this one, so one of them registers the function here."""


MAX_READ = 5_000
"""Memories read for a retelling: the user's memory is held meanwhile, and so many take up to half a second."""


def find_retelling(user_id: int, memory_ids: Collection[int], texts: Iterable[str]) -> list[int]:
    """Return the user's memories in use, but for some, that say what one of the texts says, among the newest."""
    statements = ForgottenStatements(texts)
    others = select(Memory.memory_id, Memory.content).where(Memory.user_id == user_id, *IN_USE)
    others = others.where(Memory.memory_id.not_in(memory_ids))
    newest = others.order_by(Memory.created_at.desc(), Memory.memory_id.desc()).limit(MAX_READ)
    rows = db.session.execute(newest).all()
    return sorted(memory_id for memory_id, content in rows if statements.is_repeated_in(content))


def archived_for(memory_ids: Collection[int]) -> Select[int]:
    """Return the ids of memories that are archived in favour of some."""
    return select(Memory.memory_id).where(
        Memory.superseded_by_id.in_(memory_ids), Memory.is_archived == true(), Memory.is_closed == false()
    )


def add_archived(memory_ids: Iterable[int]) -> set[int]:
    """Return the ids of memories and of those archived in favour of one of them, or of such a one."""
    latest = found = set(memory_ids)
    while latest:
        latest = set(db.session.scalars(archived_for(latest))) - found
        found |= latest
    return found
