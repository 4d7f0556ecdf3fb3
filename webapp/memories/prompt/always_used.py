"""The memories that every prompt contains, read along indexes: as cheap with twenty thousand of them as with ten."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from sqlalchemy import Integer, Row, Select, bindparam, false, select

from webapp.conversations.models import Conversation
from webapp.db.base import db, now
from webapp.db.index_hints import use_index
from webapp.memories.models import Memory
from webapp.memories.prompt.conversation_memory import memory_is_on
from webapp.memories.prompt.instructions import KEYS, profile_values
from webapp.memories.rules.kinds import MemoryType
from webapp.memories.rules.policy import at_least
from webapp.memories.schemas import KnownItem
from webapp.memories.service import readable, shared_in, visible
from webapp.prompts.values import source_of
from webapp.spaces.members import names_of

MAX_LASTING = 200
"""How many pinned memories, and how many keyed facts, are considered for one prompt."""
MAX_NEW = 20
"""How many memories that changed since a prompt's beginning was fixed are added after it."""
FADES_AFTER = timedelta(days=365)
"""After this long without a mention, a memory is in a prompt only if the question calls for it."""
NEW = "new"
"""The group of what changed recently."""
KNOWN_IMPORTANCE = 0.5
"""Keyed facts of at least this importance are in every prompt."""
RECENT = 10
"""How many of the other memories are, the latest."""
END_OF_TIME = datetime(9999, 1, 1, tzinfo=UTC)
TOLERANCE = 1e-6
"""The precision an importance loses in a FLOAT column."""

_PROFILE = frozenset(KEYS.values())


def context_memories(user_id: int, space_id: int | None = None, *, since: datetime | None = None) -> list[KnownItem]:
    """Return the memories in every prompt of the user's personal conversations, or of a space's, before any budget.

    Profile, pinned, keyed facts of importance 0.5 and more, and the most recent others. With `since`, later changes
    come last, as NEW, so that a prompt's beginning stays the same.
    """
    new = new_memories(user_id, space_id, since=since) if since is not None else []
    return _add_author_names(
        user_id, lasting_memories(user_id, space_id, until=since) + new, in_space=space_id is not None
    )


def shared_memories(space_id: int, limit: int) -> list[tuple[int, KnownItem]]:
    """Return memories shared in a space with owners: pinned first, then by importance, newest first."""
    usable = _for_prompts(select(Memory).where(shared_in([space_id]))).add_columns(Memory.user_id)
    usable = usable.order_by(Memory.is_pinned.desc(), Memory.importance.desc(), Memory.memory_id.desc()).limit(limit)
    moment = now()
    rows = [row for row in db.session.execute(usable) if not is_over(row, moment)]
    names = names_of({row.user_id for row in rows})
    return [
        (row.user_id, replace(item, author=names.get(row.user_id, "")))
        for row, item in zip(rows, _items(rows, "fact"), strict=True)
    ]


def new_memories(user_id: int, space_id: int | None = None, *, since: datetime) -> list[KnownItem]:
    """Return what changed after an instant, latest first, as NEW."""
    rows, moment = db.session.execute(_changed_since(user_id, space_id), {"since": since}), now()
    return _items([row for row in rows if not is_over(row, moment)], NEW)


@lru_cache(maxsize=256)
def _changed_since(user_id: int, space_id: int | None) -> Select[*tuple[Any, ...]]:
    # Needed in every turn: building it costs about as much as sending it.
    statement = _usable_memories(user_id, space_id).where(
        Memory.updated_at > bindparam("since", type_=Memory.updated_at.type)
    )
    statement = statement.order_by(Memory.updated_at.desc(), Memory.memory_id.desc()).limit(MAX_NEW)
    return _use_index(statement, space_id, "listing")


def lasting_memories(user_id: int, space_id: int | None = None, *, until: datetime | None = None) -> list[KnownItem]:
    """Return the memories in every prompt; with `until`, without those that changed later."""
    pinned, facts, recent = _lasting_queries(user_id, space_id)
    parameters: dict[str, Any] = {"until": until or END_OF_TIME}
    rows = {row.memory_id: row for query in (pinned, facts) for row in db.session.execute(query, parameters)}
    most = {"most": len(rows) + RECENT}
    rows |= {row.memory_id: row for row in db.session.execute(recent, parameters | most)}
    moment = now()
    rows = {memory_id: row for memory_id, row in rows.items() if not is_over(row, moment)}
    return [item for group, members in by_group(rows.values()).items() for item in _items(members, group)]


