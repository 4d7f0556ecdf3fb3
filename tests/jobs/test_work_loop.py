"""The worker's limits: they follow the model's, an overdue job is no model error, and two workers share the queues."""

import errno
import os
import statistics
import threading
import time
from dataclasses import replace
from itertools import pairwise
from logging import LogRecord
from typing import Any

import pytest
import rq
from flask import Flask
from MySQLdb import OperationalError as MySQLError
from rq import Callback
from rq.job import Job, JobStatus
from rq.registry import FailedJobRegistry
from rq.serializers import JSONSerializer
from rq.timeouts import HorseMonitorTimeoutException
from sqlalchemy.exc import OperationalError

from jobs.work_loop import Deadline, JobOverdue, PatientWorker, forget_failures, note_failure
from testkit.processes import descendants, wait_until
from webapp.accounts.smtp import MailUnavailable
from webapp.background import job_specs
from webapp.extensions import make_redis
from webapp.llm.complete import CompletionClient
from webapp.llm.settings import ModelSettings


def worker_of(queue: rq.Queue, **more: str) -> PatientWorker:
    """A worker of one queue."""
    options = {"connection": queue.connection, "serializer": JSONSerializer, "model": ModelSettings}
    return PatientWorker([queue], **options, **more)


def test_a_job_may_take_as_long_as_its_model_calls():
    spec = job_specs.JOBS["extract"]
    patient = ModelSettings(request_timeout=600, max_retries=2)
    assert job_specs.seconds_for(spec, patient) > 3 * 600 * spec.model_calls
    assert job_specs.seconds_for(job_specs.JOBS["sweep"], patient) == job_specs.JOBS["sweep"].timeout


def test_every_job_that_calls_the_model_says_so():
    calling = {name for name, spec in job_specs.JOBS.items() if spec.model_calls}
    others = {"title", "extract", "summary", "digest", "journey_report", "learn", "overview"}
    assert calling == others | {"tidy", "exam", "portrait"}
    alone = {name for group in job_specs.WORKERS for name in group}
    assert alone == set(job_specs.Queue)
    assert sum(len(group) for group in job_specs.WORKERS) == len(alone)
    for group in job_specs.WORKERS[1:]:
        assert not {job_specs.JOBS[name].queue for name in calling} & set(group)


@pytest.mark.parametrize("name", ["index", "index_document", "point_vectors", "import", "export", "mail", "deliver"])
def test_what_needs_no_language_model_waits_for_none(name):
    """A document stayed "queued" for as long as somebody's extraction hung."""
    calling = {spec.queue for spec in job_specs.JOBS.values() if spec.model_calls}
    (with_model,) = (group for group in job_specs.WORKERS if calling & set(group))
    assert job_specs.JOBS[name].queue not in with_model


def test_an_overdue_job_is_no_model_error(app, model):
    """The client took RQ's exception for a connection that broke, and tried again."""
    model.script(reply="late", first_delay=30)
    settings = replace(app.extensions["settings"].model, max_retries=3, request_timeout=60)
    client = CompletionClient(settings, app.extensions["completions"].capabilities)
    started = time.monotonic()
    try:
        with pytest.raises(JobOverdue), Deadline(1):
            client.complete_text([{"role": "user", "content": "Hello"}])
    finally:
        client.close()
    assert time.monotonic() - started < 25


def test_a_worker_that_looks_after_a_long_job_goes_on_looking():
    """It took the end of its own wait for the end of the job, and quit: every job of more than five seconds cost it."""
    with pytest.raises(HorseMonitorTimeoutException), Deadline(1, HorseMonitorTimeoutException):
        time.sleep(5)


