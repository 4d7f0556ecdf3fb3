"""Background work as RQ keeps it: queues by state, single jobs, workers, the schedule; and what an admin may do."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from redis import Redis
from redis.exceptions import NoPermissionError, RedisError
from rq import Worker
from rq.command import send_stop_job_command
from rq.exceptions import InvalidJobOperation, NoSuchJobError
from rq.job import Job
from rq.registry import BaseRegistry
from rq.serializers import JSONSerializer
from rq.worker import BaseWorker

from webapp.background.job_specs import JOBS, JobRequest, JobSpec, PlainJob, Queue, push, rq_queue, spec_of
from webapp.db.base import now
from webapp.errors import Conflict, NotFound


@dataclass(frozen=True)
class QueueCounts:
    """A queue, how many of its jobs are in each state, and the seconds since the first that waits was queued."""

    name: str
    counts: dict[str, int]
    waited: float


@dataclass(frozen=True)
class WorkerState:
    """A worker, alive or gone; `job_id` is the job it is working on."""

    name: str
    state: str
    queues: list[str]
    last_heartbeat: datetime | None
    job_id: str
    done: int
    failed: int


PAGE_LENGTH = 25
MAX_PER_REQUEST = 500
"""The most jobs that one click requeues or deletes."""

STATES = ("queued", "started", "scheduled", "deferred", "failed", "finished", "canceled")
"""Where a job can be; `queued` is the queue itself."""


def queues(client: Redis) -> list[QueueCounts]:
    """Return every queue with its counts, and how long its first job has waited."""
    return [
        QueueCounts(name.value, {state: _count(client, name, state) for state in STATES}, _oldest_wait(client, name))
        for name in Queue
    ]


def workers(client: Redis) -> list[WorkerState]:
    """Return every worker that Redis knows, by name."""
    states = [_worker_state(worker) for worker in Worker.all(connection=client, serializer=JSONSerializer)]
    return sorted(states, key=lambda worker: worker.name)


def schedule() -> dict[str, JobSpec]:
    """Return the jobs that run on a schedule, by name."""
    return {name: spec for name, spec in JOBS.items() if spec.every or spec.is_nightly}


def jobs(client: Redis, queue: Queue, state: str, page: int) -> tuple[list[Job], bool]:
    """Return a page of a queue's jobs in a state, newest end first, and whether there are more."""
    ids = _ids(client, queue, state, (page - 1) * PAGE_LENGTH, PAGE_LENGTH + 1)
    page_jobs = PlainJob.fetch_many(ids[:PAGE_LENGTH], connection=client, serializer=JSONSerializer)
    return [job for job in page_jobs if job is not None], len(ids) > PAGE_LENGTH


def name_of(job: Job) -> str:
    """Return the name of a job, or that of its function if it is none of ours."""
    return str((job.meta or {}).get("name") or (job.func_name or "").rpartition(".")[2] or job.id)


def requeue(client: Redis, job_id: str) -> None:
    """Put a failed job back on its queue. Raises NotFound; Conflict for one that did not fail."""
    job = get_job(client, job_id)
    if spec_of(job) is None:
        raise Conflict("This version has no such job.")
    try:
        job.requeue()
    except (InvalidJobOperation, NoSuchJobError):
        raise Conflict("Only a failed job can be queued again.") from None


def run_now(client: Redis, job_id: str) -> None:
    """Put a job that waits for its time on its queue now. Raises NotFound, Conflict."""
    job = get_job(client, job_id)
    registry = _registry(client, _queue(job), "scheduled")
    if job.id not in registry.get_job_ids(cleanup=False):
        raise Conflict("This job is not waiting for a set time.")
    registry.remove(job.id)
    rq_queue(client, _queue(job)).enqueue_job(job)


def cancel(client: Redis, job_id: str) -> None:
    """Stop a running job, or keep a waiting one from running. Raises NotFound, Conflict for any other."""
    job = get_job(client, job_id)
    try:
        if status_of(job) == "started":
            send_stop_job_command(client, job.id, JSONSerializer)
        else:
            job.cancel()
    except InvalidJobOperation:
        raise Conflict("This job can no longer be cancelled.") from None
    except NoPermissionError:
        raise Conflict(
            "Redis does not let us tell a running job to stop. `flask doctor` says what to change."
        ) from None


