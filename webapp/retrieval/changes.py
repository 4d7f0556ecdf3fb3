"""Changes of a user's passages, numbered in commit order, so that every process's index can follow, and announced."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from redis.exceptions import RedisError
from sqlalchemy import (
    BigInteger,
    CompoundSelect,
    Insert,
    ScalarSelect,
    Select,
    bindparam,
    delete,
    func,
    insert,
    literal_column,
    select,
    union_all,
)
from sqlalchemy.orm import InstrumentedAttribute

from webapp.background.events import Kind, event_recorded
from webapp.conversations.models import Conversation
from webapp.conversations.signals import conversation_shown, messages_changed
from webapp.db.base import after_commit, db, pending_actions, read_columns, table_of
from webapp.extensions import redis
from webapp.memories.models import MemoryChangeSet, MemoryVersion
from webapp.memories.store import versions
from webapp.retrieval.models import PassageChange, PassageVersion
from webapp.spaces.signals import versions_of, versions_raised

HISTORY = 256
"""For how many versions changes are kept; an index further behind is rebuilt."""


CHANNEL, GROWN, SPACES = CHANNELS = "changed", "changed:grown", "changed:spaces"
"""Their messages are ids of users, of users who have got more and lost nothing, or of spaces, with commas between them.
Nothing depends on them: every look-up asks the tables whether it is up to date."""


@dataclass(frozen=True, slots=True)
class _Announcement:
    """Announces users, or spaces, when called."""

    channel: str
    ids: tuple[int, ...]

    def __call__(self) -> None:
        with suppress(RedisError):
            redis().publish(self.channel, ",".join(map(str, self.ids)))


def announce(user_id: int, channel: str = CHANNEL) -> None:
    """Announce after the commit that the user's search results have changed."""
    announcement = _Announcement(channel, (user_id,))
    if announcement not in pending_actions(db.session()):
        after_commit(announcement)


@event_recorded.connect
def _announce_event(_sender: object, *, user_id: int, kind: Kind, **_more: Any) -> None:
    if kind in (Kind.MEMORY_CHANGED, Kind.MEMORY_FORGOTTEN):
        announce(user_id)


@versions_raised.connect
def _announce_spaces(_sender: object, *, space_ids: Sequence[int]) -> None:
    after_commit(_Announcement(SPACES, tuple(space_ids)))


@dataclass(frozen=True, slots=True)
class Change:
    """One change: `kind` as in PassageChange, with the ids it concerns."""

    kind: str
    ref_id: int = 0
    from_id: int = 0


@dataclass(frozen=True, slots=True)
class Position:
    """The position of an index: the versions of passages, of the user's memory, and of their spaces."""

    version: int = 0
    memory_version: int = 0
    spaces: tuple[tuple[int, int], ...] = ()

    @property
    def space_ids(self) -> frozenset[int]:
        """Return the spaces the user belonged to."""
        return frozenset(space_id for space_id, _ in self.spaces)

    def is_past(self, other: "Position") -> bool:
        """Return whether this one was read later: all counters only grow."""
        spaces = dict(other.spaces)
        return (
            self.version > other.version
            or self.memory_version > other.memory_version
            or any(version > spaces.get(space_id, version) for space_id, version in self.spaces)
        )

    def stale_spaces(self, newer: "Position") -> set[int]:
        """Return the spaces that were joined, left, or changed between two positions."""
        return {space_id for space_id, _ in set(self.spaces) ^ set(newer.spaces)}


class PassageMarks(NamedTuple):
    """The position of a user's passages as columns of a larger statement; None for what does not exist."""

    passage_version: int | None
    kept_memory_version: int | None
    spaces: int

    @property
    def memory_version(self) -> int:
        return self.kept_memory_version or 0

    @property
    def position(self) -> Position | None:
        """Return the position, unless there are spaces, whose versions need a separate statement."""
        if self.spaces:
            return None
        return Position(self.passage_version or 0, self.memory_version)


@dataclass(frozen=True, slots=True)
class MissedChanges:
    """The changes that an index has missed; `complete` is False when some of it is no longer kept."""

    position: Position
    changes: Sequence[Change] = ()
    memory_ids: frozenset[int] = frozenset()
    complete: bool = True


def note(user_id: int, *changes: Change, channel: str | None = CHANNEL) -> None:
    """Count a change of what the user can find, locking their counter until the end; lock conversations first.

    `channel`: where it is announced, None if something that follows announces it."""
    versions.count_change(PassageVersion, user_id)
    if channel:
        announce(user_id, channel)
    for item in changes:
        db.session.execute(
            _insert_change(), {"user": user_id, "what": item.kind, "ref": item.ref_id, "from": item.from_id}
        )


