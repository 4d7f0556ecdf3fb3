"""Reading rows for an export: in batches, by column name, without what is never exported."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Column, ColumnElement, LargeBinary, Select, select

from webapp.db.base import Base, db

BATCH = 200
NEVER = frozenset(
    {
        *("embedding", "embedding_model", "password_hash", "token", "user_id", "statement_hash"),
        *("extraction_due", "index_due", "summary_due", "indexed_through", "report_due", "memory_version"),
        *("deleted_at", "shared_live_until", "before_change", "draft_of", "owner_id", "author_id", "sealed"),
    }
)
"""Columns that are never exported: they are secrets, can be computed again, or only mean something here."""

Rows = Iterator[dict[str, Any]]


@dataclass(frozen=True)
class ExportFile:
    """One file of an export: what it contains, the table its lines come from, and how a user's lines are read."""

    description: str
    model: type[Base]
    read: Callable[[int], Rows]
    extra: dict[str, str | dict[str, Any]] = field(default_factory=dict)
    """What a line has besides the columns of its table, with the JSON type or schema."""


def dump(row: Any) -> dict[str, Any]:
    """Return a row's columns by name, without those that are never exported."""
    fields = {}
    for attribute in row.__mapper__.column_attrs:
        column = attribute.columns[0]
        if isinstance(column, Column) and goes_out(column):
            fields[column.name] = getattr(row, attribute.key)
    return fields


def goes_out(column: Any) -> bool:
    """Return whether a column is part of an export."""
    return column.name not in NEVER and column.computed is None and not isinstance(column.type, LargeBinary)


def walk(statement: Select[Any], key: Any) -> Iterator[Any]:
    """Yield rows in the order of a key, in batches that no session holds any more: theirs may end in between."""
    last: Any = None
    while True:
        page = statement.order_by(key).limit(BATCH)
        rows = db.session.scalars(page if last is None else page.where(key > last)).all()
        if not rows:
            return
        last = getattr(rows[-1], key.key)
        db.session.expunge_all()
        yield from rows


def own_rows(
    model: Any, key: Any, condition: Callable[[int], ColumnElement[bool]] | None = None
) -> Callable[[int], Rows]:
    """Return a reader of rows with the user's id, or that meet a condition made from it."""

    def read(user_id: int) -> Rows:
        clause = condition(user_id) if condition else model.user_id == user_id
        for row in walk(select(model).where(clause), key):
            yield dump(row)

    return read
