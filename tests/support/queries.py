"""Counting SQL statements."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import event

from webapp.db.base import db


@contextmanager
def count_queries() -> Iterator[list[str]]:
    """Collects the statements sent inside the block, in any thread; the caller has an application context."""
    sent: list[str] = []

    def note(_connection, _cursor, statement, *_rest) -> None:
        sent.append(statement)

    event.listen(db.engine, "before_cursor_execute", note)
    try:
        yield sent
    finally:
        event.remove(db.engine, "before_cursor_execute", note)
