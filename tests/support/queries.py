"""SQL statements: counted, or executed on their own."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from flask import Flask
from sqlalchemy import Engine, Executable, Select, event

from webapp.db.base import db, write_transaction


@contextmanager
def count_queries(engine: Engine | None = None) -> Iterator[list[str]]:
    """Collects the statements sent inside the block, in any thread; without `engine` in an application context."""
    sent, engine = list[str](), engine or db.engine

    def note(_connection, _cursor, statement, *_rest) -> None:
        sent.append(statement)

    event.listen(engine, "before_cursor_execute", note)
    try:
        yield sent
    finally:
        event.remove(engine, "before_cursor_execute", note)


def execute(app: Flask, statement: Executable) -> None:
    """Execute a statement in a transaction of its own."""
    with app.app_context(), write_transaction():
        db.session.execute(statement)


def scalars(app: Flask, statement: Select[Any]) -> list[Any]:
    """Return the first column of what a statement finds."""
    with app.app_context():
        return list(db.session.scalars(statement))


def scalar(app: Flask, statement: Select[Any]) -> Any:
    """Return the first column of the first row that a statement finds; None without one."""
    return next(iter(scalars(app, statement)), None)
