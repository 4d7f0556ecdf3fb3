"""Enqueueing from the application: now, or after the current transaction has been committed.

Web code names a job and gives it ids; `jobs/` holds the functions. A job that could not be enqueued (Redis away,
process killed between commit and enqueue) is not lost: the sweep derives what is owed from the database.
"""

from __future__ import annotations

import logging

from redis.exceptions import RedisError
from sqlalchemy import event
from sqlalchemy.orm import Session, SessionTransaction

from webapp.database import db
from webapp.extensions import redis
from webapp.jobspecs import JOBS, JobRequest, pending, push

log = logging.getLogger(__name__)


def enqueue(name: str, *, turn_id: int | None = None, **ids: int | str | bool | None) -> str | None:
    """Put a job on its queue now; its id, or None when one for the same ids is queued already.

    Raises redis.RedisError when Redis is away. Most callers want `enqueue_after_commit`.
    """
    return push(redis(), JobRequest(name, ids, turn_id))


def enqueue_or_find(name: str, **ids: int | str | bool | None) -> str:
    """Put a job on its queue now; its id, or that of the one for the same ids that waits already.

    Raises redis.RedisError when Redis is away.
    """
    request = JobRequest(name, ids)
    for _ in range(3):  # the waiting one may be taken up between the two questions
        if job_id := push(redis(), request) or pending(redis(), request):
            return job_id
    raise RuntimeError(f"{name} is neither queued nor to be queued")


def enqueue_after_commit(name: str, *, turn_id: int | None = None, **ids: int | str | bool | None) -> None:
    """Put a job on its queue once the current transaction is committed; nothing happens if it is rolled back."""
    if name not in JOBS:
        raise KeyError(name)
    db.session.info.setdefault("jobs", []).append(JobRequest(name, ids, turn_id))


def init_queueing() -> None:
    """Enqueue what a committed transaction asked for, forget what a rolled-back one did."""
    if event.contains(db.session, "after_commit", _committed):
        return
    event.listen(db.session, "after_commit", _committed)
    event.listen(db.session, "after_rollback", _rolled_back)
    event.listen(db.session, "after_transaction_create", _begun)


def _committed(session: Session) -> None:
    if session.in_nested_transaction():  # a released SAVEPOINT is not a commit
        return
    session.info.pop("jobs_before", None)
    for request in session.info.pop("jobs", []):
        try:
            push(redis(), request)
        except RedisError as error:
            log.warning("job left to the sweep", extra={"job": request.name, "error": type(error).__name__})


def _begun(session: Session, transaction: SessionTransaction) -> None:
    if transaction.nested:
        session.info.setdefault("jobs_before", {})[transaction] = len(session.info.get("jobs", []))


def _rolled_back(session: Session) -> None:
    """Forget what was asked for since the transaction, or the SAVEPOINT, began."""
    savepoint = session.get_nested_transaction()
    before = session.info.get("jobs_before", {}).pop(savepoint, 0)
    del session.info.get("jobs", [])[before:]
    if savepoint is None:
        session.info.pop("jobs_before", None)
