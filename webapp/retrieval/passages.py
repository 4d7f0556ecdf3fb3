"""Passages that are searched and found, and access to them: plain values, and the one predicate."""

from array import array
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from webapp.i18n.dates import full_date, is_dated

KINDS = ("memory", "chunk", "message", "document")
SPEAKERS = ("", "user", "assistant")
Key = tuple[str, int]
"""Kind and id of a passage."""
Place = tuple[str, int, int]
"""Kind, id and number of the piece."""
PIECES = 1 << 16
"""More than the number of pieces of any passage."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A text that can be found. `group_id` is its conversation or document, in which messages and document parts are
    neighbours in the order of their ids. For a long text it is one numbered piece, characters `start` to `end`, with
    their words as `text`; the pieces of a text are added together."""

    kind: str
    id: int
    text: str
    owner_id: int
    created_at: datetime
    space_id: int | None = None
    shared: bool = False
    group_id: int | None = None
    piece: int = 0
    start: int = 0
    end: int = 0
    speaker: str = ""

    @property
    def key(self) -> Key:
        return self.kind, self.id

    @property
    def place(self) -> Place:
        """Kind, id and piece."""
        return self.kind, self.id, self.piece


@dataclass(frozen=True, slots=True)
class Filter:
    """The passages that a search may return: from `since` until before `until`, messages of a `speaker` only.

    `only_conversation` leaves out messages and chunks of others; `verbatim` (conversation, message id) its own from
    that id on, which the prompt holds.
    """

    scope: "Scope"
    kinds: frozenset[str] = frozenset(KINDS)
    only_conversation: int | None = None
    verbatim: tuple[int, int] | None = None
    since: datetime | None = None
    until: datetime | None = None
    speaker: str = ""


# A reply goes through a few hundred of Hit and FoundPassage. Were they frozen, each field would be set by a separate
# call, which took three times as long; still, whoever finds them changes nothing but their scores.
@dataclass(slots=True)
class Hit:
    """A passage found. `parts` has `keyword` (0–1, relative to the best), `meaning`, the cosine with 1 at its model's
    floor, if known, and `coverage`: the share of the query's words, by rarity, that the passage itself has. `start` to
    `end` is the range in it."""

    kind: str
    id: int
    score: float
    reason: str
    matched: tuple[str, ...] = ()
    parts: Mapping[str, float] = field(default_factory=dict)
    start: int = 0
    end: int = 0

    @property
    def key(self) -> Key:
        return self.kind, self.id


@dataclass(slots=True)
class FoundPassage:
    """A passage as it is now. `role`, `title` and the ids of conversation and message are set if it has them.

    For a piece, `content` is its text, `start` where it begins and `length` that of the whole.
    """

    kind: str
    id: int
    content: str
    at: datetime
    score: float = 0.0
    reason: str = ""
    revision: int | None = None
    conversation_id: int | None = None
    message_id: int | None = None
    title: str | None = None
    role: str | None = None
    start: int = 0
    length: int = 0
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> Key:
        return self.kind, self.id

    def source(self, at: date) -> str:
        """Return where the passage comes from and the day, in words for the model."""
        day = full_date(at) if is_dated(at) else "undated"
        place = f' in "{self.title}"' if self.title else ""
        if self.kind == "message":
            return f"{day}{place}"
        if self.kind == "chunk":
            return f"summary of an earlier part{place}, {day}"
        if self.kind == "document":
            return f'document "{self.title}"'
        if self.extra.get("by"):
            return f"shared by {self.extra['by']}, {day}"
        return f"remembered {day}"

    def piece(self, hit: Hit, score: float) -> "FoundPassage":
        """Return the piece of the message that a hit refers to; all of it if it has become shorter."""
        start, part = self.start, self.content
        if 0 <= hit.start < hit.end <= len(part):
            start, part = hit.start, part[hit.start : hit.end]
        # Not `replace`, which takes several times as long: a reply looks through 64 of them.
        fields = self.revision, self.conversation_id, self.message_id, self.title, self.role, start, len(self.content)
        return FoundPassage(self.kind, self.id, part, self.at, score, hit.reason, *fields, self.extra)


@dataclass(frozen=True, slots=True)
class ReceiptItem:
    """A memory or passage that was considered for a prompt: for which part of it (`stage`), its rank there from 1, and
    whether the model saw it (`injected`), from one character to another if not all of it."""

    kind: str
    id: int
    revision: int | None
    stage: str
    rank: int
    score: float
    reason: str
    injected: bool
    from_char: int | None = None
    to_char: int | None = None


Group = tuple[str, int]
"""A kind and the id of its conversation or document."""


class Groups:
    """Rows by group, in the order of ids and, within an id, of pieces."""

    def __init__(self) -> None:
        self._members: dict[Group, tuple[array[int], array[int]]] = {}

    @property
    def nbytes(self) -> int:
        """Approximate bytes held."""
        return sum(2 * ids.itemsize * len(ids) + 300 for ids, _ in self._members.values())

    def put(self, passage: Passage, row: int) -> tuple[int | None, int | None]:
        """Add a row; returns the rows before and after it."""
        ids, rows = self._members.setdefault((passage.kind, passage.group_id or 0), (array("q"), array("l")))
        number = passage.id * PIECES + passage.piece
        place = bisect_left(ids, number)
        ids.insert(place, number)
        rows.insert(place, row)
        return rows[place - 1] if place else None, rows[place + 1] if place + 1 < len(rows) else None

    def remove(self, group: Group, passage_id: int) -> None:
        """Drop all pieces of a passage."""
        if group in self._members:
            ids, rows = self._members[group]
            first, after = bisect_left(ids, passage_id * PIECES), bisect_left(ids, (passage_id + 1) * PIECES)
            del ids[first:after], rows[first:after]

    def renumber(self, renumbered: NDArray[np.int32]) -> None:
        """Update the rows to their new numbers, given by old row."""
        for ids, rows in self._members.values():
            rows[:] = array("l", renumbered[np.array(rows, np.int64)].tolist()) if ids else rows
        self._members = {group: entry for group, entry in self._members.items() if entry[0]}


NO_OWNER = 0
"""The owner of documents: they belong to their space, whoever added them, so that only its members see them."""
NO_SPACE = 0
"""Space number of personal passages in columns."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The user who searches, with their spaces, or one `space_id`; `only` are a program's (NO_SPACE: in none)."""

    user_id: int
    member_of: frozenset[int] = frozenset()
    space_id: int | None = None
    only: frozenset[int] | None = None


def may_see(scope: Scope, owner_id: int, space_id: int | None, shared: bool) -> bool:
    """Return whether a passage is visible: one's own, or shared in one's space; with `space_id` only that space's."""
    if scope.space_id is not None and space_id != scope.space_id:
        return False
    if scope.only is not None and (space_id or NO_SPACE) not in scope.only:
        return False
    return owner_id == scope.user_id or (shared and space_id is not None and space_id in scope.member_of)


def visible_rows(
    scope: Scope, owners: NDArray[Any], spaces: NDArray[Any], shared: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Apply `may_see` to columns (n each; NO_SPACE for none) and return a mask."""
    mask = owners == scope.user_id
    if scope.member_of:
        members = np.fromiter(scope.member_of, np.int64)
        mask = mask | (shared & (spaces != NO_SPACE) & np.isin(spaces, members))
    if scope.space_id is not None:
        mask = mask & (spaces == scope.space_id)
    if scope.only is not None:
        mask = mask & np.isin(spaces, np.fromiter(scope.only, np.int64))
    return np.asarray(mask, np.bool_)
