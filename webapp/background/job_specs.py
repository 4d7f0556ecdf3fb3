"""Every background job by name, and how to queue one; needs Redis and RQ, but not the application."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import cast

from redis import Redis
from redis.client import Pipeline
from rq import Queue as RQQueue, Retry
from rq.exceptions import DeserializationError
from rq.job import Job, JobStatus
from rq.serializers import JSONSerializer

from webapp.llm.settings import ModelSettings
from webapp.telemetry import tracing


class Queue(StrEnum):
    """The queues, most urgent first, so that batch work never delays what a person is waiting for."""

    TURN = "turn"  # what follows a reply: title, memory, summary
    UPKEEP = "upkeep"  # sweep, purge, mail that somebody is waiting for
    INDEX = "index"  # vectors, documents, imports, exports, webhooks: in slices, as none needs the language model
    BATCH = "batch"  # digests, reports, overviews


WORKERS = ((Queue.TURN, Queue.BATCH), (Queue.INDEX,), (Queue.UPKEEP,))
"""The queues of each process that `python -m jobs.worker` runs: what calls the language model, which may take minutes;
what people's data takes, a slice at a time; and what must never wait for either."""


@dataclass(frozen=True)
class JobSpec:
    """The way a job is run.

    function: dotted path of the RQ function; timeout: seconds, not counting waits for the language model; retries:
    seconds to wait before each further try; model_calls: the most calls of the language model, one after the other; of:
    the id by which the sweep asks for it; every: seconds between runs of a scheduled job; is_nightly: the sweep asks
    for it once a night.
    """

    function: str
    queue: Queue
    timeout: int
    retries: tuple[int, ...]
    model_calls: int = 0
    of: str = "conversation_id"
    every: int | None = None
    is_nightly: bool = False


JOBS: dict[str, JobSpec] = {
    "title": JobSpec("jobs.model_work.generate_title", Queue.TURN, timeout=30, retries=(5, 30, 120), model_calls=2),
    "mail": JobSpec("jobs.upkeep.send_mail", Queue.UPKEEP, timeout=60, retries=(10, 60, 300, 1_800), of="mail_id"),
    "extract": JobSpec("jobs.model_work.extract_memories", Queue.TURN, timeout=60, retries=(5, 30, 120), model_calls=3),
    "summary": JobSpec("jobs.model_work.summarise", Queue.TURN, timeout=60, retries=(10, 60, 300), model_calls=3),
    "index": JobSpec("jobs.data_work.index", Queue.INDEX, timeout=900, retries=(30, 120, 600), of="user_id"),
    "digest": JobSpec("jobs.model_work.generate_digest", Queue.BATCH, timeout=60, retries=(60, 600), model_calls=3),
    "digests": JobSpec("jobs.model_work.request_digests", Queue.BATCH, timeout=600, retries=(60,), is_nightly=True),
    "overview": JobSpec("jobs.model_work.make_overview", Queue.BATCH, timeout=60, retries=(60, 600), model_calls=3),
    "overviews": JobSpec("jobs.model_work.request_overviews", Queue.BATCH, timeout=600, retries=(60,), is_nightly=True),
    "tidy": JobSpec("jobs.model_work.tidy_memories", Queue.BATCH, 60, retries=(60, 600), model_calls=2, of="user_id"),
    "exam": JobSpec("jobs.model_work.examine_model", Queue.BATCH, 60, retries=(60, 600), model_calls=2, of="model"),
    "portrait": JobSpec(
        "jobs.model_work.write_portrait", Queue.BATCH, 60, retries=(60, 600), model_calls=2, of="user_id"
    ),
    "tidying": JobSpec("jobs.model_work.request_tidying", Queue.BATCH, 600, retries=(60,), is_nightly=True),
    "index_document": JobSpec(
        "jobs.data_work.index_document", Queue.INDEX, timeout=1_800, retries=(10, 60, 600), of="document_id"
    ),
    "journey_report": JobSpec(
        "jobs.model_work.make_journey_report", Queue.BATCH, timeout=300, retries=(10, 60), model_calls=2
    ),
    "look_at_import": JobSpec(
        "jobs.data_work.look_at_import", Queue.INDEX, timeout=3_600, retries=(30, 300), of="import_id"
    ),
    "import": JobSpec("jobs.data_work.run_import", Queue.INDEX, timeout=3_600, retries=(30, 120, 600), of="import_id"),
    "undo_import": JobSpec(
        "jobs.data_work.undo_import", Queue.INDEX, timeout=3_600, retries=(30, 120, 600), of="import_id"
    ),
    "learn": JobSpec(
        "jobs.model_work.learn", Queue.BATCH, timeout=300, retries=(60, 600), model_calls=5, of="import_id"
    ),
    "export": JobSpec("jobs.data_work.make_export", Queue.INDEX, timeout=3_600, retries=(30, 300), of="export_id"),
    "delete_account": JobSpec(
        "jobs.data_work.delete_account", Queue.INDEX, timeout=3_600, retries=(30, 120, 600), of="user_id"
    ),
    "deliver": JobSpec("jobs.data_work.deliver", Queue.INDEX, timeout=300, retries=(30, 300), of="webhook_id"),
    "read_scans": JobSpec("jobs.data_work.read_scans", Queue.INDEX, timeout=900, retries=(30, 300), of="file_id"),
    "point_vectors": JobSpec(
        "jobs.data_work.embed_journey_points", Queue.INDEX, timeout=300, retries=(30, 300), of="journey_id"
    ),
    "scheduled_turn": JobSpec(
        "jobs.model_work.send_scheduled", Queue.BATCH, timeout=900, retries=(10, 60), of="run_id"
    ),
    "schedule_mail": JobSpec("jobs.data_work.mail_end", Queue.INDEX, timeout=150, retries=(10, 60), of="run_id"),
    "push": JobSpec("jobs.data_work.notify_browsers", Queue.INDEX, timeout=60, retries=(30, 300), of="message_id"),
    "sweep": JobSpec("jobs.upkeep.sweep", Queue.UPKEEP, timeout=120, retries=(10,), every=15),
    "sweep_files": JobSpec("jobs.upkeep.sweep_files", Queue.INDEX, timeout=3_600, retries=(60, 600), every=3_600),
    "purge": JobSpec("jobs.upkeep.purge", Queue.UPKEEP, timeout=600, retries=(60,), every=60),
}


