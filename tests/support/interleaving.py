"""Lets things be done at once, something be committed between two statements of a job, or the job be killed at one."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import Connection, event
from sqlalchemy.exc import OperationalError

from tests.support.queries import listener
from webapp.db.base import db

_LOCK_WAIT = 1205


def at_once(*acts: Callable[[], Any]) -> list[Any]:
    """Return what these give, which run side by side and begin together. Raises what one of them raises."""
    gate = threading.Barrier(len(acts))
    with ThreadPoolExecutor(len(acts)) as threads:
        return list(threads.map(lambda act: (gate.wait(60), act())[1], acts))


class Gap:
    """One gap: whether something was committed in it, and whether the job ended before it came to it."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.is_reached = False
        self.is_closed = False
        """Whether a lock that the job holds keeps the other out."""


@contextmanager
def killed_at(begins: str, number: int = 1) -> Iterator[None]:
    """Within it, this thread dies at its statement (or "COMMIT") of that number that begins so."""
    engine, mine, count = db.engine, threading.get_ident(), 0

    def die(statement: str) -> None:
        nonlocal count
        if statement.startswith(begins) and threading.get_ident() == mine:
            count += 1
            if count == number:
                raise SystemExit(statement)

    def at_statement(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        die(statement)

    def at_commit(_connection: Any) -> None:
        die("COMMIT")

    with listener(engine, "before_cursor_execute", at_statement), listener(engine, "commit", at_commit):
        with pytest.raises(SystemExit):
            yield
        db.session.rollback()


@contextmanager
def meanwhile(app: Flask, number: int, act: Callable[[], None]) -> Iterator[Gap]:
    """Within it, `act` runs and commits, in a session of its own, after this thread's statement of that number."""
    gap, mine, count = Gap(number), threading.get_ident(), 0

    def run_other(_connection: Any, _cursor: Any, _statement: str, *_rest: Any) -> None:
        nonlocal count
        if threading.get_ident() != mine:
            return
        if count == number:
            gap.is_reached = True
            other = threading.Thread(target=_act, args=(app, act, gap))
            other.start()
            other.join()
        count += 1

    with listener(db.engine, "after_cursor_execute", run_other):
        yield gap


def _act(app: Flask, act: Callable[[], None], gap: Gap) -> None:
    with app.app_context():
        touched = []

        def wait_for_nothing(_session: Any, _transaction: Any, connection: Connection) -> None:
            """For each transaction: the next one of a session may have another connection of the pool."""
            connection.exec_driver_sql("SET SESSION innodb_lock_wait_timeout = 0")
            touched.append(connection.connection.dbapi_connection)

        event.listen(db.session(), "after_begin", wait_for_nothing)
        try:
            act()
        except OperationalError as error:
            if error.orig is None or error.orig.args[0] != _LOCK_WAIT:
                raise
            db.session.rollback()
            gap.is_closed = True
        finally:
            db.session.rollback()
            db.session.remove()
            for connection in touched:
                connection.cursor().execute("SET SESSION innodb_lock_wait_timeout = DEFAULT")


def in_each_gap(app: Flask, prepare: Callable[[], Callable[[], None]], act: Callable[[], None]) -> Iterator[Gap]:
    """For each gap of a job: `prepare` returns the job to run from a fresh state; the gap, once the job has run.

    Where the job keeps the other out, `act` runs right after it, as if it had waited.
    """
    number = 0
    while True:
        job = prepare()
        with meanwhile(app, number, act) as gap:
            job()
        db.session.remove()
        if not gap.is_reached:
            assert number, "a job that makes no statement has no gaps"
            return
        if gap.is_closed:
            act()
            db.session.remove()
        yield gap
        number += 1
