"""The ids and values in an export: what the ids became here, and whether values fit their columns."""

import json
import math
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from itertools import chain
from typing import Any

from sqlalchemy import JSON, Boolean, Column, Date, DateTime, Enum, Float, Integer, String, Text, insert, or_, select

from webapp.db.base import Base, db
from webapp.db.columns import Key, Timestamp
from webapp.http.validation import MAX_ID, MAX_TEXT_BYTES
from webapp.journeys.models import ConversationPoint, Journey
from webapp.spaces.originals import Original
from webapp.transfer.account_rows import is_exported
from webapp.transfer.field_values import day, instant
from webapp.transfer.models import RestoredRow
from webapp.transfer.sources import Upload

MAX_JSON = 4 * 1024**2
MAX_TEXT = 65_535
"""The most bytes in a TEXT column on MySQL and MariaDB."""
_ZERO = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
"""An escaped NUL character in JSON; after one more backslash it is only literal text."""
TEXT_LIMITS = {
    "messages.content": MAX_TEXT_BYTES,
    "message_reasoning.content": MAX_TEXT_BYTES,
    "space_documents.content": 8 * 1024**2,
}


def attributes(model: type[Base], line: dict[str, Any], but: Collection[str] = ()) -> dict[str, Any]:
    """Return the values for a row from a line, by attribute of its model. Raises ValueError naming an unfit column."""
    values: dict[str, Any] = {}
    for attribute in model.__mapper__.column_attrs:
        column = attribute.columns[0]
        if not isinstance(column, Column) or column.name not in line or column.name in but or not is_exported(column):
            continue
        value = line[column.name]
        if value is None and not column.nullable:
            raise ValueError(f"{column.name} is missing")
        values[attribute.key] = None if value is None else check_value(column, value)
    return values


def check_value(column: Column[Any], value: Any) -> Any:
    """Return a value in the type of its column. Raises ValueError."""
    kind = column.type
    if isinstance(kind, Enum):
        if value not in kind.enums:
            raise ValueError(f"{column.name} is none of {', '.join(kind.enums)}")
        return value
    if isinstance(kind, String | Text | Key):
        return _text(column, value)
    read, problem = next((how for of, how in _READ.items() if isinstance(kind, of)), (None, "cannot be read"))
    result = read(value) if read else None
    if result is None:
        raise ValueError(f"{column.name} {problem}")
    return result


def required_instant(value: Any) -> datetime:
    """Return the time in an exported field. Raises ValueError if there is none."""
    time = instant(value)
    if time is None:
        raise ValueError("a time is missing")
    return time


def _local_time(value: Any) -> datetime | None:
    with suppress(ValueError):
        return datetime.fromisoformat(str(value)).replace(tzinfo=None)
    return None


def _flag(value: Any) -> bool | None:
    return bool(value) if value in (0, 1) else None


def _whole_number(value: Any) -> int | None:
    return value if type(value) is int and abs(value) <= MAX_ID else None


def _number(value: Any) -> float | None:
    return float(value) if type(value) in (int, float) and math.isfinite(value) else None


def _json(value: Any) -> Any:
    """Return a JSON value of a size that can be stored; None for another."""
    with suppress(ValueError):
        encoded = json.dumps(value, allow_nan=False)
        return value if len(encoded) <= MAX_JSON and not _ZERO.search(encoded) else None
    return None


_READ: dict[type, tuple[Callable[[Any], Any], str]] = {
    Timestamp: (instant, "is no time"),
    Date: (day, "is no day"),
    DateTime: (_local_time, "is no local time"),
    Boolean: (_flag, "is neither true nor false"),
    Integer: (_whole_number, "is no whole number"),
    Float: (_number, "is no number"),
    JSON: (_json, "cannot be stored"),
}
"""How the values of a type of column are read, None for one that is none, and what is said then."""


