"""Extraction that somebody asked for, or that is owed: of a whole conversation, in as many jobs as it takes.

Progress, and a request to stop, are in Redis; without it only that record is lost.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta

from redis.exceptions import RedisError
from rq.exceptions import NoSuchJobError
from rq.job import Job
from rq.serializers import JSONSerializer
from sqlalchemy import select

from webapp.background.queues import enqueue_or_find, model_failure
from webapp.conversations.current_messages import count_current
from webapp.conversations.models import Conversation
from webapp.conversations.service import get_conversation
from webapp.db.base import db, now
from webapp.errors import Conflict
from webapp.extensions import redis
from webapp.memories.learning import inputs
from webapp.memories.learning.extraction import extract
from webapp.memories.learning.later_domains import COUNTS, Result, reader_of
from webapp.memories.prompt.conversation_memory import memory_is_on

IDLE_SECONDS = 60
RUN_SECONDS = 86_400
SYNC_RUNS = 5

PENDING_STATUSES = ("queued", "started", "deferred", "created")
"""RQ's statuses of a job that has not ended; one that waits for its next try is "scheduled"."""


@dataclass(frozen=True)
class Run:
    """The progress of a run of jobs: messages read and `unreadable`, of how many, the result, the current job."""

    job_id: str = ""
    read: int = 0
    of: int = 0
    stopped: bool = False
    ended: bool = False
    unreadable: int = 0
    counts: dict[str, int] = field(default_factory=dict)


def request_extraction(user_id: int, conversation_id: int) -> str:
    """Queue a requested extraction; return the job's id, new or waiting. Raises NotFound, Conflict without memory."""
    from_start, after = _first_to_read(user_id, conversation_id)
    run = run_of(conversation_id)
    if run and not run.stopped and progress_of(conversation_id, run.job_id).state == "working":
        return run.job_id
    _begin(conversation_id, after)
    return _queue(conversation_id, {"from_start": True} if from_start else {})


def extract_now(user_id: int, conversation_id: int) -> tuple[Result, str | None]:
    """Extract memories at once; return the result and the job for the rest. Raises NotFound, Conflict, ModelError."""
    from_start, after = _first_to_read(user_id, conversation_id)
    with suppress(RedisError):
        _begin(conversation_id, after)
    db.session.rollback()
    total = Result()
    for _ in range(SYNC_RUNS):
        total = total.plus(extract(conversation_id, from_start, after))
        after = total.last_id
        if not total.has_more:
            break
    with suppress(RedisError):
        return total, queue_rest(conversation_id, total, from_start)
    return total, None


def queue_rest(conversation_id: int, result: Result, from_start: bool) -> str | None:
    """Record what a job read, and queue the next one if messages remain; return its id, else None."""
    client, key = redis(), _key(conversation_id)
    run = run_of(conversation_id)
    if run is not None:
        read = count_current(conversation_id, "user", after=int(client.hget(key, "base") or 0), through=result.last_id)
        with client.pipeline() as pipe:
            pipe.hset(key, "read", min(run.of, read))
            for name, count in result.counts.items():
                if count:
                    pipe.hincrby(key, f"count:{name}", count)
            if result.unreadable:
                pipe.hincrby(key, "unreadable", result.unreadable)
            pipe.expire(key, RUN_SECONDS)
            pipe.execute()
    if not result.has_more or (run is not None and run.stopped):
        if run is not None:
            client.hset(key, "ended", 1)
        return None
    return _queue(conversation_id, {"from_start": True, "after": result.last_id} if from_start else {})


def _queue(conversation_id: int, place: dict[str, int | bool]) -> str:
    """Queue a job, and note it as that of the run, if there is one; returns its id."""
    job_id = enqueue_or_find("extract", conversation_id=conversation_id, **place)
    if redis().exists(key := _key(conversation_id)):
        redis().hset(key, "job_id", job_id)
    return job_id


