"""The index that a statement reads along, for planners that know little about the rows and would choose another.

Neither MariaDB's nor SQLite's planner knows how values are distributed: that hardly any memory is pinned, or that one
person has nearly all of them. With ten thousand memories the wrong index costs a turn 5 to 15 ms.
"""

from __future__ import annotations

from typing import Any, TypeVar

from sqlalchemy import Select

from webapp.database import Base

Statement = TypeVar("Statement", bound=Select[*tuple[Any, ...]])


def along(statement: Statement, entity: type[Base], index: str) -> Statement:
    """The statement, reading a table along one of its indexes. It must have a condition on the index's first column."""
    led = statement.with_hint(entity, f"FORCE INDEX ({index})", "mysql")
    return led.with_hint(entity, f"INDEXED BY {index}", "sqlite")


def by_primary_key(statement: Statement, entity: type[Base]) -> Statement:
    """The statement; on SQLite it looks up the rows it names instead of scanning all rows of one person."""
    return statement.with_hint(entity, "NOT INDEXED", "sqlite")
