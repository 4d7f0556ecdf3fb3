"""RQ's worker with our time limits, a process kept for several jobs, and correct lists of failures."""

import logging
import os
import random
import time
from collections.abc import Callable
from contextlib import suppress
from resource import struct_rusage
from types import FrameType, TracebackType
from typing import Any, Literal

from redis import Redis
from redis.client import Pipeline, PubSub, PubSubWorkerThread
from redis.exceptions import NoPermissionError
from rq import Queue, Worker
from rq.executions import Execution
from rq.job import Job
from rq.registry import FailedJobRegistry
from rq.timeouts import BaseTimeoutException, HorseMonitorTimeoutException, UnixSignalDeathPenalty

from jobs.runner import worker_app
from jobs.work_horse import Order, WorkHorse
from webapp.background import job_specs
from webapp.db.base import now
from webapp.llm.settings import ModelSettings

log = logging.getLogger(__name__)

BEAT_SECONDS = 1.0
"""A worker that has reported within so many seconds need not do so again; Redis forgets it after 65 at the earliest."""


class JobOverdue(BaseException):
    """A job takes too long; no Exception, which the model's client would take for a broken connection."""


class Deadline(UnixSignalDeathPenalty):
    """Raises JobOverdue in the job. RQ's worker also uses it while it checks every few seconds whether a job still
    runs; there it raises the exception that RQ expects, since any other would end the worker at the first long job."""

    def handle_death_penalty(self, signum: int, frame: FrameType | None) -> None:
        """Raise JobOverdue in the job, or RQ's own exception where RQ watches it."""
        if issubclass(self._exception, HorseMonitorTimeoutException):
            raise self._exception(f"the job has run for {self._timeout} seconds more")
        raise JobOverdue(f"the job takes longer than {self._timeout} seconds")

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> Literal[False]:
        with suppress(JobOverdue, BaseTimeoutException):  # it was done at the same moment
            self.cancel_death_penalty()  # type: ignore[no-untyped-call]  # rq's
        return False