@pytest.mark.slow
def test_what_needs_no_model_does_not_wait_for_one(_live, model, user, redis):
    """One process for both: a worker that Redis forgot registers again, one that is killed is replaced."""
    _live.kill_jobs()
    redis.flushall()
    model.script(reply="late", first_delay=60)
    model.script(match="", reply="late", first_delay=60)
    _live.start_worker()
    try:
        wait_until(lambda: redis.scard("rq:workers") == 2, "two workers", seconds=45)
        main = _live._processes["worker"].pid
        assert os.getpriority(os.PRIO_PROCESS, main) >= os.getpriority(os.PRIO_PROCESS, 0)
        job_id = job_specs.push(redis, job_specs.JobRequest("index", {"user_id": user.user_id}))
        job = Job.fetch(job_id, connection=redis, serializer=JSONSerializer)
        wait_until(lambda: job.get_status() == JobStatus.FINISHED, "the index", log=_live.log, seconds=30)
        redis.flushall()
        wait_until(lambda: redis.scard("rq:workers") == 2, "both to register again", log=_live.log, seconds=60)
        before = set(descendants(main))
        os.kill(min(before), 9)
        wait_until(lambda: len(set(descendants(main)) - before) == 1, "a new worker", log=_live.log, seconds=30)
    finally:
        _live.kill_jobs()


def test_a_worker_that_may_use_no_channel_works(app, silent_redis_url, caplog, monkeypatch):
    """RQ's thread for its channel ended with a traceback in the log."""
    unhandled: list[object] = []
    monkeypatch.setattr(threading, "excepthook", unhandled.append)
    with make_redis(silent_redis_url) as silent:
        queue = job_specs.rq_queue(silent, job_specs.Queue.UPKEEP)
        worker = worker_of(queue)
        worker.subscribe()
        worker.pubsub_thread.join(5)
        assert not worker.pubsub_thread.is_alive() and unhandled == []
        worker.unsubscribe()
        assert [record.message for record in caplog.records if record.levelname == "WARNING"] == [
            "running jobs cannot be stopped: the user of REDIS_URL may not use the channels rq:pubsub:*"
        ]


def test_what_is_none_of_our_jobs_is_not_run(app, tmp_path):
    """Whoever can write to Redis has no function of their choice called by a worker."""
    queue = job_specs.rq_queue(app.extensions["redis"], job_specs.Queue.BATCH)
    job = queue.enqueue("os.mkdir", str(tmp_path / "made"))
    worker = worker_of(queue, name="looks-twice")
    assert worker.perform_job(job, queue, worker.prepare_execution(job)) is False
    assert not (tmp_path / "made").exists()
    assert job.get_status() == JobStatus.FAILED
    assert job.id in FailedJobRegistry(queue=queue).get_job_ids(cleanup=False)
    job.delete()


def test_a_job_in_another_programs_form_fails_like_any_that_is_not_ours(redis):
    pickled = rq.Queue("batch", connection=redis).enqueue("os.getcwd")
    queue = job_specs.rq_queue(redis, job_specs.Queue.BATCH)
    worker = worker_of(queue)
    (job,) = queue.get_jobs()
    worker._allow_time(job)
    assert worker.perform_job(job, queue, worker.prepare_execution(job)) is False
    assert pickled.get_status() == JobStatus.FAILED
    pickled.delete()


def test_a_job_that_an_earlier_version_queued_runs_under_the_name_it_has_now(app):
    queue = job_specs.rq_queue(app.extensions["redis"], job_specs.Queue.INDEX)
    job = queue.enqueue("jobs.files.sweep_storage", meta={"name": "sweep_files"})
    worker = worker_of(queue)
    with app.app_context():
        assert worker.perform_job(job, queue, worker.prepare_execution(job)) is True
    assert job.get_status() == JobStatus.FINISHED and job.func_name == "jobs.upkeep.sweep_files"
    job.delete()


def test_what_redis_names_beside_a_job_is_neither_called_nor_sent_to(app):
    queue = job_specs.rq_queue(app.extensions["redis"], job_specs.Queue.BATCH)
    hook = Callback("os.mkdir")
    written = Job.create(
        "jobs.upkeep.sweep",
        connection=queue.connection,
        serializer=JSONSerializer,
        on_success=hook,
        on_failure=hook,
        on_stopped=hook,
    )
    written.save()
    worker = worker_of(queue)
    for job_class in (worker.job_class, queue.job_class):
        job = job_class.fetch(written.id, connection=queue.connection, serializer=JSONSerializer)
        assert not job.success_callback and not job.failure_callback and not job.stopped_callback
        job.webhooks = [unreachable := Hook()]
        job.send_webhooks(JobStatus.FINISHED)
        assert not unreachable.was_called
    written.delete()


