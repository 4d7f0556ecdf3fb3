"""The picture of the people and things around somebody: what their memories name, and what they name together."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations
from math import sqrt

from sqlalchemy import or_, select

from webapp.conversations.models import Conversation
from webapp.db.base import db
from webapp.errors import NotFound
from webapp.i18n import SOURCE
from webapp.i18n.date_texts import day_and_month_names
from webapp.memories.lists import LIST_OPTIONS
from webapp.memories.models import IN_USE, Memory
from webapp.memories.rules.kinds import MemoryType
from webapp.memories.rules.mentions import Name, Note, names_of
from webapp.memories.rules.secrets import find_secret
from webapp.memories.service import visible
from webapp.memories.showing.cards import Card, cards_of
from webapp.memories.showing.map_layout import NARROW, SMALLEST, WIDE, Layout, Link, Shape, place_names, shorten
from webapp.text.words import fold_marks

MAX_MEMORIES = 10_000
"""The memories looked at, those learned last."""
MAX_NAMES = 40
MAX_NEIGHBOURS = 3
"""Names that are listed with a name on the page of all."""
MAX_TOGETHER = 12
"""And on a page of its own."""
MAX_CARDS = 30
_RARE = 2
"""Mentions up to which a name may be part of a secret."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A name with how many memories mention it, and the names they most often mention with it, each with how many."""

    key: str
    label: str
    count: int
    beside: Sequence[tuple[Name, int]] = ()


@dataclass(frozen=True, slots=True)
class Dot:
    """A name in a picture: `short` is as much of its label as fits."""

    entry: Entry
    short: str
    x: float
    y: float
    radius: float


@dataclass(frozen=True, slots=True)
class Line:
    """A link in a picture; the more memories it stands for, the wider."""

    x1: float
    y1: float
    x2: float
    y2: float
    width: float


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawing of names and links, in one shape."""

    layout: Layout
    dots: Sequence[Dot]
    lines: Sequence[Line]


@dataclass(frozen=True, slots=True)
class NameMap:
    """The pictures for a wide and a narrow page, and the names in them; `left_out` are more than fit."""

    entries: Sequence[Entry]
    pictures: Mapping[str, Picture]
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class NamePage:
    """A name and a page of the memories that mention it, latest first; `following` is where the next page begins."""

    entry: Entry
    cards: Sequence[Card] = field(default_factory=list)
    following: int | None = None


def map_of(user_id: int, language: str) -> NameMap:
    """Return the picture of what a user's own memories name, among those in use."""
    names, left_out = names_shown(user_id, language)
    links = links_of(names)
    entries = [
        Entry(name.key, name.label, len(name.memory_ids), _linked_names(rank, names, links))
        for rank, name in enumerate(names)
    ]
    pictures = {"wide": _picture(WIDE, entries, links), "narrow": _picture(NARROW, entries, links)} if entries else {}
    return NameMap(entries, pictures, left_out)


def names_shown(user_id: int, language: str, limit: int = MAX_NAMES) -> tuple[list[Name], int]:
    """Return the names that a user's memories mention most, and how many more there are."""
    notes = _notes(user_id)
    names = names_of(notes, _calendar(language))
    visible = _without_secrets(names, notes, limit)
    return visible, len(names) - len(visible) if len(visible) == limit else 0


def name_page(user_id: int, language: str, key: str, start: int = 0) -> NamePage:
    """Return the memories that mention a name, from number `start`. Raises NotFound if none does."""
    notes = _notes(user_id)
    names = names_of(notes, _calendar(language))
    entry = next((name for name in names if name.key == key), None)
    contents = {note.memory_id: note.text for note in notes}
    ids = entry.memory_ids[start : start + MAX_CARDS] if entry else ()
    ids = tuple(number for number in ids if find_secret(contents[number]) is None)
    if entry is None or not ids:
        raise NotFound("No memory mentions this.")
    own_ids = set(entry.memory_ids)
    shared = {name: len(own_ids.intersection(name.memory_ids)) for name in names if name is not entry}
    companions = sorted((item for item in shared.items() if item[1]), key=lambda item: (-item[1], item[0].key))
    rows = db.session.scalars(visible(user_id).where(Memory.memory_id.in_(ids)).options(*LIST_OPTIONS)).all()
    by_id = {row.memory_id: row for row in rows}
    next_start = start + MAX_CARDS
    return NamePage(
        Entry(entry.key, entry.label, len(entry.memory_ids), companions[:MAX_TOGETHER]),
        cards_of(user_id, [by_id[number] for number in ids if number in by_id]),
        next_start if next_start < len(entry.memory_ids) else None,
    )


