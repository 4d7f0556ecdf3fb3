"""Enqueueing from the application: now, or after the current transaction has been committed.

A job that could not be enqueued is not lost: the sweep derives what is owed from the database.
"""

import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from redis import Redis
from redis.exceptions import RedisError
from rq.job import Job, JobStatus
from sqlalchemy import select
from sqlalchemy.orm import Session

from webapp.background.job_specs import JOBS, Ids, JobRequest, pending_job_id, pending_key, push
from webapp.db.base import Base, after_commit, db, pending_actions
from webapp.extensions import redis
from webapp.i18n.marks import N_
from webapp.llm import errors as model_errors
from webapp.llm.errors import (
    InterruptedAnswer,
    MissingKey,
    ModelError,
    ModelNotFound,
    ModelUnavailable,
    RateLimited,
    Unauthorized,
)

log = logging.getLogger(__name__)


_OWNED = {
    "conversation_id": "conversations",
    "document_id": "space_documents",
    "import_id": "imports",
    "export_id": "exports",
    "webhook_id": "webhooks",
}
"""The tables that say whose the work with an id is."""


def enqueue(
    name: str, *, turn_id: int | None = None, person: int | None = None, **ids: int | str | bool | None
) -> str | None:
    """Queue a job now; return its id, or None if one for the same ids waits. Raises RedisError.

    `person` is whose work it is, if known. Most callers want `enqueue_after_commit`.
    """
    return push(redis(), JobRequest(name, ids, turn_id, person=person or _owner(ids)))


def enqueue_owed(name: str, refs: Sequence[int | str]) -> int:
    """Queue the first of the jobs that the tables say are owed, until MAX_OWED wait; return how many were queued.

    Those that were asked for lately are passed over: what fails for ever holds up nothing behind it. Raises RedisError.
    """
    client, waiting, count = redis(), 0, 0
    requests = [JobRequest(name, {JOBS[name].of: ref}, is_swept=True) for ref in refs]
    for start in range(0, len(requests), _SCANNED):
        batch = requests[start : start + _SCANNED]
        marks = client.mget([pending_key(request.key) for request in batch])
        tokens = client.mget([_token(request.key) for request in batch])
        for request, mark, token in zip(batch, marks, tokens, strict=True):
            if mark is None and token is None:
                request.person = _owner(request.ids)
                if push(client, request) is not None:  # else one is already waiting: this was not a try
                    note_request(client, request.key)
                    count += 1
            waiting += mark is not None or token is None
            if waiting == MAX_OWED:
                return count
    return count


def enqueue_or_find(name: str, **ids: int | str | bool | None) -> str:
    """Queue a job now; return its id, or that of the one already waiting for the same ids. Raises RedisError."""
    request = JobRequest(name, ids, person=_owner(ids))
    for _ in range(3):  # the waiting one may be taken up between the two calls
        if job_id := push(redis(), request) or pending_job_id(redis(), request):
            return job_id
    raise RuntimeError(f"{name} is neither queued nor to be queued")


@dataclass(frozen=True, slots=True)
class Push:
    """A job to be put on its queue after a commit; if Redis is away, the sweep finds what is owed."""

    request: JobRequest

    def __call__(self) -> None:
        try:
            push(redis(), self.request)
        except RedisError as error:
            log.warning("job left to the sweep", extra={"job": self.request.name, "error": type(error).__name__})


def enqueue_after_commit(name: str, *, turn_id: int | None = None, **ids: int | str | bool | None) -> None:
    """Put a job on its queue once the current transaction is committed; nothing happens if it is rolled back."""
    if name not in JOBS:
        raise KeyError(name)
    after_commit(Push(JobRequest(name, ids, turn_id, person=_owner(ids))))


