"""The contents of an export, whichever program wrote it: plain data, made by the readers."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from email.utils import parsedate_to_datetime
from itertools import accumulate, islice
from typing import Any, Literal, Protocol

from webapp.i18n.dates import is_dated
from webapp.i18n.marks import N_
from webapp.memories.store.outside_proposals import Proposal
from webapp.text.provenance import Spans
from webapp.transfer.sources import Upload

Role = Literal["user", "assistant"]
_NUMBER = re.compile(r"-?\d{9,}(?:\.\d+)?")
LATEST = datetime(2038, 1, 1, tzinfo=UTC)
"""The end of a TIMESTAMP column, with room for any time zone."""


@dataclass(slots=True)
class ReadFile:
    """A file of a message: a member of the upload, or its bytes."""

    name: str
    member: str | None = None
    data: bytes | None = field(default=None, repr=False)


@dataclass(slots=True)
class ReadMessage:
    """One visible message; `source_id` is unique within its conversation and the same in every export of it, `thought`
    is what the model thought before it and `spans` what of it was not typed, where the export has that."""

    source_id: str
    role: Role
    content: str
    at: datetime | None = None
    model: str | None = None
    files: list[ReadFile] = field(default_factory=list)
    thought: str = ""
    spans: Spans = ()


OTHER_VERSIONS = N_("other versions")
HIDDEN = N_("hidden messages")
STEPS = N_("steps of tools")
MISSING_FILES = N_("files that are not in the export")
REFUSED_FILES = N_("files that cannot be attached")
CHANGES = N_("changes of documents that do not fit")


@dataclass(slots=True)
class ReadConversation:
    """A conversation as its owner last saw it; `left_out` counts what is not taken in, by its kind above."""

    source_id: str
    title: str | None
    messages: list[ReadMessage]
    created_at: datetime | None = None
    updated_at: datetime | None = None
    is_archived: bool = False
    is_pinned: bool = False
    folder: str | None = None
    tags: list[str] = field(default_factory=list)
    may_remember: bool = True
    left_out: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        """Give one without an id what stands for it: a digest of how it begins, or all without would be the same."""
        if not self.source_id and self.messages:
            first = f"{self.title} {self.created_at} {self.messages[0].content}"
            self.source_id = hashlib.sha256(first.encode("utf-8", "replace")).hexdigest()


@dataclass(frozen=True)
class ReadMemory(Proposal):
    """Something the other program remembered; `project` is the source id of the project it belongs to."""

    project: str | None = None


@dataclass(slots=True)
class ReadProject:
    """A project with its instructions and documents (name, text)."""

    source_id: str
    name: str
    description: str = ""
    instructions: str = ""
    documents: list[tuple[str, str]] = field(default_factory=list)


@dataclass(slots=True)
class Unreadable:
    """A part that could not be read, and why, in words for its owner."""

    place: str
    reason: str


Part = ReadConversation | ReadMemory | ReadProject | Unreadable


class Reader(Protocol):
    """Reads one format: `looks_like` peeks, `read` yields parts one by one and never holds a whole file."""

    name: str
    label: str

    def looks_like(self, upload: Upload) -> bool: ...
    def read(self, upload: Upload) -> Iterator[Part]: ...


def day(value: Any) -> date | None:
    """Return a day given as YYYY-MM-DD; None for anything else."""
    try:
        return date.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None


def instant(value: Any) -> datetime | None:
    """Return a moment as exports give it: (milli)seconds since 1970, ISO 8601, a mail's date, or one in an object as
    MongoDB and Firestore write it; None for anything else."""
    while isinstance(value, dict):
        value = next(filter(None, map(value.get, ("$date", "$numberLong", "seconds", "_seconds"))), None)
    try:
        if isinstance(value, bool) or value in (None, ""):
            return None
        if isinstance(value, int | float) or _NUMBER.fullmatch(str(value)):
            seconds = float(value)
            while 1e11 < seconds < 1e21:  # milliseconds, microseconds or nanoseconds
                seconds /= 1000
            moment = datetime.fromtimestamp(seconds, UTC)
        else:
            moment = _moment(str(value))
            moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return moment if is_dated(moment) and moment <= LATEST else None


def _moment(text: str) -> datetime:
    """Return a moment in ISO 8601, as in mails, or as SillyTavern writes it. Raises ValueError."""
    for form in (datetime.fromisoformat, parsedate_to_datetime):
        with suppress(ValueError):
            return form(text.removesuffix(" UTC"))
    return datetime.strptime(text, "%B %d, %Y %I:%M%p")  # noqa: DTZ007  # it names no zone


def is_true(value: Any) -> bool:
    """Return whether a field says yes, as a value or in a table's words."""
    return str(value or "").strip().lower() not in ("", "0", "false", "none", "null")