@cache
def _insert_change() -> Insert:
    # The version is read in the insert: we hold the counter's row, and this saves a round trip.
    values = [
        bindparam(name, type_=column.type)
        for name, column in (
            ("what", PassageChange.what),
            ("ref", PassageChange.ref_id),
            ("from", PassageChange.from_id),
        )
    ]
    return insert(table_of(PassageChange)).from_select(
        ["user_id", "version", "what", "ref_id", "from_id"],
        select(PassageVersion.user_id, PassageVersion.version, *values).where(
            PassageVersion.user_id == bindparam("user")
        ),
    )


def prune(user_id: int) -> None:
    """Delete changes that only an index far behind would need, in the current transaction."""
    version = db.session.scalar(select(PassageVersion.version).where(PassageVersion.user_id == user_id)) or 0
    db.session.execute(
        delete(PassageChange).where(PassageChange.user_id == user_id, PassageChange.version <= version - HISTORY)
    )


def position(user_id: int) -> Position:
    """Return the current position of the user's passages: a few indexed look-ups in one statement."""
    numbers: dict[str, int] = {}
    spaces = []
    for kind, number, value in read_columns(_position(), {"user": user_id}):
        if kind == "space":
            spaces.append((number, value))
        else:
            numbers[kind] = value or 0
    return Position(numbers.get("passages", 0), numbers.get("memory", 0), tuple(sorted(spaces)))


def mark_columns(user: InstrumentedAttribute[int], table: type[Any]) -> list[ScalarSelect[Any]]:
    """Return the columns of `PassageMarks` for the user named by a row of `table`."""
    columns = (
        select(PassageVersion.version).where(PassageVersion.user_id == user),
        select(MemoryVersion.version).where(MemoryVersion.user_id == user),
        versions_of(user).with_only_columns(func.count(), maintain_column_froms=True),
    )
    return [statement.correlate(table).scalar_subquery() for statement in columns]


@cache
def _position() -> CompoundSelect[*tuple[Any, ...]]:
    user = bindparam("user", type_=BigInteger)
    spaces = versions_of(user).subquery()
    return union_all(
        select(literal_column("'passages'"), literal_column("0"), PassageVersion.version).where(
            PassageVersion.user_id == user
        ),
        select(literal_column("'memory'"), literal_column("0"), MemoryVersion.version).where(
            MemoryVersion.user_id == user
        ),
        select(literal_column("'space'"), spaces.c.space_id, spaces.c.version),
    )


def news(user_id: int, since: Position, current: Position) -> MissedChanges | None:
    """Return what happened between two positions, or None; versions of a memory are in commit order."""
    if current == since:
        return None
    changes: list[Change] = []
    seen = since.version
    parameters = {"user": user_id, "since": since.version, "through": current.version}
    rows = read_columns(_select_range(), parameters) if current.version != since.version else ()
    for version, kind, ref_id, from_id in rows:
        if version > seen + 1:
            return MissedChanges(current, complete=False)
        seen = version
        changes.append(Change(kind, ref_id, from_id))
    if seen != current.version or current.memory_version < since.memory_version:
        return MissedChanges(current, complete=False)
    return MissedChanges(current, changes, memories_changed(user_id, since.memory_version, current.memory_version))


def memories_changed(user_id: int, since: int, through: int) -> frozenset[int]:
    """Return the memories changed in versions after `since`, up to and including `through`."""
    if through <= since:
        return frozenset()
    sets = read_columns(_change_sets(), {"user": user_id, "since": since, "through": through}).scalars()
    return frozenset(int(entry["memory_id"]) for change_set in sets for entry in change_set)


@cache
def _change_sets() -> Select[Any]:
    return select(MemoryChangeSet.changes).where(
        MemoryChangeSet.user_id == bindparam("user"),
        MemoryChangeSet.memory_version > bindparam("since"),
        MemoryChangeSet.memory_version <= bindparam("through"),
    )


@cache
def _select_range() -> Select[int, str, int, int]:
    return (
        select(PassageChange.version, PassageChange.what, PassageChange.ref_id, PassageChange.from_id)
        .where(
            PassageChange.user_id == bindparam("user"),
            PassageChange.version > bindparam("since"),
            PassageChange.version <= bindparam("through"),
        )
        .order_by(PassageChange.version)
    )


@messages_changed.connect
def _messages_changed(_sender: object, *, conversation: Conversation, first_id: int) -> None:
    """Make search follow the conversation's current content, and have vectors made for what came back without any."""
    if conversation.is_temporary:
        return
    if conversation.indexed_through is not None:
        conversation.indexed_through = min(conversation.indexed_through, first_id - 1)
    conversation.index_due = True
    note(conversation.user_id, Change("conversation", conversation.conversation_id, first_id))


@conversation_shown.connect
def _conversation_shown(_sender: object, *, conversation: Conversation) -> None:
    if not conversation.is_temporary:
        note(conversation.user_id, Change("conversation", conversation.conversation_id))