def delete(client: Redis, job_id: str) -> None:
    """Delete a job; the sweep requests again what is still due. Raises NotFound; Conflict if the job is running."""
    job = get_job(client, job_id)
    if status_of(job) == "started":
        raise Conflict("This job is running. Cancel it first.")
    job.delete()


def requeue_all(client: Redis, queue: Queue) -> int:
    """Put up to `MAX_PER_REQUEST` failed jobs of a queue back; returns how many."""
    return sum(_try_action(requeue, client, job_id) for job_id in _ids(client, queue, "failed", 0, MAX_PER_REQUEST))


def delete_all(client: Redis, queue: Queue, state: str) -> int:
    """Delete up to `MAX_PER_REQUEST` jobs of a queue in a state; returns how many. Raises Conflict for running ones."""
    if state == "started":
        raise Conflict("Running jobs are cancelled one by one.")
    return sum(_try_action(delete, client, job_id) for job_id in _ids(client, queue, state, 0, MAX_PER_REQUEST))


def start(client: Redis, name: str) -> bool:
    """Run a scheduled job now; returns False if it was already queued. Raises NotFound."""
    if name not in schedule():
        raise NotFound("There is no such job in the schedule.")
    return push(client, JobRequest(name)) is not None


def _try_action(action: Any, client: Redis, job_id: str) -> bool:
    try:
        action(client, job_id)
    except (NotFound, Conflict):
        return False
    return True


def _count(client: Redis, name: Queue, state: str) -> int:
    if state == "queued":
        return rq_queue(client, name).count
    return _registry(client, name, state).get_job_count(cleanup=False)


def _registry(client: Redis, name: Queue, state: str) -> BaseRegistry:
    registry: BaseRegistry = getattr(rq_queue(client, name), f"{state}_job_registry")
    return registry


def _oldest_wait(client: Redis, name: Queue) -> float:
    first = next(iter(rq_queue(client, name).get_jobs(0, 1)), None)
    if first is None or first.enqueued_at is None or first.meta.get("name") not in JOBS:
        return 0.0
    return (now() - first.enqueued_at).total_seconds()


def _ids(client: Redis, name: Queue, state: str, first: int, count: int) -> list[str]:
    if state == "queued":
        return rq_queue(client, name).get_job_ids(first, count)
    newest_first = state in ("failed", "finished", "canceled")
    return _registry(client, name, state).get_job_ids(first, first + count - 1, desc=newest_first, cleanup=False)


def get_job(client: Redis, job_id: str) -> Job:
    """Return one job. Raises NotFound if it is no longer kept."""
    try:
        return PlainJob.fetch(job_id, connection=client, serializer=JSONSerializer)
    except (NoSuchJobError, ValueError):
        raise NotFound("This job is no longer kept.") from None


def _queue(job: Job) -> Queue:
    try:
        return Queue(job.origin)
    except ValueError:
        raise Conflict("This job belongs to a queue that this version does not have.") from None


def status_of(job: Job) -> str:
    """Return where a job is, as one of STATES or another word of RQ's."""
    status = job.get_status(refresh=False)
    return str(getattr(status, "value", status) or "unknown")


def actions_of(job: Job) -> list[str]:
    """Return what can be done with a job."""
    possible = {
        "failed": ("requeue", "delete"),
        "stopped": ("delete",),
        "queued": ("cancel", "delete"),
        "started": ("cancel",),
        "scheduled": ("run", "cancel", "delete"),
        "deferred": ("cancel", "delete"),
    }.get(status_of(job), ("delete",))
    return [name for name in possible if name not in ("requeue", "run") or spec_of(job) is not None]


def _worker_state(worker: BaseWorker) -> WorkerState:
    state = str(worker.get_state())
    return WorkerState(
        name=worker.name,
        state="started" if state == "?" else state,
        queues=worker.queue_names(),
        last_heartbeat=worker.last_heartbeat,
        job_id=_current_job(worker),
        done=worker.successful_job_count or 0,
        failed=worker.failed_job_count or 0,
    )


def _current_job(worker: BaseWorker) -> str:
    try:
        return worker.get_current_job_id() or ""
    except (RedisError, NoSuchJobError):
        return ""