def seconds_for(spec: JobSpec, model: ModelSettings) -> int:
    """Return how long a job may take if each of its model calls takes as long as allowed, with all its retries."""
    tries = model.max_retries + 1
    call = tries * (model.connect_timeout + model.request_timeout) + model.max_retries * model.max_retry_wait
    return spec.timeout + round(spec.model_calls * call)


_BY_FUNCTION = {spec.function: spec for spec in JOBS.values()}


def spec_of(job: Job) -> JobSpec | None:
    """Return the way a job is run: by its name, which lasts, or without one by its function; None if it is not ours."""
    return JOBS.get((job.meta or {}).get("name", "")) or _BY_FUNCTION.get(job.func_name or "")


RESULT_SECONDS = 3_600
FAILURE_SECONDS = 7 * 86_400
_TURNS_SECONDS = 3_600
_MARKER_SECONDS = 86_400

Ids = dict[str, int | str | bool | None]


@dataclass
class JobRequest:
    """A requested job: its name, ids, the turn it reports to, and whose work it is; RQ retries none of the sweep's."""

    name: str
    ids: Ids = field(default_factory=dict)
    turn_id: int | None = None
    is_swept: bool = False
    person: int | None = None

    @property
    def key(self) -> str:
        """Return the key that requests for the same work share."""
        return ":".join([self.name, *(f"{name}={value}" for name, value in sorted(self.ids.items()))])


def pending_key(key: str) -> str:
    """Return the key that marks a queued, not yet started job."""
    return f"job:pending:{key}"


def turns_key(key: str) -> str:
    """Return the key of the turns waiting for a queued, not yet started job."""
    return f"job:turns:{key}"


class PlainJob(Job):
    """A job and nothing else: RQ would call any callback that Redis names, and send to any webhook it names."""

    success_callback = failure_callback = stopped_callback = property(lambda _job: None)

    def send_webhooks(self, status: str | JobStatus, *, exc_string: str | None = None) -> None:
        """Send nothing: ours have no webhooks."""

    def heartbeat(self, timestamp: datetime, ttl: int, pipeline: Pipeline | None = None, xx: bool = False) -> None:
        """Record with other commands that the job runs; alone would be before a callback, for another round trip."""
        if pipeline is not None:
            super().heartbeat(timestamp, ttl, pipeline, xx)

    def _deserialize_data(self) -> None:
        """Read which function it calls; none if another program queued it in a form of its own."""
        try:
            super()._deserialize_data()  # type: ignore[no-untyped-call]
        except DeserializationError:
            self._func_name, self._instance, self._args, self._kwargs = "", None, (), {}


def rq_queue(client: Redis, queue: Queue) -> RQQueue:
    """Return the RQ queue, with JSON arguments only, so that nothing but ids is ever stored."""
    return RQQueue(queue.value, connection=client, serializer=JSONSerializer, job_class=PlainJob)


# A marker stands for a job only while it waits in its list: no marker that is left over, by a worker that took the job
# and died or by a connection that broke midway, may block later requests.
_WAITING = """
local function waiting(marker, list, prefix)
  local id = redis.call('get', marker)
  return id and redis.call('lpos', list, id) and redis.call('exists', prefix .. id) == 1 and id
end
"""

