"""Transactions that lost to another one, or whose database went away, are repeated as a whole, at the edge.

On one server that is a deadlock; on Galera also a conflicting commit (1213, at any statement or COMMIT) and a node that
left (1047): the next connection goes to another. Never repeated: after a COMMIT without an answer, or once another
transaction of the request is committed.
"""

import logging
import math
import random
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from flask import Flask, g, has_app_context, request
from redis.exceptions import RedisError
from sqlalchemy import Connection, event
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.orm import Session
from sqlalchemy.orm.exc import StaleDataError

from webapp.db.base import Base, db
from webapp.db.failures import LOST, database_is_away, error_code, savepoint_is_gone

log = logging.getLogger(__name__)

K = TypeVar("K")
T = TypeVar("T")

DEADLOCK, TIMED_OUT, NOT_READY = 1213, 1205, 1047
TRIES = 4
PAUSE_SECONDS = 0.05
"""The average pause before the second try; it is twice as long before the third, and so on."""
WITHIN_SECONDS = 2.0
"""Nothing is retried after this long: the caller must get an answer within five seconds."""
_REPEATABLE = ("", "application/json", "application/x-www-form-urlencoded")
"""Bodies that can be read twice; files are streams."""


def is_conflict(error: BaseException) -> bool:
    """Return whether a transaction failed for a reason that will be gone when it is repeated."""
    if isinstance(error, IntegrityError | StaleDataError):  # another one made or deleted the row: then it is seen
        return True
    if not isinstance(error, DBAPIError):
        return False
    code = error_code(error)
    if code in (DEADLOCK, TIMED_OUT) or savepoint_is_gone(error):
        return True
    # A COMMIT that is refused by a node without a cluster may have reached the others.
    return code == NOT_READY and error.statement is not None


def insert_unless_taken(row: Base) -> bool:
    """Insert a row; return False, with nothing changed, if another one has a key that is unique."""
    try:
        with db.session.begin_nested():
            db.session.add(row)
    except IntegrityError:
        return False
    return True


def forget_session() -> None:
    """Discard whatever the session has begun."""
    try:
        db.session.rollback()
    except Exception:  # the connection is dead: drop the session, and the pool drops the connection
        db.session.remove()


def repeat_on_conflict(
    work: Callable[[], T], may_repeat: Callable[[BaseException], bool] = is_conflict, seconds: float = math.inf
) -> T:
    """Return what `work` returns, repeated after a conflict within `seconds`; it is one transaction or idempotent."""
    start = time.monotonic()
    for number in range(1, TRIES):
        try:
            return work()
        except (DBAPIError, StaleDataError) as error:
            pause = PAUSE_SECONDS * number * random.uniform(0.5, 1.5)  # noqa: S311
            if time.monotonic() + pause - start > seconds or not may_repeat(error):
                raise
            log.info("transaction begun again", extra={"code": error_code(error), "tries": number})
            forget_session()
            time.sleep(pause)
    return work()


def run_each(steps: Mapping[K, Callable[[], T]]) -> dict[K, T]:
    """Run steps of which each has its own transactions, whichever of them fail; raise the errors once all are done.

    While the database or Redis is away the others would fail as well: that is raised at once.
    """
    results: dict[K, T] = {}
    errors: list[Exception] = []
    for name, step in steps.items():
        try:
            results[name] = step()
        except Exception as error:
            forget_session()
            if database_is_away(error) or isinstance(error, RedisError):
                raise
            error.add_note(f"in {name}")
            errors.append(error)
    if errors:
        raise errors[0] if len(errors) == 1 else ExceptionGroup("several steps failed", errors)
    return results


def init_conflicts(app: Flask) -> None:
    """Repeat a request whose only transaction is known to have had no effect."""
    app.preprocess_request = _repeat(app.preprocess_request)  # type: ignore[method-assign]  # who is it: the first to ask the database
    app.dispatch_request = _repeat(app.dispatch_request)  # type: ignore[method-assign]
    with app.app_context():
        event.listen(db.engine, "commit", _commit_begins)
    if not event.contains(db.session, "after_commit", _commit_done):
        event.listen(db.session, "after_commit", _commit_done)


def _repeat(step: Callable[..., Any]) -> Callable[..., Any]:
    def repeated(*args: Any) -> Any:
        if request.mimetype not in _REPEATABLE:
            return step(*args)
        g.commits_begun = g.commits_done = 0
        return repeat_on_conflict(lambda: step(*args), _is_repeatable, WITHIN_SECONDS)

    return repeated


def _is_repeatable(error: BaseException) -> bool:
    g.pop("idempotency", None)
    if is_conflict(error):
        return not g.commits_done
    return isinstance(error, DBAPIError) and error_code(error) in LOST and not g.commits_begun


def _commit_begins(_connection: Connection) -> None:
    if has_app_context() and "commits_begun" in g:
        g.commits_begun += 1


def _commit_done(session: Session) -> None:
    if not session.in_nested_transaction() and has_app_context() and "commits_done" in g:
        g.commits_done += 1
