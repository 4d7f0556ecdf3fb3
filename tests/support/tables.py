"""Emptying the database between tests, fast: one query finds the tables that have rows."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import Connection, Engine, MetaData, text

from webapp.db.base import expect_writes

KEPT = frozenset({"memory_grades"})
"""Tables filled once for all tests: the scripted model has passed the exam."""


def empty_tables(engine: Engine, metadata: MetaData, keep: Collection[str] = KEPT) -> list[str]:
    """Delete every row of every table but some; return the names of the tables that had any."""
    expect_writes()  # on SQLite, the work of a turn may still be in the middle of a transaction of its own
    with engine.begin() as connection:
        filled = _filled(connection, [table.name for table in metadata.sorted_tables if table.name not in keep])
        if not filled:
            return []
        # Everything is deleted, so the order must not matter. SQLite then checks at the commit, when all is gone.
        on_sqlite = connection.dialect.name == "sqlite"
        unchecked = "PRAGMA defer_foreign_keys = ON" if on_sqlite else "SET SESSION foreign_key_checks = 0"
        connection.execute(text(unchecked))
        try:
            for name in filled:
                connection.execute(text(f"DELETE FROM {_quoted(connection, name)}"))
        finally:
            if not on_sqlite:
                connection.execute(text("SET SESSION foreign_key_checks = 1"))
    return filled


def _filled(connection: Connection, names: list[str]) -> list[str]:
    dual = "" if connection.dialect.name == "sqlite" else "FROM DUAL"
    asked = " UNION ALL ".join(
        f"SELECT '{name}' {dual} WHERE EXISTS (SELECT 1 FROM {_quoted(connection, name)})" for name in names
    )
    return list(connection.execute(text(asked)).scalars())


def _quoted(connection: Connection, name: str) -> str:
    return connection.dialect.identifier_preparer.quote(name)
