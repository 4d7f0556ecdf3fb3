"""Checks that the values in an export fit their columns, no matter who wrote the file."""

import json
import math
import re
from collections.abc import Collection
from datetime import datetime
from typing import Any

from sqlalchemy import JSON, Boolean, Column, Date, DateTime, Enum, Float, Integer, LargeBinary, String, Text

from webapp.db.base import Base, Key, Timestamp
from webapp.http.validation import MAX_ID, MAX_TEXT_BYTES
from webapp.transfer.content import day, instant
from webapp.transfer.export_rows import NEVER

MOST_JSON = 4 * 1024**2
MOST_TEXT = 65_535
"""The most bytes in a TEXT column on MySQL and MariaDB."""
_ZERO = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
"""An escaped NUL character in JSON; after one more backslash it is only literal text."""
LONG = {
    "messages.content": MAX_TEXT_BYTES,
    "message_reasoning.content": MAX_TEXT_BYTES,
    "space_documents.content": 8 * 1024**2,
}


def attributes(model: type[Base], line: dict[str, Any], but: Collection[str] = ()) -> dict[str, Any]:
    """Return the values for a row from a line, by attribute of its model. Raises ValueError naming an unfit column."""
    values: dict[str, Any] = {}
    for attribute in model.__mapper__.column_attrs:
        column = attribute.columns[0]
        if not isinstance(column, Column) or column.name not in line or column.name in but or column.name in NEVER:
            continue
        if column.computed is not None or isinstance(column.type, LargeBinary):
            continue
        value = line[column.name]
        if value is None and not column.nullable:
            raise ValueError(f"{column.name} is missing")
        values[attribute.key] = None if value is None else check_value(column, value)
    return values


def check_value(column: Column[Any], value: Any) -> Any:
    """Return a value in the type of its column. Raises ValueError."""
    kind = column.type
    if isinstance(kind, Timestamp):
        time = instant(value)
        if time is None:
            raise ValueError(f"{column.name} is no time")
        return time
    if isinstance(kind, Date):
        if (date := day(value)) is None:
            raise ValueError(f"{column.name} is no day")
        return date
    if isinstance(kind, DateTime):
        try:
            return datetime.fromisoformat(str(value)).replace(tzinfo=None)
        except ValueError:
            raise ValueError(f"{column.name} is no local time") from None
    if isinstance(kind, Enum):
        if value not in kind.enums:
            raise ValueError(f"{column.name} is none of {', '.join(kind.enums)}")
        return value
    if isinstance(kind, Boolean):
        if value not in (0, 1):
            raise ValueError(f"{column.name} is neither true nor false")
        return bool(value)
    if isinstance(kind, Integer):
        return whole(value, column.name)
    if isinstance(kind, Float):
        return _number(value, column.name)
    if isinstance(kind, JSON):
        return plain_json(value, column.name)
    if isinstance(kind, String | Text | Key):
        return _text(column, value)
    raise ValueError(f"{column.name} cannot be read")


def whole(value: Any, name: str = "a number") -> int:
    """Return a whole number that fits into an INT. Raises ValueError."""
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > MAX_ID:
        raise ValueError(f"{name} is no whole number")
    return value


def moment(value: Any) -> datetime:
    """Return a moment. Raises ValueError."""
    time = instant(value)
    if time is None:
        raise ValueError("a time is missing")
    return time


def plain_json(value: Any, name: str) -> Any:
    """Return a JSON value of a size that can be stored. Raises ValueError."""
    try:
        encoded = json.dumps(value, allow_nan=False)
    except ValueError:
        encoded = ""
    if not encoded or len(encoded) > MOST_JSON or _ZERO.search(encoded):
        raise ValueError(f"{name} cannot be stored")
    return value


def _number(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{name} is no number")
    return float(value)


def _text(column: Column[Any], value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{column.name} is no text")
    text = value.replace("\x00", "").encode("utf-8", "replace").decode()
    length = getattr(getattr(column.type, "impl_instance", column.type), "length", None)
    limit = LONG.get(f"{column.table.name}.{column.name}", MOST_TEXT)
    if (length is not None and len(text) > length) or (length is None and len(text.encode()) > limit):
        raise ValueError(f"{column.name} is too long")
    return text
