"""Runs queued jobs inside the test's own process, through RQ and the real runner."""

import time
from typing import Any

from flask import Flask
from rq import Queue, SimpleWorker
from rq.executions import Execution
from rq.job import Job
from rq.serializers import JSONSerializer
from rq.timeouts import TimerDeathPenalty
from sqlalchemy import func, select

from webapp.background import job_specs
from webapp.chat.turns.runtime import runtime
from webapp.conversations.models import Message
from webapp.db.base import db


class InProcessWorker(SimpleWorker):
    """A worker that remembers what it ran. Its time limits use a thread, as pytest-timeout uses the alarm signal.

    Nobody sends it commands, so it does not listen for any: RQ waits a second for the listening thread whenever that
    notices the end before it is told to stop.
    """

    death_penalty_class = TimerDeathPenalty

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.performed: list[tuple[Job, bool]] = []

    def subscribe(self) -> None:
        """Listen for no commands."""

    def perform_job(self, job: Job, queue: Queue, execution: Execution) -> bool:
        """Run it, noting whether it went well."""
        went_well = super().perform_job(job, queue, execution)
        self.performed.append((job, went_well))
        return went_well


def run_queued_jobs(app: Flask, *, failures: bool = False) -> list[Job]:
    """Run every queued job, and those they queue, most urgent first; returns the jobs that ran.

    Raises AssertionError naming the first job that failed, unless `failures` are expected.
    """
    with app.app_context():
        _wait_for_followups(app)
        connection = app.extensions["redis"]
        queues = [job_specs.rq_queue(connection, queue) for queue in job_specs.Queue]
        worker = InProcessWorker(queues, connection=connection, serializer=JSONSerializer)
        worker.work(burst=True, logging_level="ERROR")
        _wait_for_followups(app)  # of a reply that a job has written: it ends as soon as the reply is final
        if any(queue.count for queue in queues):
            worker.work(burst=True, logging_level="ERROR")
        left = [queue.name for queue in queues if queue.count]
    assert not left, f"the worker gave up with jobs left on {left}; its reason is in the log"
    failed = [job for job, went_well in worker.performed if not went_well]
    if failed and not failures:
        result = failed[0].latest_result()
        raise AssertionError(f"job {failed[0].description} failed\n{result.exc_string if result else ''}")
    return [job for job, _ in worker.performed]


def _wait_for_followups(app: Flask, seconds: float = 3.0) -> None:
    """Wait until the replies that are final have queued their jobs, which they do after they said so."""
    runner = runtime.of(app).runner
    streaming = select(func.count()).select_from(Message).where(Message.status == "streaming")
    end = time.monotonic() + seconds
    while runner.active and time.monotonic() < end:
        with db.engine.connect() as connection:
            if runner.active <= connection.execute(streaming).scalar_one():
                break
        time.sleep(0.005)