# RQ puts a job at the end of its list. If one for the same work waits there it is dropped; else people take turns: it
# goes behind everybody's first job; if its person has one already, behind everybody's second, and so on. Whose job it
# is, its id says. One that is sent again, because the answer was lost, is the same.
_PLACE = """
local function person(id) return string.match(id, '^u(%d+)-') or '' end
local job, prefix = ARGV[1], ARGV[2]
redis.call('lrem', KEYS[2], 0, job)
if waiting(KEYS[1], KEYS[2], prefix) then
  redis.call('del', prefix .. job)
  return 0
end
redis.call('set', KEYS[1], job, 'ex', ARGV[3])
local ids = redis.call('lrange', KEYS[2], 0, -1)
local mine, count = 1, {}
for _, id in ipairs(ids) do if person(id) == person(job) then mine = mine + 1 end end
for _, id in ipairs(ids) do
  local whose = person(id)
  count[whose] = (count[whose] or 0) + 1
  if count[whose] > mine then
    redis.call('linsert', KEYS[2], 'before', id, job)
    return 1
  end
end
redis.call('rpush', KEYS[2], job)
return 1
"""


def push(client: Redis, request: JobRequest) -> str | None:
    """Queue a job, where people take turns; return its id, or None if one for the same ids waits. Raises RedisError."""
    return push_all(client, [request])[0]


def push_all(client: Redis, requests: Sequence[JobRequest]) -> list[str | None]:
    """Queue jobs in one write; returns the same for each. Raises RedisError."""
    with client.pipeline(transaction=True) as pipe:
        places = add_jobs(client, pipe, requests)
        answers = pipe.execute()
    return [job_id if answers[place] else None for job_id, place in places]


def add_jobs(client: Redis, pipe: Pipeline, requests: Sequence[JobRequest]) -> list[tuple[str, int]]:
    """Add jobs to what a transaction writes; returns each one's id, and which answer tells if it was queued."""
    ids = [str(uuid.uuid4()) if request.person is None else f"u{request.person}-{uuid.uuid4()}" for request in requests]
    places = []
    for request, job_id in zip(requests, ids, strict=True):
        queue = rq_queue(client, JOBS[request.name].queue)
        _enqueue(queue, job_id, request, pipe)
        keys = (pending_key(request.key), queue.key)
        pipe.eval(_WAITING + _PLACE, 2, *keys, job_id, Job.redis_job_namespace_prefix, _MARKER_SECONDS)
        places.append((job_id, len(pipe) - 1))
        if request.turn_id is not None:
            pipe.sadd(turns_key(request.key), request.turn_id)
            pipe.expire(turns_key(request.key), _TURNS_SECONDS)
    return places


def pending_job_id(client: Redis, request: JobRequest) -> str | None:
    """Return the id of the queued, not yet started job for the same ids, if there is one."""
    keys = (pending_key(request.key), rq_queue(client, JOBS[request.name].queue).key)
    script = _WAITING + "return waiting(KEYS[1], KEYS[2], ARGV[1])"
    job_id = cast("bytes | None", client.eval(script, 2, *keys, Job.redis_job_namespace_prefix))
    return job_id.decode() if job_id else None


def _enqueue(queue: RQQueue, job_id: str, request: JobRequest, pipe: Pipeline) -> None:
    spec = JOBS[request.name]
    retries = () if request.is_swept else spec.retries
    queue.enqueue_call(
        spec.function,
        kwargs=request.ids,
        job_id=job_id,
        timeout=spec.timeout,
        result_ttl=RESULT_SECONDS,
        failure_ttl=FAILURE_SECONDS,
        retry=Retry(max=len(retries), interval=list(retries)) if retries else None,
        description=request.key,
        meta={"name": request.name, "key": request.key, "swept": request.is_swept, **tracing.trace_headers()},
        pipeline=pipe,
    )


def note_return(client: Redis, request_key: str, job: Job | None) -> None:
    """Record that a job goes back to its queue, where later requests for the same work need not queue another."""
    if job is not None:
        client.set(pending_key(request_key), job.id, nx=True, ex=_MARKER_SECONDS)


_DELETE_OWN = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0"


def note_start(client: Redis, request_key: str, job_id: str) -> list[int]:
    """Record that a job has begun, so that later requests queue another; return all turns it will report to."""
    key = f"job:turns:run:{job_id}"
    with client.pipeline(transaction=True) as pipe:
        pipe.eval(_DELETE_OWN, 1, pending_key(request_key), job_id)
        pipe.sunionstore(key, [key, turns_key(request_key)])
        pipe.delete(turns_key(request_key))
        pipe.expire(key, _TURNS_SECONDS)
        pipe.smembers(key)
        return sorted(int(turn) for turn in pipe.execute()[-1])