def _text(column: Column[Any], value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{column.name} is no text")
    text = value.replace("\x00", "").encode("utf-8", "replace").decode()
    length = getattr(getattr(column.type, "impl_instance", column.type), "length", None)
    limit = TEXT_LIMITS.get(f"{column.table.name}.{column.name}", MAX_TEXT)
    if (length is not None and len(text) > length) or (length is None and len(text.encode()) > limit):
        raise ValueError(f"{column.name} is too long")
    return text


BATCH_SIZE = 500
FIELDS: dict[str, tuple[str, ...]] = {
    "change_set": ("change_set_id", "undoes_id"),
    "chunk": ("passage_id",),
    "conversation": ("conversation_id", "source_conversation_id", "only_conversation_id", "target_id"),
    "evidence": ("evidence",),
    "folder": ("folder_id",),
    "journey": ("journey_id",),
    "memory": ("memory_id", "superseded_by_id", "contradicts_id", "settled_with", "dismissed_memory_ids", "passage_id"),
    "message": (
        *("message_id", "source_message_id", "through_message_id"),
        *("message_range_start", "message_range_end", "passage_id"),
    ),
    "part": ("passage_id",),
    "point": ("point_id",),
    "point_evidence": ("evidence", "settled_conflicts"),
    "point_memory": ("point_memory_id",),
    "report": ("report_id",),
    "space": ("space_id", "target_id"),
}
"""The fields of lines that refer to each kind of row."""
REFERENCES = {name: tuple(kind for kind, names in FIELDS.items() if name in names) for name in chain(*FIELDS.values())}
"""And the kinds that a field may refer to."""


def references(lines: Sequence[dict[str, Any]]) -> Iterator[tuple[str, int]]:
    """Yield the rows that lines may refer to, by kind and id; of a conversation's messages, which are new, none."""
    stack: list[tuple[str, Any]] = [("", list(lines))]
    while stack:
        name, value = stack.pop()
        if isinstance(value, dict):
            stack += ((key, part) for key, part in value.items() if key != "messages")
        elif isinstance(value, list):
            stack += ((name, part) for part in value)
        elif is_id(value):
            yield from ((kind, value) for kind in REFERENCES.get(name, ()))


@dataclass
class RestoreBatch:
    """A restore while it writes a batch: whose it is, the file it reads, and which row became which."""

    import_id: int
    user_id: int
    upload: Upload
    originals: Mapping[int, Original] = field(default_factory=dict)
    """Of documents, by their ids in the export."""
    _ids: dict[str, dict[int, int | None]] = field(default_factory=dict)

    def look_up(self, lines: Sequence[dict[str, Any]]) -> None:
        """Read the ids that what lines refer to has here, a few hundred at a time, for later calls of `new`."""
        numbers: dict[str, set[int]] = defaultdict(set)
        for kind, number in references(lines):
            numbers[kind].add(number)
        for kind, old in numbers.items():
            self._read(kind, old)

    def _read(self, kind: str, old: set[int]) -> None:
        ids = self._ids.setdefault(kind, {})
        missing = sorted(old - ids.keys())
        for start in range(0, len(missing), BATCH_SIZE):
            chunk = missing[start : start + BATCH_SIZE]
            rows = select(RestoredRow.old_id, RestoredRow.new_id).where(
                RestoredRow.import_id == self.import_id, RestoredRow.kind == kind, RestoredRow.old_id.in_(chunk)
            )
            ids.update(dict.fromkeys(chunk))
            ids.update(dict(db.session.execute(rows).all()))

    def new(self, kind: str, old: Any) -> int | None:
        """Return the id here of a row of the export; None if it was not restored."""
        if not is_id(old):
            return None
        if old not in self._ids.get(kind, {}):
            self._read(kind, {old})
        return self._ids[kind][old]

    def new_ids(self, kind: str, olds: Iterable[Any] | None) -> list[int]:
        """Return the ids here of several rows of the export, without those that were not restored."""
        return [new for old in olds or () if (new := self.new(kind, old))]

    def note(self, kind: str, pairs: Iterable[tuple[Any, int]]) -> None:
        """Store which rows became which."""
        rows = [(old, new) for old, new in pairs if is_id(old)]
        if not rows:
            return
        db.session.execute(
            insert(RestoredRow),
            [{"import_id": self.import_id, "kind": kind, "old_id": old, "new_id": new} for old, new in rows],
        )
        self._ids.setdefault(kind, {}).update(rows)

    def snapshot(self) -> dict[str, dict[int, int | None]]:
        """Return what is known now, for `back_to` if a savepoint is rolled back."""
        return {kind: dict(ids) for kind, ids in self._ids.items()}

    def back_to(self, ids: dict[str, dict[int, int | None]]) -> None:
        """Return to an earlier snapshot."""
        self._ids = ids

    @cached_property
    def _journeys(self) -> dict[str, int]:
        """Return the ids of the journeys that the user may see here, by slug."""
        rows = select(Journey.slug, Journey.journey_id).where(
            or_(Journey.owner_id.is_(None), Journey.owner_id == self.user_id)
        )
        return dict(db.session.execute(rows).all())

    @cached_property
    def _points(self) -> dict[tuple[int, str], int]:
        rows = select(ConversationPoint.journey_id, ConversationPoint.slug, ConversationPoint.point_id)
        return {(journey_id, slug): point_id for journey_id, slug, point_id in db.session.execute(rows)}

    def journey(self, line: dict[str, Any]) -> int | None:
        """Return the journey of a line: a restored one, or else the one with that slug here."""
        return self.new("journey", line.get("journey_id")) or self._journeys.get(line.get("journey") or "")

    def point(self, line: dict[str, Any]) -> int | None:
        """Return the point of a line, found in the same way."""
        new_id = self.new("point", line.get("point_id"))
        journey_id = self._journeys.get(line.get("journey") or "")
        return new_id or (self._points.get((journey_id, line.get("point") or "")) if journey_id else None)


def is_id(value: Any) -> bool:
    """Return whether a value can be the id of a row."""
    return type(value) is int and 0 < value <= MAX_ID
