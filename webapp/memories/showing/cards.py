"""Views of the memory templates: cards with their quotes, the panel, the change log, the health view."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Any, Literal

from pydantic import BaseModel, Field
from sqlalchemy import Select, bindparam, func, select, true

from webapp.conversations.models import Conversation
from webapp.db.base import db
from webapp.http.validation import Id, Line, Page, PageQuery
from webapp.i18n.marks import N_
from webapp.memories import lists, service
from webapp.memories.history import change_sets, revisions
from webapp.memories.history.change_sets import ChangeSetView
from webapp.memories.history.revisions import QuotedEvidence
from webapp.memories.models import Memory, MemoryChangeSet
from webapp.memories.prompt.conversation_memory import Switches, switches
from webapp.memories.schemas import Category, MemoryKind, MemoryQuery
from webapp.memories.search import find_memories
from webapp.memories.showing import texts
from webapp.memories.showing.health import Finding, check_health
from webapp.memories.store.reach import Uses, uses_of

MAX_COUNT = 1_000
"""Larger counts are shown as "1000+": counting a large memory to the end would cost as much as listing it."""
CATEGORIES = 100
LOG_SIZE = 8
BATCH_SIZE = 4
"""How many memories at a time the health view asks about, whether they are still true: few enough not to annoy."""
MAX_GROUPS = 50
"""Of any other finding."""


class Filters(BaseModel):
    """The filters of the list, as in the form."""

    q: Line = Field("", max_length=200)
    memory_type: MemoryKind | None = None
    category: Category | None = None
    show: Literal["current", "pinned", "review", "archived", "past"] = "current"
    here: bool = False
    space: Id | None = None
    conversation: Id | None = None
    view: Literal["cards", "rows"] = "cards"
    cursor: str | None = Field(None, max_length=500)
    limit: int = Field(12, ge=1, le=100)

    @property
    def is_narrow(self) -> bool:
        return bool(self.q or self.memory_type or self.category or self.show != "current" or self.here or self.space)

    @property
    def hidden(self) -> int:
        """Return how many filters are set among those the form keeps folded."""
        return sum([bool(self.category), self.show != "current", self.here, self.space is not None])

    def query(self) -> MemoryQuery:
        """Return these filters as the service's query."""
        return MemoryQuery(
            q=self.q or None,
            memory_type=self.memory_type,
            category=self.category or None,
            is_pinned=True if self.show == "pinned" else None,
            is_archived=self.show == "archived",
            needs_review={"current": False, "review": True}.get(self.show),
            is_closed=self.show == "past",
            space_id=self.space,
            source_conversation_id=self.conversation if self.here else None,
            cursor=self.cursor,
            limit=self.limit,
        )

    def as_args(self) -> dict[str, str | int]:
        """Return the query parameters of the next page."""
        return self.model_dump(exclude_defaults=True, exclude={"cursor"})


@dataclass(frozen=True, slots=True)
class Card:
    """A memory with the quotes it rests on, oldest first."""

    memory: Memory
    evidence: Sequence[QuotedEvidence] = ()

    @property
    def kind(self) -> str:
        """Return the kind of memory, in words."""
        return texts.KINDS[self.memory.memory_type]


@dataclass(frozen=True, slots=True)
class Counts:
    """The numbers on the badges: what a panel lists before anything narrows it, and all that waits for a decision."""

    current: int
    review: int

    @property
    def label(self) -> str:
        """Return what the badge of the panel says."""
        return f"{MAX_COUNT}+" if self.current > MAX_COUNT else str(self.current)


@dataclass(frozen=True, slots=True)
class Panel:
    """Everything the panel shows for a conversation, or for none."""

    conversation: Conversation | None
    switches: Switches
    counts: Counts
    filters: Filters
    cards: Page[Card]
    changes: list[ChangeSetView]
    categories: list[str] = field(default_factory=list)


def panel(user_id: int, conversation: Conversation | None, filters: Filters, *, is_beside: bool = True) -> Panel:
    """Return the current panel; changes and categories only if it is beside a conversation."""
    page = cards(user_id, filters)
    rows = [card.memory for card in page.items]
    return Panel(
        conversation,
        switches(user_id, conversation),
        counts(user_id, filters.space),
        filters,
        page,
        change_sets.list_change_sets(user_id, PageQuery(limit=LOG_SIZE), rows).items if is_beside else [],
        categories(user_id) if is_beside else [],
    )


def cards(user_id: int, filters: Filters) -> Page[Card]:
    """Return a page of the list, without quotes: by relevance when searching for words, else last changed first."""
    return find_memories(user_id, filters.query()).map(Card)


def cards_of(user_id: int, rows: Iterable[Memory]) -> list[Card]:
    """Return memories with their quotes, in two queries."""
    rows = list(rows)
    quotes = revisions.evidence_of(user_id, [row.memory_id for row in rows]) if rows else {}
    return [Card(row, quotes.get(row.memory_id, ())) for row in rows]