def _notes(user_id: int) -> list[Note]:
    """Return the memories that are looked at, latest first: those in use, and not how to be answered."""
    passing = select(Conversation.conversation_id).where(
        Conversation.user_id == user_id, Conversation.is_temporary.is_(True)
    )
    statement = (
        select(Memory.memory_id, Memory.content, Memory.memory_type, Memory.fact_key, Memory.fact_value)
        .where(
            Memory.user_id == user_id,
            Memory.space_id.is_(None),
            *IN_USE,
            Memory.memory_type != MemoryType.INSTRUCTION.value,
            or_(Memory.source_conversation_id.is_(None), Memory.source_conversation_id.not_in(passing)),
        )
        .order_by(Memory.created_at.desc(), Memory.memory_id.desc())
        .limit(MAX_MEMORIES)
    )
    return [
        Note(memory_id, content, kind == MemoryType.ENTITY, key, value)
        for memory_id, content, kind, key, value in db.session.execute(statement)
    ]


@cache
def _calendar(language: str) -> frozenset[str]:
    return frozenset(fold_marks(name) for code in {SOURCE, language} for name in day_and_month_names(code))


def _without_secrets(names: Iterable[Name], notes: Sequence[Note], limit: int) -> list[Name]:
    """Return the first names that no secret is part of: one that stands in a memory or two might be its text."""
    contents = {note.memory_id: note.text for note in notes}
    visible = list[Name]()
    for name in names:
        rare = name.memory_ids if len(name.memory_ids) <= _RARE else ()
        if find_secret(name.label, *(contents[number] for number in rare)) is None:
            visible.append(name)
        if len(visible) == limit:
            break
    return visible


def links_of(names: Sequence[Name]) -> list[Link]:
    """Return which of the names stand in the same memories, strongest first."""
    names_by_memory: dict[int, list[int]] = {}
    for rank, name in enumerate(names):
        for number in name.memory_ids:
            names_by_memory.setdefault(number, []).append(rank)
    shared = Counter(pair for ranks in names_by_memory.values() for pair in combinations(ranks, 2))
    return [Link(*pair, count) for pair, count in sorted(shared.items(), key=lambda item: (-item[1], item))]


def _linked_names(rank: int, names: Sequence[Name], links: Sequence[Link]) -> list[tuple[Name, int]]:
    own_links = [link for link in links if rank in (link.one, link.other)]
    return [(names[link.one + link.other - rank], link.shared) for link in own_links[:MAX_NEIGHBOURS]]


def _picture(shape: Shape, entries: Sequence[Entry], links: Sequence[Link]) -> Picture:
    visible = entries[: shape.name_limit]
    drawn = [link for link in links if max(link.one, link.other) < len(visible)][: shape.most_links]
    largest = visible[0].count
    layout = place_names(shape, [entry.count / largest for entry in visible], drawn)
    dots = [
        Dot(
            entry,
            shorten(entry.label, shape.label_width),
            point.x,
            point.y,
            round(SMALLEST + (shape.largest - SMALLEST) * sqrt(entry.count / largest), 1),
        )
        for entry, point in zip(visible, layout.points, strict=True)
    ]
    strongest = drawn[0].shared if drawn else 1
    lines = [
        Line(dots[one].x, dots[one].y, dots[other].x, dots[other].y, round(1 + 4 * shared / strongest, 1))
        for one, other, shared in drawn
    ]
    return Picture(layout, dots, lines)
