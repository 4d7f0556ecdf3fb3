"""Runs every job: application context, log context, one try/except, and messages to the turns waiting for it."""

import logging
import sys
import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache, partial, wraps
from typing import Any

from flask import Flask, current_app
from redis import Redis
from redis.exceptions import RedisError
from rq import Retry, get_current_job
from rq.job import Job

from webapp import create_app
from webapp.background import job_specs, queues
from webapp.background.queues import enqueue
from webapp.chat.turns import turnlog
from webapp.db import conflicts
from webapp.db.base import db, expect_writes
from webapp.db.failures import database_is_away, disk_takes_nothing
from webapp.errors import Unavailable, reason
from webapp.extensions import redis
from webapp.llm.errors import InterruptedAnswer, ModelError, ModelUnavailable, NoModel, RateLimited
from webapp.providers.priority import JobPreempted
from webapp.telemetry import logs, tracing
from webapp.telemetry.metrics import JOB, QUEUE_WAIT, recorder

log = logging.getLogger(__name__)

OUTAGES = (ModelUnavailable, RateLimited, InterruptedAnswer)
"""Failures that say nothing about the work itself: it may be asked for again as soon as the model answers."""
IN_PARTS = {"read_scans", "exam", "overview"}
"""Jobs that return whether there is more to do, and are then queued again, behind other people's."""


@dataclass
class Run:
    """The job that is running: the turns it reports to, and whether this is its last try, or one of the sweep's."""

    name: str
    turns: list[int] = field(default_factory=list)
    last_try: bool = True
    is_swept: bool = False


_run: ContextVar[Run | None] = ContextVar("job_run", default=None)


@cache
def worker_app() -> Flask:
    """Return the application of this worker, created before the first fork, without routes, which take 20 MB."""
    return create_app(serving=False)