class PatientWorker(Worker):
    """Gives a job the time its model calls may take under the current settings, and keeps the process it ran in."""

    death_penalty_class = Deadline
    job_class = job_specs.PlainJob

    def __init__(self, *args: Any, model: Callable[[], ModelSettings], **options: Any) -> None:
        super().__init__(*args, **options)
        self._model = model
        self._horse: WorkHorse | None = None
        self._heard_at = -BEAT_SECONDS

    def execute_job(self, job: Job, queue: Queue) -> None:
        """Run a job in the other process, within the time that its model calls may take."""
        self._allow_time(job)
        super().execute_job(job, queue)

    def fork_work_horse(self, job: Job, queue: Queue) -> None:
        """Hand a job to the process of the previous one, or to a new one."""
        order = Order(job.id, next(iter(self.executions)), queue.name)
        if self._horse is None or not self._horse.send_order(order):
            self._horse = WorkHorse.fork(self.run_order, order)
        self._horse_pid = self._horse.pid

    def wait_for_horse(self) -> tuple[int | None, int | None, struct_rusage | None]:
        """Wait until the job is done or its process is dead."""
        horse = self._horse
        goes_on = horse.wait_for_order() if horse is not None else None
        if horse is None or goes_on is None:
            self._horse = None
            return super().wait_for_horse()
        if not goes_on:
            self._horse = None
            horse.dismiss()
        return horse.pid, os.EX_OK, None

    def heartbeat(self, timeout: int | None = None, pipeline: Pipeline | None = None) -> None:
        """Report that this worker lives; between jobs, reap a process that ended because no further job came in time.

        RQ would report three times around each job, with three round trips to Redis each time.
        """
        if self._horse is not None and not self._horse_pid and self._horse.has_exited():
            self._horse = None
        if pipeline is not None:
            super().heartbeat(timeout, pipeline)
        elif timeout is not None or time.monotonic() - self._heard_at >= BEAT_SECONDS:
            with self.connection.pipeline(transaction=False) as pipe:
                super().heartbeat(timeout, pipe)
                pipe.execute()
            self._heard_at = time.monotonic()

    def set_state(self, state: str, pipeline: Pipeline | None = None) -> None:
        """Record in Redis what the worker is doing, unless that is known."""
        if pipeline is not None or state != self._state:
            super().set_state(state, pipeline)

    def run_order(self, order: Order) -> bool:
        """Run an order, in the other process, as RQ does; return whether others may follow a job."""
        if not self._is_horse:
            random.seed()
            self.setup_work_horse_signals()  # type: ignore[no-untyped-call]  # rq's
            self._is_horse = True
        job = self.job_class.fetch(order.job_id, connection=self.connection, serializer=self.serializer)
        execution = Execution(order.execution_id, order.job_id, self.connection, self.name)
        self.executions = {execution.id: execution}
        self._allow_time(job)
        queue = next(queue for queue in self.queues if queue.name == order.queue)
        with worker_app().app_context():  # a new one for each job: what is kept in it is kept for that job
            self.perform_job(job, queue, execution)
        spec = job_specs.spec_of(job)
        return spec is None or not (spec.every or spec.is_nightly)

    def _allow_time(self, job: Job) -> None:
        if (spec := job_specs.spec_of(job)) is not None:
            job.timeout = job_specs.seconds_for(spec, self._model()) if spec.model_calls else spec.timeout

    def perform_job(self, job: Job, queue: Queue, execution: Execution) -> bool:
        """Run the job, in that process; one that is not ours fails, or Redis could have any function called."""
        if (spec := job_specs.spec_of(job)) is not None:
            if job.func_name != spec.function:  # reading it first loads what setting it would otherwise lose
                job.func_name = spec.function  # another version queued it
            return super().perform_job(job, queue, execution)
        log.error("a job that is none of ours was not run", extra={"job_id": job.id})
        self.prepare_job_execution(job, remove_from_intermediate_queue=len(self.queues) == 1)
        job.ended_at = now()
        self.handle_job_failure(job, queue, exc_string="This is no job of Commonplace.", execution=execution)
        return False

    def handle_job_failure(self, job: Job, queue: Queue, *args: Any, **options: Any) -> None:
        """Record a failure, so that it can be removed once the same work is done."""
        super().handle_job_failure(job, queue, *args, **options)
        if key := (job.meta or {}).get("key"):
            note_failure(self.connection, key, job.id)

    def handle_exception(self, job: Job, *exc_info: Any) -> None:
        """Log why a job failed, unless jobs/runner.py has."""
        if not getattr(exc_info[1], "is_logged", False):
            super().handle_exception(job, *exc_info)

    def handle_job_success(self, job: Job, queue: Queue, *args: Any, **options: Any) -> None:
        """Remove failures of the same work from the list."""
        super().handle_job_success(job, queue, *args, **options)
        if key := (job.meta or {}).get("key"):
            forget_failures(self.connection, queue, key)

    def _pubsub_exception_handler(self, exc: Exception, pubsub: PubSub, pubsub_thread: PubSubWorkerThread) -> None:
        """Work without RQ's channel where Redis does not allow it: it is needed to stop a running job, nothing else."""
        if not isinstance(exc, NoPermissionError):
            super()._pubsub_exception_handler(exc, pubsub, pubsub_thread)
            return
        log.warning("running jobs cannot be stopped: the user of REDIS_URL may not use the channels rq:pubsub:*")
        pubsub_thread.stop()

    def run_maintenance_tasks(self) -> None:
        """Register again after Redis was emptied: otherwise nobody would know of this worker."""
        if not self.connection.hexists(self.key, "birth"):
            self.connection.delete(self.key)
            self.register_birth()  # type: ignore[no-untyped-call]  # rq's
            super().set_state(self._state)
        super().run_maintenance_tasks()  # type: ignore[no-untyped-call]  # rq's


def _failures_key(key: str) -> str:
    return f"job:failed:{key}"


def note_failure(client: Redis, key: str, job_id: str) -> None:
    """Remember a failed job by what it was supposed to do."""
    with client.pipeline(transaction=False) as pipe:
        pipe.sadd(_failures_key(key), job_id)
        pipe.expire(_failures_key(key), job_specs.FAILURE_SECONDS)
        pipe.execute()


def forget_failures(client: Redis, queue: Queue, key: str) -> None:
    """Remove failed jobs from the list of failures, since their work has been done."""
    failed = [member.decode() for member in client.smembers(_failures_key(key)) if isinstance(member, bytes)]
    if not failed:
        return
    registry = FailedJobRegistry(queue=queue)
    for job_id in failed:
        if job_id in registry:
            registry.remove(job_id, delete_job=True)
    client.delete(_failures_key(key))