def by_group(rows: Iterable[Row[Any]]) -> dict[str, list[Row[Any]]]:
    """Return memories as in every prompt: pinned, keyed facts by importance, recent others; stable until a change."""
    pinned: list[Row[Any]] = []
    facts: list[Row[Any]] = []
    others: list[Row[Any]] = []
    for row in sorted(rows, key=lambda row: row.memory_id):
        is_fact = row.fact_key and at_least(row.importance, KNOWN_IMPORTANCE)
        (pinned if row.is_pinned else facts if is_fact else others).append(row)
    facts.sort(key=lambda row: (-max(row.importance, KNOWN_IMPORTANCE), row.fact_key, row.memory_id))
    others.sort(key=lambda row: (row.created_at, row.memory_id), reverse=True)
    return {"pinned": pinned, "fact": facts, "recent": others[:RECENT]}


_Query = Select[*tuple[Any, ...]]


@lru_cache(maxsize=256)
def _lasting_queries(user_id: int, space_id: int | None) -> tuple[_Query, _Query, _Query]:
    """Return the queries for what is pinned, known and recent, all unchanged since `until`, the last at most `most`."""
    # Needed in every turn after a change of memory: built once, as above.
    usable = _usable_memories(user_id, space_id).where(
        Memory.updated_at <= bindparam("until", type_=Memory.updated_at.type)
    )
    pinned = (
        usable.where(Memory.is_pinned).order_by(Memory.updated_at.desc(), Memory.memory_id.desc()).limit(MAX_LASTING)
    )
    facts = usable.where(Memory.known_rank >= KNOWN_IMPORTANCE - TOLERANCE)
    facts = facts.order_by(Memory.known_rank.desc(), Memory.memory_id.desc()).limit(MAX_LASTING)
    recent = usable.order_by(Memory.created_at.desc(), Memory.memory_id.desc()).limit(bindparam("most", type_=Integer))
    return (
        _use_index(pinned, space_id, "pinned"),
        _use_index(facts, space_id, "known"),
        _use_index(recent, space_id, "recent"),
    )


def _usable_memories(user_id: int, space_id: int | None) -> Select[*tuple[Any, ...]]:
    """Return the memories that may be in the user's prompts, filtered by the columns of the indexes."""
    scope = visible(user_id).where(Memory.space_slot == 0)
    if space_id is not None:
        scope = readable(user_id).where(Memory.space_id == space_id)
    return _for_prompts(scope)


def _for_prompts(scope: Select[Memory]) -> Select[*tuple[Any, ...]]:
    return scope.where(
        Memory.is_archived == false(),
        Memory.is_closed == false(),
        Memory.needs_review == false(),
        Memory.memory_type != MemoryType.INSTRUCTION.value,  # these go with the instructions
    ).with_only_columns(
        # Columns, not entities: those would load each vector as well.
        Memory.memory_id,
        Memory.content,
        Memory.revision,
        Memory.importance,
        Memory.fact_key,
        Memory.is_pinned,
        Memory.created_at,
        Memory.updated_at,
        Memory.until,
    )


def _use_index(statement: Select[*tuple[Any, ...]], space_id: int | None, index: str) -> Select[*tuple[Any, ...]]:
    """Read along an index of a user's memories; those of a space are found by the space instead."""
    return statement if space_id is not None else use_index(statement, Memory, f"ix_memories_{index}")


def is_over(row: Row[Any] | Memory, moment: datetime) -> bool:
    """Return whether a memory has faded from every prompt; pinned ones and those of the profile never do."""
    if row.is_pinned or row.fact_key in _PROFILE:
        return False
    return moment - row.updated_at > FADES_AFTER or (row.until is not None and row.until < moment.date())


def _add_author_names(user_id: int, items: list[KnownItem], *, in_space: bool) -> list[KnownItem]:
    """Return the items with the name of each memory's owner, if that is another member."""
    if not in_space:
        return items
    ids = [item.id for item in items]
    statement = select(Memory.memory_id, Memory.user_id).where(Memory.memory_id.in_(ids), Memory.user_id != user_id)
    author = dict(db.session.execute(statement).all())
    names = names_of(set(author.values())) if author else {}
    return [replace(item, author=names.get(author.get(item.id, 0), "")) for item in items]


def _items(rows: Iterable[Row[Any]], group: str) -> list[KnownItem]:
    return [
        KnownItem(
            row.memory_id,
            row.content,
            row.revision,
            "profile" if group != NEW and row.fact_key in _PROFILE else group,
            round(row.importance, 4),
        )
        for row in rows
    ]


@source_of("MEMORIES")
def memory_lines(conversation: Conversation) -> list[str]:
    """Return the lines of memories for every prompt, the profile first; none if memory is off."""
    if not memory_is_on(conversation):
        return []
    return [
        f"{item.content} (said by {' '.join(item.author.split())})" if item.author else item.content
        for item in context_memories(conversation.user_id, conversation.space_id)
    ]


@source_of("USER_PROFILE")
def profile_lines(conversation: Conversation) -> list[str]:
    """Return the profile, one line per field; none if memory is off, or in a space, which has memories of its own."""
    if not memory_is_on(conversation) or conversation.space_id is not None:
        return []
    return [f"{name.replace('_', ' ')}: {value}" for name, value in profile_values(conversation.user_id).items()]