def job(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function the job of that name in webapp/background/job_specs.py.

    It runs in an application context without an open transaction. A model error that a later try may cure, and any
    unexpected error, is raised to RQ, which retries as the spec says; one that no retry cures ends the job, logged.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def run(**ids: Any) -> Any:
            if current_app:  # already inside an application: a test, or a command
                return _run_traced(name, function, ids)
            with worker_app().app_context():
                return _run_traced(name, function, ids)

        run.job_name = name  # type: ignore[attr-defined]  # the guard test compares it with the spec
        return run

    return decorate


def is_last_try() -> bool:
    """Return whether the running job will not be tried again when it fails."""
    current = _run.get()
    return current is None or current.last_try


def report(kind: str, data: dict[str, Any]) -> None:
    """Send an event to the streams of the turns waiting for the running job."""
    current = _run.get()
    for turn_id in current.turns if current else ():
        try:
            turnlog.report(redis(), turn_id, kind, data)
        except RedisError:
            log.warning("turn not told", extra={"turn_id": turn_id, "event": kind})


def follow_with(name: str, **ids: int) -> None:
    """Queue another job for the waiting turns to wait for; without Redis it is left to the sweep or the user."""
    current = _run.get()
    turns = current.turns if current else []
    try:
        for turn_id in turns:
            with redis().pipeline(transaction=True) as pipe:  # or a key stays for good
                turnlog.note_pending_jobs(pipe, turn_id, [name])
                pipe.execute()
            enqueue(name, turn_id=turn_id, **ids)
        if not turns:
            enqueue(name, **ids)
    except RedisError:
        log.warning("job not queued", extra={"follows": name})


def _run_traced(name: str, function: Callable[..., Any], ids: dict[str, Any]) -> Any:
    rq_job = get_current_job()
    with tracing.span(f"job {name}", "consumer", (rq_job.meta or {}).get("traceparent") if rq_job else None):
        return _execute(name, function, ids, rq_job)


def _execute(name: str, function: Callable[..., Any], ids: dict[str, Any], rq_job: Job | None) -> Any:
    client = redis()
    run = Run(name)
    if rq_job is not None:
        run.turns = job_specs.note_start(client, job_specs.JobRequest(name, ids).key, rq_job.id)
        run.last_try = not rq_job.retries_left
        run.is_swept = bool(rq_job.meta.get("swept"))
    token = _run.set(run)
    logs.set_context(job=name, job_id=rq_job.id if rq_job else None, **ids, **tracing.ids())
    expect_writes()
    start, outcome = time.perf_counter(), "failed"
    try:
        result = conflicts.repeat_on_conflict(partial(_work, name, function, ids))
        # Scheduled jobs are worth a line only when something is wrong.
        level = logging.DEBUG if job_specs.JOBS[name].every else logging.INFO
        log.log(level, "job done", extra={"ms": round((time.perf_counter() - start) * 1000)})
        _allow_new_request(client, name, ids)
        _settle(client, run)
        outcome = "done"
        return result
    except JobPreempted:  # neither done nor failed: it goes back to its queue, as the job that it is
        db.session.rollback()
        job_specs.note_return(client, job_specs.JobRequest(name, ids).key, rq_job)
        outcome = "again"
        return Retry(max=sys.maxsize)
    except NoModel as error:  # nothing failed: what is owed is asked for once a model is connected
        db.session.rollback()
        log.info("job waits for a model")
        _settle(client, run)
        outcome = "again"
        return {"failed": error.code}
    except ModelError as error:
        db.session.rollback()
        log.warning("job failed: model", extra={"code": error.code, "last_try": run.last_try})
        error.is_logged = True  # type: ignore[attr-defined]  # for the worker, which would log it once more
        if isinstance(error, OUTAGES):
            _allow_new_request(client, name, ids)
        if error.retryable and not run.last_try:
            outcome = "again"
            raise
        _settle(client, run)
        # The sweep asks again for its own jobs: the list of failures is for what somebody has to look into.
        if error.retryable and not (run.is_swept and isinstance(error, OUTAGES)):
            raise
        return {"failed": error.code}
    except BaseException as error:  # JobOverdue and friends too: they are raised on, never swallowed
        db.session.rollback()
        if database_is_away(error) or disk_takes_nothing(error) or isinstance(error, RedisError | Unavailable):
            _allow_new_request(client, name, ids)
            log.warning("job failed: outage", extra={"error": reason(error), "last_try": run.last_try})
        else:
            log.exception("job failed", extra={"last_try": run.last_try})
        error.is_logged = True  # type: ignore[attr-defined]
        if run.last_try:
            _settle(client, run)
        else:
            outcome = "again"
        raise
    finally:
        db.session.remove()
        _measure(client, name, outcome, time.perf_counter() - start, rq_job)
        _run.reset(token)


def _work(name: str, function: Callable[..., Any], ids: dict[str, Any]) -> Any:
    result = function(**ids)
    if result and name in IN_PARTS:
        enqueue(name, **ids)
    db.session.commit()
    return result


def _measure(client: Redis, name: str, outcome: str, seconds: float, rq_job: Job | None) -> None:
    """Report now how long the job took and had waited: its process may end with it."""
    recorder.observe(JOB, seconds, name, outcome)
    tracing.note({"commonplace.job.outcome": outcome, "commonplace.job.try": _attempt_number(name, rq_job)})
    if rq_job is not None and (queued_at := rq_job.enqueued_at) is not None:
        waited = (datetime.now(UTC) - queued_at).total_seconds() - seconds
        queue = job_specs.JOBS[name].queue.value
        recorder.observe(QUEUE_WAIT, max(0.0, waited), queue)
        tracing.note({"commonplace.job.queue": queue, "commonplace.job.wait_seconds": max(0.0, waited)})
    recorder.flush(client)


def _attempt_number(name: str, rq_job: Job | None) -> int:
    """Return the number of this try, from 1."""
    left = rq_job.retries_left if rq_job is not None else None
    return 1 if left is None else len(job_specs.JOBS[name].retries) - left + 1


def _allow_new_request(client: Any, name: str, ids: dict[str, Any]) -> None:
    """Let the sweep ask for this again soon if it is owed: it succeeded, or failed for an external reason."""
    try:
        queues.note_success(client, job_specs.JobRequest(name, ids).key)
    except RedisError:
        log.warning("sweep not told", extra={"job": name})


def _settle(client: Any, run: Run) -> None:
    for turn_id in run.turns:
        try:
            turnlog.settle(client, turn_id, run.name)
        except RedisError:
            log.warning("turn not settled", extra={"turn_id": turn_id})
