"""Reading rows for an export: in batches, by column name, without what is never exported."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sqlalchemy import Column, ColumnElement, LargeBinary, select

from webapp.db.base import Base, db, table_of

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
Row = TypeVar("Row", bound=Base)


Condition = Callable[[int], ColumnElement[bool]]
"""Makes, from the id of a user, the condition for rows that are theirs."""


@dataclass(frozen=True)
class ExportFile:
    """One file of an export: what it contains, the table its lines come from, and how a user's lines are read.

    Without a reader they are the rows with the user's id. `extra` is what a line has besides the columns of its table,
    with the JSON type or schema.
    """

    description: str
    model: type[Base]
    reader: Callable[[int], Rows] | None = None
    extra: dict[str, str | dict[str, Any]] = field(default_factory=dict)

    def read(self, user_id: int) -> Rows:
        """Yield a user's lines."""
        return (self.reader or own_rows(self.model))(user_id)


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


def walk(model: type[Row], condition: ColumnElement[bool]) -> Iterator[Row]:
    """Yield the rows of a model that meet a condition by their key, in batches that no session holds any more.

    The session of one batch may have ended before the next is read: an export is written in slices.
    """
    *_, column = table_of(model).primary_key.columns  # before it, if there is more, comes the user's id
    key = getattr(model, column.key)
    page = select(model).where(condition).order_by(key).limit(BATCH)
    last: Any = None
    while rows := db.session.scalars(page if last is None else page.where(key > last)).all():
        last = getattr(rows[-1], column.key)
        db.session.expunge_all()
        yield from rows


def own_rows(model: Any, condition: Condition | None = None) -> Callable[[int], Rows]:
    """Return a reader of rows with the user's id, or that meet a condition made from it."""

    def read(user_id: int) -> Rows:
        return map(dump, walk(model, condition(user_id) if condition else model.user_id == user_id))

    return read
