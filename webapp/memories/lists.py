"""Lists of memories: what their filters select, and the index a page is read along."""

from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Select, bindparam, false, func, select, true
from sqlalchemy.orm import aliased, defer

from webapp.memories.models import Memory
from webapp.memories.rules.kinds import canonical_category
from webapp.memories.schemas import MemoryQuery
from webapp.spaces.service import spaces_of

LIST_OPTIONS = tuple(
    defer(column, raiseload=True)
    for column in (Memory.embedding, Memory.space_slot, Memory.current_slot, Memory.is_closed)
)
"""Columns that lists do without: vectors, and those that exist for indexes."""

_FLAGS = {True: true(), False: false()}  # compared with =, because IS would not use an index


def conditions(user_id: int, query: MemoryQuery) -> list[ColumnElement[bool]]:
    """Return what the filters of a list select, except whose memories they are."""
    filters = [Memory.is_archived == _FLAGS[query.is_archived], Memory.is_closed == _FLAGS[query.is_closed]]
    if query.category is not None:
        filters.append(Memory.category == (canonical_category(query.category) or ""))
    if query.is_pinned is not None:
        filters.append(Memory.is_pinned == _FLAGS[query.is_pinned])
    if query.needs_review is not None:
        filters.append(Memory.needs_review == _FLAGS[query.needs_review])
    for name in ("memory_type", "space_id", "visibility"):
        if (value := getattr(query, name)) is not None:
            filters.append(getattr(Memory, name) == value)
    # A conversation's memories, and shared ones (which are always in a space), are few: they are looked up first, and
    # the other filters are then applied to them.
    few = aliased(Memory)
    if query.source_conversation_id is not None:
        condition = few.source_conversation_id == query.source_conversation_id
        filters.append(Memory.memory_id.in_(select(few.memory_id).where(condition)))
    if query.visibility == "shared":
        condition = (few.visibility == "shared") & few.space_id.in_(spaces_of(user_id))
        filters.append(Memory.memory_id.in_(select(few.memory_id).where(condition)))
    return filters


def use_list_index(statement: Select[*tuple[Any, ...]], query: MemoryQuery) -> Select[*tuple[Any, ...]]:
    """Read a list along the index of its most selective filter; MariaDB would read and sort all newer memories."""
    if query.space_id is not None or query.source_conversation_id is not None or query.visibility == "shared":
        return statement
    filters = {
        "listing": query.is_closed,
        "category": query.category is not None,
        "waiting": query.needs_review,
        "pinned": query.is_pinned,
        "type": query.memory_type is not None,
    }
    index = next((name for name, is_set in filters.items() if is_set), "listing")
    return statement.with_hint(Memory, f"FORCE INDEX (ix_memories_{index})", "mysql")


@cache
def categories(on_sqlite: bool) -> Select[str]:
    """Return the categories of a `user`'s memories in use, by name, stepping along their index."""
    scope = (Memory.user_id == bindparam("user"), Memory.is_archived == false(), Memory.is_closed == false())
    if on_sqlite:
        name = select(func.min(Memory.category).label("name")).where(*scope, Memory.category > "").cte(recursive=True)
        after = select(func.min(Memory.category)).where(*scope, Memory.category > name.c.name).correlate(name)
        name = name.union_all(select(after.scalar_subquery()).where(name.c.name.is_not(None)))
        return select(name.c.name).where(name.c.name.is_not(None))
    index_query, columns = MemoryQuery(category="any"), (Memory.user_id, Memory.is_archived, Memory.category)
    names = use_list_index(select(*columns).where(*scope[:2]), index_query).distinct().subquery()
    example = (
        use_list_index(select(Memory.memory_id), index_query)
        .where(*scope, Memory.category == names.c.category)
        .limit(1)
    )
    in_use = example.correlate(names).scalar_subquery()  # not EXISTS, which would become a join and read it all again
    return select(names.c.category).where(names.c.category != "", in_use.is_not(None)).order_by(names.c.category)