class Hook:
    job_status = JobStatus.FINISHED
    url = "http://127.0.0.1:1"
    was_called = False

    def send(self, *_args: object, **_options: object) -> None:
        self.was_called = True


def test_failures_are_looked_for_where_they_are(redis):
    queue = job_specs.rq_queue(redis, job_specs.Queue.TURN)
    note_failure(redis, "title:conversation_id=1", "gone already")
    forget_failures(redis, queue, "title:conversation_id=1")
    assert FailedJobRegistry(queue=queue).get_job_count(cleanup=False) == 0
    assert not redis.exists("job:failed:title:conversation_id=1")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OperationalError("SELECT 1", {}, MySQLError(2013, "Lost connection")), ["job failed: outage"]),
        (OSError(errno.ENOSPC, "No space left on device"), ["job failed: outage"]),
        (MailUnavailable("SMTPDataError 451"), ["job failed: outage"]),
        (RuntimeError("broken"), ["job failed"]),
    ],
)
def test_a_job_that_fails_is_logged_once_and_an_outage_in_one_line(app, caplog, monkeypatch, error, said):
    def fail() -> None:
        raise error

    monkeypatch.setattr("webapp.shell.upkeep.recover_all", fail)
    records = _failed_sweep(app, caplog)
    assert [record.message for record in records] == said
    assert [bool(record.exc_info) for record in records] == [isinstance(error, RuntimeError)]


def test_a_job_that_fails_before_it_begins_is_logged_too(app, caplog, monkeypatch):
    monkeypatch.delattr(job_specs, "note_start")
    (record,) = _failed_sweep(app, caplog)
    assert "note_start" in record.getMessage()


def _failed_sweep(app: Flask, caplog: pytest.LogCaptureFixture) -> list[LogRecord]:
    """Return what a sweep that fails, and its worker, log."""
    queue = job_specs.rq_queue(app.extensions["redis"], job_specs.Queue.UPKEEP)
    job = queue.enqueue("jobs.upkeep.sweep", meta={"name": "sweep"})
    worker = worker_of(queue)
    with app.app_context():
        assert worker.perform_job(job, queue, worker.prepare_execution(job)) is False
    job.delete()
    return [record for record in caplog.records if record.levelname in ("WARNING", "ERROR")]


def _run_here(worker: PatientWorker, job: Job, queue: rq.Queue) -> None:
    worker.perform_job(job, queue, next(iter(worker.executions.values())))


def test_a_job_goes_to_redis_and_back_few_times(app, redis, monkeypatch):
    """With Redis 150 ms away, a job that does nothing took 4.5 s."""
    kind = redis.connection_pool.connection_class
    sent: list[bytes] = []
    send = kind.send_packed_command

    def record(connection: Any, command: Any, **options: Any) -> None:
        sent.append(b"".join(command))
        send(connection, command, **options)

    monkeypatch.setattr(kind, "send_packed_command", record)
    monkeypatch.setattr(PatientWorker, "fork_work_horse", _run_here)
    monkeypatch.setattr(PatientWorker, "wait_for_horse", lambda _worker: (None, os.EX_OK, None))
    queue = job_specs.rq_queue(redis, job_specs.Queue.INDEX)
    job_specs.push_all(redis, [job_specs.JobRequest("deliver", {"webhook_id": number}) for number in range(6)])
    with app.app_context():
        worker_of(queue).work(burst=True)
    takes = [position for position, command in enumerate(sent) if b"LMOVE" in command]  # the last finds no job
    assert statistics.median(end - start for start, end in pairwise(takes)) <= 13
