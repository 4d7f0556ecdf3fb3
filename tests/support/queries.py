"""SQL statements: counted, or executed on their own."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from flask import Flask
from sqlalchemy import Engine, Executable, Select, event

from webapp.db.base import db, write_transaction


@contextmanager
def listener(target: Any, name: str, call: Callable[..., None]) -> Iterator[None]:
    """Have SQLAlchemy call something at an event until the block ends."""
    event.listen(target, name, call)
    try:
        yield
    finally:
        event.remove(target, name, call)


@contextmanager
def record_statements(engine: Engine | None = None) -> Iterator[list[tuple[str, Any]]]:
    """Collect the statements sent inside the block, in any thread, with their values; without `engine` in an
    application context.
    """
    sent: list[tuple[str, Any]] = []
    with listener(engine or db.engine, "before_cursor_execute", lambda *given: sent.append((given[2], given[3]))):
        yield sent


@contextmanager
def count_queries(engine: Engine | None = None) -> Iterator[list[str]]:
    """Collect the statements alone."""
    sent = list[str]()
    with listener(engine or db.engine, "before_cursor_execute", lambda *given: sent.append(given[2])):
        yield sent


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


def get_row(app: Flask, model: type[Any], key: Any) -> Any:
    """Return the row with a key, as it is stored; None without one."""
    with app.app_context():
        return db.session.get(model, key)


def change_row(app: Flask, model: type[Any], key: Any, **values: Any) -> None:
    """Change columns of the row with a key, in a transaction of its own."""
    with app.app_context(), write_transaction():
        row = db.session.get_one(model, key)
        for name, value in values.items():
            setattr(row, name, value)
