"""Queues, the jobs by name, and enqueueing after commit.

Web code names a job and gives it ids; `jobs/` holds the functions. A job that could not be enqueued (Redis away,
process killed between commit and enqueue) is not lost: the sweep derives what is owed from the database.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from enum import StrEnum

from flask import current_app
from redis.exceptions import RedisError
from rq import Queue as RQQueue
from rq import Retry
from rq.serializers import JSONSerializer
from sqlalchemy import event
from sqlalchemy.orm import Session

from webapp.database import db
from webapp.extensions import redis

log = logging.getLogger(__name__)


class Queue(StrEnum):
    """The queues, so that batch work never delays what a person is waiting for."""

    TURN = "turn"  # what follows a reply: title, memory, summary
    BATCH = "batch"  # indexing, digests, imports
    UPKEEP = "upkeep"  # sweep, purge


@dataclass(frozen=True)
class JobSpec:
    """How a job is run.

    function: dotted path of the RQ function; timeout: seconds; retries: seconds to wait before each further try.
    pending_seconds: for how long a queued, not yet started job of the same key absorbs further requests.
    """

    function: str
    queue: Queue
    timeout: int
    retries: tuple[int, ...]
    pending_seconds: int = 600


JOBS: dict[str, JobSpec] = {
    "title": JobSpec("jobs.titles.generate_title", Queue.TURN, timeout=90, retries=(5, 30, 120)),
    "sweep": JobSpec("jobs.upkeep.sweep", Queue.UPKEEP, timeout=120, retries=(10,), pending_seconds=60),
    "purge": JobSpec("jobs.upkeep.purge", Queue.UPKEEP, timeout=600, retries=(60,), pending_seconds=600),
}

RESULT_SECONDS = 3_600
FAILURE_SECONDS = 7 * 86_400


@dataclass
class Request:
    """A job somebody asked for: its name, its ids, the turn it reports to, and the key it is coalesced by."""

    name: str
    args: dict[str, int | str | bool | None] = field(default_factory=dict)
    turn_id: int | None = None

    @property
    def key(self) -> str:
        return ":".join([self.name, *(f"{name}={value}" for name, value in sorted(self.args.items()))])


def rq_queue(queue: Queue) -> RQQueue:
    """The RQ queue: JSON arguments only, so that nothing but ids is ever pickled."""
    return RQQueue(queue.value, connection=redis(), serializer=JSONSerializer)


def pending_key(key: str) -> str:
    """Redis key that marks a queued, not yet started job."""
    return f"job:pending:{key}"


def enqueue(name: str, *, turn_id: int | None = None, **args: int | str | bool | None) -> str | None:
    """Put a job on its queue now; the job's id, or None when one for the same ids is pending already.

    Raises redis.RedisError when Redis is away. Most callers want `enqueue_after_commit`.
    """
    return _push(Request(name, args, turn_id))


def enqueue_after_commit(name: str, *, turn_id: int | None = None, **args: int | str | bool | None) -> None:
    """Put a job on its queue once the current transaction is committed; nothing happens if it is rolled back."""
    if name not in JOBS:
        raise KeyError(name)
    db.session.info.setdefault("jobs", []).append(Request(name, args, turn_id))


def _push(request: Request) -> str | None:
    spec = JOBS[request.name]
    client = redis()
    marker = pending_key(request.key)
    if not client.set(marker, b"1", nx=True, ex=spec.pending_seconds):
        return None
    meta = {"name": request.name, "key": request.key, "turn_id": request.turn_id}
    try:
        job = rq_queue(spec.queue).enqueue_call(
            spec.function,
            kwargs=request.args,
            timeout=spec.timeout,
            result_ttl=RESULT_SECONDS,
            failure_ttl=FAILURE_SECONDS,
            retry=Retry(max=len(spec.retries), interval=list(spec.retries)) if spec.retries else None,
            description=request.key,
            meta=meta,
        )
    except RedisError:
        client.delete(marker)
        raise
    return job.id


def _flush(session: Session) -> None:
    for request in session.info.pop("jobs", []):
        try:
            _push(request)
        except RedisError as error:
            log.warning("job not enqueued, left to the sweep", extra={"job": request.name, "error": type(error).__name__})


def init_queueing() -> None:
    """Enqueue what a committed transaction asked for, forget what a rolled-back one did."""

    @event.listens_for(db.session, "after_commit")
    def _committed(session: Session):
        if not session.in_nested_transaction() and current_app:
            _flush(session)

    @event.listens_for(db.session, "after_rollback")
    def _rolled_back(session: Session):
        session.info.pop("jobs", None)