def by_id(items: Iterable[Any], field: str) -> dict[str, dict[str, Any]]:
    """Return the objects among some items by their id, or by their place for want of one of their own."""
    rows: dict[str, dict[str, Any]] = {}
    for place, item in enumerate(items):
        if isinstance(item, dict):
            key = str(item.get(field) or place)
            rows[f"{key}-{place}" if key in rows else key] = item
    return rows


def parse_line(line: bytes) -> dict[str, Any] | None:
    """Return the JSON object on a line; None if there is none."""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def text_or_none(value: Any) -> str | None:
    """Return a string that is not blank, stripped; None for anything else."""
    return value.strip() or None if isinstance(value, str) else None


def branch(parents: dict[str, str | None], leaf: str | None) -> list[str]:
    """Return the ids from the root to a leaf, oldest first; a circle ends the walk."""
    path: list[str] = []
    seen: set[str] = set()
    while leaf is not None and leaf in parents and leaf not in seen:
        seen.add(leaf)
        path.append(leaf)
        leaf = parents[leaf]
    return path[::-1]


def newest_leaf(parents: dict[str, str | None], times: dict[str, float]) -> str | None:
    """Return the leaf that was written last; the last one listed if times do not tell."""
    inner = {parent for parent in parents.values() if parent is not None}
    leaves = [node for node in parents if node not in inner] or list(parents)
    order = {node: position for position, node in enumerate(parents)}
    return max(leaves, key=lambda node: (times.get(node, 0.0), order[node]), default=None)


def count_omissions(rows: Sized, path: Sized, shown_count: int) -> Counter[str]:
    """Count what a conversation of `rows` leaves out if `shown_count` messages of the branch `path` are shown."""
    return +Counter({OTHER_VERSIONS: len(rows) - len(path), HIDDEN: len(path) - shown_count})


def parent_links(
    rows: Mapping[str, Mapping[str, Any]], field: str, times: Mapping[str, float]
) -> dict[str, str | None]:
    """Return the parent of each row, as its `field` names it. One that the export lacks stood below the row before the
    first that names it, in order of time; a row without a time has that of the one listed above it."""
    latest = accumulate(rows, lambda at, key: times.get(key, at), initial=0.0)
    order = dict(zip(rows, islice(latest, 1, None), strict=True))
    links: dict[str, str | None] = {}
    gaps: dict[str, str | None] = {}
    before = None
    for key in sorted(order, key=order.__getitem__):
        name = rows[key].get(field)
        parent = None if name in (None, "") else str(name)
        links[key] = parent if parent is None or parent in rows else gaps.setdefault(parent, before)
        before = key
    return {key: links[key] for key in rows}


def shown_path(
    rows: Mapping[str, dict[str, Any]], parent: str, leaf: object, get_time: Callable[[dict[str, Any]], datetime | None]
) -> list[str]:
    """Return the ids of the branch that was shown last, oldest first: the one that ends in `leaf`, else in the newest
    message; all of them, by their times if all have one, if no row names another in its field `parent`.
    """
    times = {key: moment.timestamp() for key, row in rows.items() if (moment := get_time(row))}
    parents = parent_links(rows, parent, times)
    if all(parent_key is None for parent_key in parents.values()):
        return sorted(rows, key=times.__getitem__) if len(times) == len(rows) else list(rows)
    return branch(parents, str(leaf) if str(leaf) in rows else newest_leaf(parents, times))
