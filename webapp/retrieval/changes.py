"""What changed in a user's passages, numbered in the order of the commits, so that every process's index follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import Select, bindparam, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from webapp.conversations.models import Conversation
from webapp.conversations.signals import conversation_shown, messages_changed
from webapp.database import db
from webapp.memories.models import MemoryChangeSet
from webapp.retrieval.models import PassageChange, PassageVersion
from webapp.spaces.versions import versions_for

KEPT = 256
"""Versions whose changes are kept; an index further behind is built anew."""


@dataclass(frozen=True, slots=True)
class Change:
    """One entry: `what` as in PassageChange, with the ids it is about."""

    what: str
    ref_id: int = 0
    from_id: int = 0


@dataclass(frozen=True, slots=True)
class Position:
    """How far an index has come: the passage version, the last change set of the user's memories, and the user's spaces
    with the version of each."""

    version: int = 0
    change_set_id: int = 0
    spaces: tuple[tuple[int, int], ...] = ()

    def stale_spaces(self, newer: Position) -> set[int]:
        """The spaces that were joined, left, or changed between two positions."""
        return {space_id for space_id, _ in set(self.spaces) ^ set(newer.spaces)}


@dataclass(frozen=True, slots=True)
class News:
    """What an index has missed; `complete` is False when some of it is no longer kept."""

    position: Position
    changes: Sequence[Change] = ()
    memory_ids: frozenset[int] = frozenset()
    complete: bool = True


def note(user_id: int, *changes: Change) -> None:
    """Count a change of what the user can find, in the current transaction; holds the user's counter until its end.

    Whoever also locks a conversation locks that first.
    """
    version = _raise_version(user_id)
    rows = [
        {"user_id": user_id, "version": version, "what": item.what, "ref_id": item.ref_id, "from_id": item.from_id}
        for item in changes
    ]
    db.session.execute(insert(PassageChange), rows)
    if version % (KEPT // 4) == 0:
        db.session.execute(
            delete(PassageChange).where(PassageChange.user_id == user_id, PassageChange.version <= version - KEPT)
        )


def position(user_id: int) -> Position:
    """Where the user's passages stand now: two indexed look-ups."""
    version, change_set_id = db.session.execute(_position(), {"user": user_id}).one()
    return Position(version or 0, change_set_id or 0, versions_for(user_id))


@cache
def _position() -> Select[Any]:
    user = bindparam("user")
    return select(
        select(PassageVersion.version).where(PassageVersion.user_id == user).scalar_subquery(),
        select(func.max(MemoryChangeSet.change_set_id)).where(MemoryChangeSet.user_id == user).scalar_subquery(),
    )


def news(user_id: int, since: Position) -> News | None:
    """What happened since a position; None when nothing did.

    Change sets of one user are numbered in the order of their commits, because each is made under the lock of that
    user's memory.
    """
    current = position(user_id)
    if current == since:
        return None
    changes: list[Change] = []
    seen = since.version
    for version, what, ref_id, from_id in db.session.execute(
        select(PassageChange.version, PassageChange.what, PassageChange.ref_id, PassageChange.from_id)
        .where(PassageChange.user_id == user_id, PassageChange.version > since.version,
               PassageChange.version <= current.version)
        .order_by(PassageChange.version)
    ):
        if version > seen + 1:
            return News(current, complete=False)
        seen = version
        changes.append(Change(what, ref_id, from_id))
    if seen != current.version or current.change_set_id < since.change_set_id:
        return News(current, complete=False)
    memory_ids: set[int] = set()
    if current.change_set_id > since.change_set_id:
        for made in db.session.scalars(
            select(MemoryChangeSet.changes).where(
                MemoryChangeSet.user_id == user_id, MemoryChangeSet.change_set_id > since.change_set_id,
                MemoryChangeSet.change_set_id <= current.change_set_id,
            )
        ):
            memory_ids.update(int(entry["memory_id"]) for entry in made)
    return News(current, changes, frozenset(memory_ids))


def _raise_version(user_id: int) -> int:
    for _ in range(3):
        raised = db.session.execute(
            update(PassageVersion)
            .where(PassageVersion.user_id == user_id)
            .values(version=PassageVersion.version + 1)
            .execution_options(synchronize_session=False)
        )
        if raised.rowcount == 1:
            return db.session.scalar(select(PassageVersion.version).where(PassageVersion.user_id == user_id))
        try:
            with db.session.begin_nested():
                db.session.execute(insert(PassageVersion).values(user_id=user_id, version=1))
            return 1
        except IntegrityError:
            continue  # somebody else inserted it first
    raise RuntimeError("the version of the user's passages cannot be raised")


def _messages_changed(_sender: object, *, conversation: Conversation, first_id: int) -> None:
    """Search what is in the conversation now, and make vectors of what came back without one."""
    if conversation.is_temporary:
        return
    if conversation.indexed_through is not None:
        conversation.indexed_through = min(conversation.indexed_through, first_id - 1)
    conversation.index_due = True
    note(conversation.user_id, Change("conversation", conversation.conversation_id, first_id))


def _conversation_shown(_sender: object, *, conversation: Conversation) -> None:
    if not conversation.is_temporary:
        note(conversation.user_id, Change("conversation", conversation.conversation_id))


def init_changes() -> None:
    """Follow what happens to conversations."""
    messages_changed.connect(_messages_changed)
    conversation_shown.connect(_conversation_shown)