def _owner(ids: Ids) -> int | None:
    """Return the person whose work it is, for people to take turns; None if it is nobody's in particular, or gone."""
    if isinstance(user_id := ids.get("user_id"), int):
        return user_id
    for name, table in _OWNED.items():
        if name in ids:
            columns = Base.metadata.tables[table].c
            with db.session.no_autoflush:
                return db.session.scalar(select(columns.user_id).where(columns[name] == ids[name]))
    return None


def requests_after_commit(session: Session, name: str) -> list[JobRequest]:
    """Return the requests for a job that wait for the session's commit."""
    return [
        action.request
        for action in pending_actions(session)
        if isinstance(action, Push) and action.request.name == name
    ]


MIN_RETRY_SECONDS = 60
MAX_RETRY_SECONDS = 900
LATER_SECONDS, LATER_TRIES = 86_400, 7 * 86_400 // MAX_RETRY_SECONDS
"""After a week of failures it is asked for once a day: it costs little, and is never given up."""
_FORGOTTEN_SECONDS = 7 * 86_400
MAX_OWED = 200
"""The most jobs of one kind that wait because a sweep asked for them."""
_SCANNED = 1_000


def _token(key: str) -> str:
    return f"owed:{key}"


def _attempts_key(key: str) -> str:
    return f"owed:{key}:tries"


def note_request(client: Redis, key: str) -> None:
    """Record that a job was requested: it counts as a failure until it succeeds, because it may kill its worker."""
    tries = int(client.incr(_attempts_key(key)))
    longest = MAX_RETRY_SECONDS if tries < LATER_TRIES else LATER_SECONDS
    pause = min(MIN_RETRY_SECONDS * 2 ** min(tries - 1, 20), longest)
    with client.pipeline(transaction=False) as pipe:
        pipe.expire(_attempts_key(key), _FORGOTTEN_SECONDS)
        pipe.set(_token(key), b"1", ex=pause)
        pipe.execute()


def note_success(client: Redis, key: str) -> None:
    """Record that a job succeeded, or failed for a reason outside itself."""
    with client.pipeline(transaction=False) as pipe:
        pipe.delete(_attempts_key(key))
        pipe.set(_token(key), b"1", ex=MIN_RETRY_SECONDS, xx=True)
        pipe.execute()


_MODEL_ERRORS = N_(
    {
        kind.code: kind.default_detail
        for kind in reversed(vars(model_errors).values())
        if isinstance(kind, type) and issubclass(kind, ModelError)
    }
)


_MODEL_FAILURE = "background:model_failure"
_FAILURE_SECONDS = 86_400
_FAULTS = (ModelUnavailable, RateLimited, InterruptedAnswer, MissingKey, Unauthorized, ModelNotFound)
"""Failures that are about the model or its server, not about what it was given."""


def note_model(client: Redis, error: ModelError | None) -> None:
    """Record how a call of the model for background work ended: that it failed, or that it answers."""
    with suppress(RedisError):
        if isinstance(error, _FAULTS):
            client.set(_MODEL_FAILURE, error.code, ex=_FAILURE_SECONDS)
        else:
            client.delete(_MODEL_FAILURE)


def background_failure(client: Redis) -> str:
    """Return why the model failed background work last, empty if it works, or if Redis does not say."""
    try:
        code = client.get(_MODEL_FAILURE) or b""
        return _MODEL_ERRORS.get(code.decode() if isinstance(code, bytes) else code, "")
    except RedisError:
        return ""


def model_failure(job: Job) -> str | None:
    """Return why a model failed a job that has ended, in a sentence of our own: an exception's may hold anything."""
    result = job.latest_result() if job.get_status() in (JobStatus.FINISHED, JobStatus.FAILED) else None
    if result is None:
        return None
    if isinstance(result.return_value, dict):  # an error that no retry helps ends a job quietly
        return _MODEL_ERRORS.get(result.return_value.get("failed", ""))
    last = (result.exc_string or "").strip().rpartition("\n")[2]
    return next((detail for code, detail in _MODEL_ERRORS.items() if f": {code}: " in last), None)