def stop(user_id: int, conversation_id: int) -> None:
    """End a run after its current job; memories extracted so far stay. Raises NotFound."""
    get_conversation(user_id, conversation_id)
    if run_of(conversation_id) is not None:
        redis().hset(_key(conversation_id), "stopped", 1)


def run_of(conversation_id: int) -> Run | None:
    """Return the latest run over a conversation, if there was one within a day."""
    fields = {_text(name): _text(value) for name, value in redis().hgetall(_key(conversation_id)).items()}
    if not fields:
        return None
    counts = {name.removeprefix("count:"): int(value) for name, value in fields.items() if name.startswith("count:")}
    return Run(
        fields.get("job_id", ""),
        int(fields.get("read", 0)),
        int(fields.get("of", 0)),
        "stopped" in fields,
        "ended" in fields,
        int(fields.get("unreadable", 0)),
        {name: counts.get(name, 0) for name in COUNTS},
    )


@dataclass(frozen=True)
class Progress:
    """The state of a requested extraction: `working`, `waiting` to ask an unavailable model again, `done` with its
    counts, or `failed` with nothing lost, and the reason if the model gave one.
    """

    state: str
    run: Run | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    reason: str | None = None


def progress_of(conversation_id: int, job_id: str) -> Progress:
    """Return the state of the extraction that this job began, whichever job has it now."""
    run = run_of(conversation_id)
    job = _job(job_id)
    if job is not None and run is not None and run.job_id:
        job = _job(run.job_id)  # one job of a run continues where another ended
    if job is None or job.kwargs.get("conversation_id") != conversation_id:
        return Progress("failed")
    status = job.get_status()
    result = job.return_value() if status == "finished" else None
    counts = result if isinstance(result, dict) and "failed" not in result else None
    if status == "scheduled":
        return Progress("waiting", run)
    if status in PENDING_STATUSES or (counts is not None and run is not None and not run.ended):
        return Progress("working", run)
    if counts is not None:
        return Progress("done", run, run.counts if run else counts)
    return Progress("failed", run, reason=model_failure(job))


def _job(job_id: str) -> Job | None:
    with suppress(NoSuchJobError):
        return Job.fetch(job_id, connection=redis(), serializer=JSONSerializer)
    return None


def due_extractions() -> Sequence[int]:
    """Return conversations waiting for an extraction that have been idle for a while, the most recent first."""
    return db.session.scalars(
        select(Conversation.conversation_id)
        .where(
            Conversation.extraction_due == db.true(),
            Conversation.updated_at < now() - timedelta(seconds=IDLE_SECONDS),
            Conversation.deleted_at.is_(None),
        )
        .order_by(Conversation.updated_at.desc())
    ).all()


def _first_to_read(user_id: int, conversation_id: int) -> tuple[bool, int]:
    """Return whether to read all again, since nothing is new, and the message after which to read.

    In a legacy, whose summaries keep no record, all is read.
    """
    conversation = get_conversation(user_id, conversation_id)
    if not memory_is_on(conversation):
        raise Conflict("Memory is switched off here.")
    if not conversation.makes_memory:
        raise Conflict("This conversation only reads memory; it does not create any.")
    watermark = conversation.extracted_through or 0
    is_all = reader_of()(conversation) is not None or not inputs.has_newer(conversation, watermark)
    return is_all, 0 if is_all else watermark


def _begin(conversation_id: int, base: int) -> None:
    """Drop the record of an earlier run and begin one after a message."""
    client, key = redis(), _key(conversation_id)
    with client.pipeline() as pipe:
        pipe.delete(key)
        pipe.hset(key, mapping={"base": base, "of": count_current(conversation_id, "user", after=base), "read": 0})
        pipe.expire(key, RUN_SECONDS)
        pipe.execute()


def _text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value


def _key(conversation_id: int) -> str:
    return f"extraction:run:{conversation_id}"