def card(user_id: int, memory_id: int) -> Card:
    """Return one memory that the user may read. Raises NotFound."""
    return cards_of(user_id, [service.read_memory(user_id, memory_id)])[0]


def other_lists(user_id: int) -> list[str]:
    """Return which lists besides that of the memories in use hold any of the user's."""
    queries = {show: Filters(show=show).query() for show in ("review", "archived", "past")}
    exists = {show: service.filter_memories(user_id, query).exists() for show, query in queries.items()}
    return [show for show, condition in exists.items() if db.session.scalar(select(true()).where(condition))]


def counts(user_id: int, space_id: int | None = None) -> Counts:
    """Return the numbers on the badges of a panel, of everything or one of the user's spaces."""
    values = {"user": user_id, "space": space_id}
    return Counts(*db.session.execute(_counts(space_id is not None), values).one())


@cache
def _counts(in_space: bool) -> Select[int, int]:
    user_id: Any = bindparam("user")
    statement, waits = service.visible(user_id), service.filter_memories(user_id, MemoryQuery(needs_review=True))
    if in_space:
        statement = service.readable(user_id).where(Memory.space_id == bindparam("space"))
        waits = waits.where(Memory.space_id == bindparam("space"))
    queries = (statement.where(*lists.conditions(user_id, MemoryQuery(needs_review=False))), waits)
    statements = (query.with_only_columns(Memory.memory_id) for query in queries)
    bounded = (rows.limit(MAX_COUNT + 1).subquery() for rows in statements)
    return select(*(select(func.count()).select_from(rows).scalar_subquery() for rows in bounded))


def categories(user_id: int) -> list[str]:
    """Return the categories of current memories, for the filter, by name."""
    statement = lists.categories(db.engine.dialect.name == "sqlite").limit(CATEGORIES)
    return list(db.session.scalars(statement, {"user": user_id}))


def changes_by_message(user_id: int, message_ids: Sequence[int]) -> dict[int, list[ChangeSetView]]:
    """Return what reading each of these messages changed, by message; only if there is still something to show."""
    rows = db.session.scalars(_select_change_set(), {"user": user_id, "ids": list(message_ids)}).all()
    views: dict[int, list[ChangeSetView]] = {}
    for view in change_sets.view_change_sets([(row, None) for row in rows]):
        if view.row.through_message_id is not None and (view.row.undone_at or view.label):
            views.setdefault(view.row.through_message_id, []).append(view)
    return views


@cache
def _select_change_set() -> Select[MemoryChangeSet]:
    return (
        select(MemoryChangeSet)
        .where(
            MemoryChangeSet.user_id == bindparam("user"),
            MemoryChangeSet.undoes_id.is_(None),
            MemoryChangeSet.through_message_id.in_(bindparam("ids", expanding=True)),
        )
        .order_by(MemoryChangeSet.change_set_id)
    )


def health(user_id: int) -> dict[Finding, list[list[Card]]]:
    """Return findings to tidy up, of up to MAX_GROUPS groups of cards; only duplicates have several cards."""
    findings = {
        finding: groups[: BATCH_SIZE if finding is Finding.STILL_TRUE else MAX_GROUPS]
        for finding, groups in check_health(user_id).items()
    }
    ids = {ref for groups in findings.values() for group in groups for ref in group}
    rows = db.session.scalars(service.visible(user_id).where(Memory.memory_id.in_(ids))).all() if ids else []
    by_id = {item.memory.memory_id: item for item in cards_of(user_id, rows)}
    return {
        finding: [[by_id[ref] for ref in group] for group in groups] for finding, groups in findings.items() if groups
    }


def earlier_values(user_id: int, memory_id: int) -> dict[str, Any]:
    """Return what a memory of the user's said before, the replies it was used in, and its key's other values, by time.

    Raises NotFound.
    """
    memory = service.read_memory(user_id, memory_id)
    if memory.user_id != user_id:
        return {"memory_id": memory_id, "revisions": [], "uses": Uses(), "others": []}
    values = sorted(revisions.values_of(user_id, memory_id), key=_moment)
    later = [row for row in values if _moment(row) > _moment(memory)]
    earlier = [row for row in values if _moment(row) < _moment(memory)]
    return {
        "memory_id": memory_id,
        "revisions": list(reversed(revisions.revisions_of(user_id, memory_id))),
        "uses": uses_of()(user_id, [memory_id]),
        "others": [(_LATER, later), (_EARLIER, earlier)],
    }


_LATER, _EARLIER = N_("Later values"), N_("Earlier values")


def _moment(row: Memory) -> tuple[datetime, int]:
    return row.valid_from or row.created_at, row.memory_id
