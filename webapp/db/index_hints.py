"""Hints along which index a statement reads its rows, and how many at a time.

Planners do not know that hardly any memory is pinned, or one person has nearly all: the wrong index costs a turn 5 to
15 ms.
"""

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar, cast

from sqlalchemy import Row, Select
from sqlalchemy.orm import InstrumentedAttribute

from webapp.db.base import Base, db

Statement = TypeVar("Statement", bound=Select[*tuple[Any, ...]])
Entity = TypeVar("Entity", bound=Base)
BATCH_SIZE = 40
"""Rows that may hold some kilobytes of JSON each, read into memory together."""


def use_index(statement: Statement, entity: type[Base], index: str) -> Statement:
    """Return the statement reading a table along an index, whose first column it must have a condition on."""
    led = statement.with_hint(entity, f"FORCE INDEX ({index})", "mysql")
    return led.with_hint(entity, f"INDEXED BY {index}", "sqlite")


def use_primary_key(statement: Statement, entity: type[Base]) -> Statement:
    """Return the statement; on SQLite it looks up the rows it names instead of scanning all rows of one person."""
    return statement.with_hint(entity, "NOT INDEXED", "sqlite")


def stream_rows(statement: Select[*tuple[Any, ...]]) -> Iterator[Row[*tuple[Any, ...]]]:
    """Yield any number of rows, never all in memory; send nothing else on the connection before the last."""
    return iter(db.session.execute(statement.execution_options(yield_per=BATCH_SIZE)))


def batches_to_change(statement: Select[Entity], key: InstrumentedAttribute[int]) -> Iterator[Sequence[Entity]]:
    """Yield the selected objects, a few at a time by key; each few may be changed and flushed, unlike `stream_rows`."""
    keys = sorted(db.session.scalars(statement.with_only_columns(key)))
    for start in range(0, len(keys), BATCH_SIZE):
        batch = statement.where(key.in_(keys[start : start + BATCH_SIZE])).order_by(key)
        yield db.session.scalars(use_primary_key(batch, cast("type[Base]", key.class_))).all()
