"""Every background job by name, and putting one on its queue; needs Redis and RQ, nothing of the application."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from enum import StrEnum

from redis import Redis
from redis.exceptions import RedisError
from rq import Queue as RQQueue
from rq import Retry
from rq.serializers import JSONSerializer


class Queue(StrEnum):
    """The queues, most urgent first, so that batch work never delays what a person is waiting for."""

    TURN = "turn"  # what follows a reply: title, memory, summary
    UPKEEP = "upkeep"  # sweep, purge
    BATCH = "batch"  # indexing, digests, imports


@dataclass(frozen=True)
class JobSpec:
    """How a job is run.

    function: dotted path of the RQ function; timeout: seconds; retries: seconds to wait before each further try;
    pending_seconds: for how long a queued, not yet started job absorbs further requests for the same ids;
    every: seconds between runs of a scheduled job; cron: the same as a cron line in local time.
    """

    function: str
    queue: Queue
    timeout: int
    retries: tuple[int, ...]
    pending_seconds: int = 600
    every: int | None = None
    cron: str | None = None


JOBS: dict[str, JobSpec] = {
    "title": JobSpec("jobs.titles.generate_title", Queue.TURN, timeout=90, retries=(5, 30, 120)),
    "extract": JobSpec("jobs.memories.extract_memories", Queue.TURN, timeout=300, retries=(5, 30, 120)),
    "summary": JobSpec("jobs.summaries.summarise", Queue.TURN, timeout=300, retries=(10, 60, 300)),
    "index": JobSpec("jobs.indexing.index", Queue.BATCH, timeout=900, retries=(30, 120, 600)),
    "digest": JobSpec("jobs.digests.generate_digest", Queue.BATCH, timeout=300, retries=(60, 600)),
    "digests": JobSpec("jobs.digests.request_digests", Queue.BATCH, timeout=600, retries=(60,), cron="20 3 * * *"),
    "index_document": JobSpec("jobs.documents.index_document", Queue.BATCH, timeout=1_800, retries=(10, 60, 600)),
    "journey_report": JobSpec("jobs.journeys.make_journey_report", Queue.BATCH, timeout=300, retries=(10, 60)),
    "sweep": JobSpec("jobs.upkeep.sweep", Queue.UPKEEP, timeout=120, retries=(10,), pending_seconds=60, every=15),
    "purge": JobSpec("jobs.upkeep.purge", Queue.UPKEEP, timeout=600, retries=(60,), every=60),
}

RESULT_SECONDS = 3_600
FAILURE_SECONDS = 7 * 86_400
_TURNS_SECONDS = 3_600

Ids = dict[str, int | str | bool | None]


@dataclass
class JobRequest:
    """A job somebody asked for: its name, its ids, and the turn it reports to."""

    name: str
    ids: Ids = field(default_factory=dict)
    turn_id: int | None = None

    @property
    def key(self) -> str:
        """What requests for the same work have in common."""
        return ":".join([self.name, *(f"{name}={value}" for name, value in sorted(self.ids.items()))])


def pending_key(key: str) -> str:
    """Marks a queued, not yet started job."""
    return f"job:pending:{key}"


def turns_key(key: str) -> str:
    """The turns that wait for a queued, not yet started job."""
    return f"job:turns:{key}"


def rq_queue(client: Redis, queue: Queue) -> RQQueue:
    """The RQ queue: JSON arguments only, so that nothing but ids is ever stored."""
    return RQQueue(queue.value, connection=client, serializer=JSONSerializer)


def push(client: Redis, request: JobRequest) -> str | None:
    """Put a job on its queue; its id, or None when one for the same ids is queued and will do for this request too.

    Raises redis.RedisError when Redis is away.
    """
    spec, job_id = JOBS[request.name], str(uuid.uuid4())
    with client.pipeline(transaction=True) as pipe:
        if request.turn_id is not None:
            pipe.sadd(turns_key(request.key), request.turn_id)
            pipe.expire(turns_key(request.key), _TURNS_SECONDS)
        pipe.set(pending_key(request.key), job_id, nx=True, ex=spec.pending_seconds)
        first = pipe.execute()[-1]
    if not first:
        return None
    try:
        job = rq_queue(client, spec.queue).enqueue_call(
            spec.function,
            kwargs=request.ids,
            job_id=job_id,
            timeout=spec.timeout,
            result_ttl=RESULT_SECONDS,
            failure_ttl=FAILURE_SECONDS,
            retry=Retry(max=len(spec.retries), interval=list(spec.retries)) if spec.retries else None,
            description=request.key,
            meta={"name": request.name, "key": request.key},
        )
    except RedisError:
        client.delete(pending_key(request.key))
        raise
    return job.id


def pending(client: Redis, request: JobRequest) -> str | None:
    """The id of the queued, not yet started job for the same ids, if there is one."""
    found = client.get(pending_key(request.key))
    return found.decode() if found else None


def started(client: Redis, request_key: str, job_id: str) -> list[int]:
    """Note that a job has begun, so that later requests queue another; the turns it will report to.

    A retried job keeps the turns of its first try and takes on those that came since.
    """
    mine = f"job:turns:run:{job_id}"
    with client.pipeline(transaction=True) as pipe:
        pipe.delete(pending_key(request_key))
        pipe.sunionstore(mine, mine, turns_key(request_key))
        pipe.delete(turns_key(request_key))
        pipe.expire(mine, _TURNS_SECONDS)
        pipe.smembers(mine)
        return sorted(int(turn) for turn in pipe.execute()[-1])
