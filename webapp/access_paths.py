"""How a statement reads its rows: along which index, for planners that know little about the rows and would choose
another, and how many at a time.

Neither MariaDB's nor SQLite's planner knows how values are distributed: that hardly any memory is pinned, or that one
person has nearly all of them. With ten thousand memories the wrong index costs a turn 5 to 15 ms.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

from sqlalchemy import Row, Select

from webapp.database import Base, db

Statement = TypeVar("Statement", bound=Select[*tuple[Any, ...]])
AT_ONCE = 40
"""Rows that may hold some kilobytes of JSON each, read into memory together."""


def along(statement: Statement, entity: type[Base], index: str) -> Statement:
    """The statement, reading a table along one of its indexes. It must have a condition on the index's first column."""
    led = statement.with_hint(entity, f"FORCE INDEX ({index})", "mysql")
    return led.with_hint(entity, f"INDEXED BY {index}", "sqlite")


def by_primary_key(statement: Statement, entity: type[Base]) -> Statement:
    """The statement; on SQLite it looks up the rows it names instead of scanning all rows of one person."""
    return statement.with_hint(entity, "NOT INDEXED", "sqlite")


def a_few_at_a_time(statement: Select[*tuple[Any, ...]]) -> Iterator[Row[*tuple[Any, ...]]]:
    """The rows of a statement that may have any number of them, never all in memory.

    Send nothing else before the last has been read: MySQL's connections do one thing at a time.
    """
    return iter(db.session.execute(statement.execution_options(yield_per=AT_ONCE)))
