"""The parts of a list of memories by state, kind, category and space, each with how many it holds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import CompoundSelect, Row, Select, func, literal, select, union_all

from webapp.db.base import db
from webapp.i18n.marks import N_
from webapp.i18n.request_language import gettext as _
from webapp.memories import lists, service
from webapp.memories.models import Memory
from webapp.memories.schemas import MemoryQuery
from webapp.memories.showing import cards, texts
from webapp.memories.showing.cards import MAX_COUNT, Filters
from webapp.spaces.current_space import Choice
from webapp.spaces.service import spaces_of

_COLUMNS = (Memory.memory_type, Memory.category, Memory.space_id, Memory.is_pinned, Memory.needs_review)


@dataclass(frozen=True, slots=True)
class Part:
    """One choice: its name, the filters it leads to, how many it lists (None if not counted), whether it is chosen."""

    name: str
    filters: Filters
    count: int | None
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class Group:
    """The choices of one filter, under a title; the states have none."""

    title: str
    parts: Sequence[Part]


@dataclass(frozen=True, slots=True)
class Tile:
    """A kind of memory: its name, how many are in use (counted up to MAX_COUNT + 1), and the newest of them."""

    kind: str
    name: str
    count: int
    newest: Memory


def tiles(user_id: int) -> list[Tile]:
    """Return the kinds that a user has memories of, the most frequent first."""
    counts = db.session.execute(_by_kind(user_id)).all()
    rows = select(Memory).where(Memory.memory_id.in_([row.newest for row in counts])).options(*lists.LIST_OPTIONS)
    newest = {row.memory_id: row for row in db.session.scalars(rows)}
    parts = [
        Tile(row.kind, _title(_(texts.KINDS[row.kind])), row.number, newest[row.newest])
        for row in counts
        if row.newest in newest
    ]
    return sorted(parts, key=lambda tile: -tile.count)


def _by_kind(user_id: int) -> CompoundSelect[*tuple[Any, ...]]:
    """Count each kind and find its newest memory, along the index of kinds: a long memory is not read."""
    queries = []
    for kind in texts.KINDS:
        query = MemoryQuery(memory_type=kind, needs_review=False)
        ids = select(Memory.memory_id).where(Memory.user_id == user_id, *lists.conditions(user_id, query))
        statement = lists.use_list_index(ids, MemoryQuery(memory_type=kind))
        newest = statement.order_by(Memory.updated_at.desc(), Memory.memory_id.desc()).limit(1).scalar_subquery()
        number = select(func.count()).select_from(statement.limit(MAX_COUNT + 1).subquery()).scalar_subquery()
        queries.append(select(literal(kind).label("kind"), number.label("number"), newest.label("newest")))
    return union_all(*queries)


def facets(user_id: int, filters: Filters, spaces: Sequence[Choice]) -> list[Group]:
    """Return the groups for a list with these filters. Beside a search or a long memory there are no numbers."""
    rows = db.session.execute(_count_query(user_id, filters)).all()
    is_counted = not filters.q and sum(row.number for row in rows) <= MAX_COUNT

    def part(name: str, selection: Filters, is_chosen: bool) -> Part:
        number = sum(row.number for row in rows if _lists(selection, row)) if is_counted else None
        return Part(name, selection, number, is_chosen)

    def choices(field: str, values: dict[Any, str]) -> list[Part]:
        now = getattr(filters, field)
        parts = [part(name, _set(filters, field, value), False) for value, name in values.items() if value != now]
        selection = [Part(values[now], _set(filters, field, None), None, True)] if now in values else []
        return selection + [choice for choice in parts if choice.count != 0]

    if is_counted:
        names = {row.category for row in rows if row.category}
    else:
        names = set(cards.categories(user_id))
    categories = {
        value: _title(texts.category_name(value)) for value in sorted(names | {filters.category or ""} - {""})
    }
    kinds = {value: _title(_(name)) for value, name in texts.KINDS.items()}
    groups = [
        Group("", _states(filters, part)),
        Group(_KIND, choices("memory_type", kinds)),
        Group(_CATEGORY, choices("category", categories)),
        Group(_SPACE, choices("space", {space.space_id: space.name for space in spaces})),
    ]
    return [group for group in groups if group.parts]


_KIND, _CATEGORY, _SPACE = N_("Kind"), N_("Category"), N_("Space")


def _states(filters: Filters, part: Callable[[str, Filters, bool], Part]) -> list[Part]:
    """Return the states as facets; only counted ones have a number."""
    is_open = filters.show in ("current", "pinned", "review")
    parts = []
    for value, name in texts.STATE_LABELS.items():
        choice = part(_(name), _set(filters, "show", value), filters.show == value)
        if value in ("archived", "past") or not is_open:
            choice = replace(choice, count=None)
        if choice.count != 0 or choice.is_chosen or value == "current":
            parts.append(choice)
    return parts


def _title(name: str) -> str:
    return name[:1].upper() + name[1:]


def _set(filters: Filters, field: str, value: Any) -> Filters:
    return filters.model_copy(update={field: value, "cursor": None})


def _lists(filters: Filters, row: Row[*tuple[Any, ...]]) -> bool:
    """Return whether a list with these filters holds a row's memories; others' are in their space's."""
    return (
        (row.is_own or filters.space is not None)
        and (filters.space is None or row.space_id == filters.space)
        and (filters.memory_type is None or row.memory_type == filters.memory_type)
        and (not filters.category or row.category == filters.category)
        and (filters.show != "pinned" or row.is_pinned)
        and (filters.show not in ("current", "review") or row.needs_review == (filters.show == "review"))
    )


def _count_query(user_id: int, filters: Filters) -> Select[*tuple[Any, ...]]:
    """Count each kind, category and space, what is pinned and what waits; of a long memory, its beginning."""
    state = MemoryQuery(is_archived=filters.show == "archived", is_closed=filters.show == "past")
    memories = service.visible(user_id).where(*lists.conditions(user_id, state))
    shared = service.readable(user_id).where(
        Memory.space_id.in_(spaces_of(user_id)),
        Memory.visibility == "shared",
        Memory.user_id != user_id,
        *lists.conditions(user_id, state),
    )
    parts = [
        query.with_only_columns(*_COLUMNS, literal(is_own).label("is_own")).limit(MAX_COUNT + 1).subquery()
        for query, is_own in ((memories, True), (shared, False))
    ]
    union = union_all(*map(select, parts)).subquery()
    return select(*union.c, func.count().label("number")).group_by(*union.c)
