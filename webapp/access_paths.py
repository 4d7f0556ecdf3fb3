"""Along which index a statement reads, where a planner that knows little of the rows would take another.

Neither MariaDB's nor SQLite's knows how values are spread: that hardly any memory is pinned, or that one person has
nearly all of them. With ten thousand memories the wrong index costs a turn 5 to 15 ms.
"""

from __future__ import annotations

from typing import Any, TypeVar

from sqlalchemy import Select

from webapp.database import Base

Statement = TypeVar("Statement", bound=Select[*tuple[Any, ...]])


def along(statement: Statement, entity: type[Base], index: str) -> Statement:
    """The statement, reading a table along one of its indexes. The statement has to ask for its first column."""
    led = statement.with_hint(entity, f"FORCE INDEX ({index})", "mysql")
    return led.with_hint(entity, f"INDEXED BY {index}", "sqlite")


def by_primary_key(statement: Statement, entity: type[Base]) -> Statement:
    """The statement, on SQLite looking up the rows it names instead of walking through all of one person's."""
    return statement.with_hint(entity, "NOT INDEXED", "sqlite")
