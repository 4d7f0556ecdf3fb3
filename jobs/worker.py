"""`python -m jobs.worker [queue ...]`: RQ workers that load the application once, before they fork to run jobs.

Without names it runs one worker for each group of queues in `WORKERS`, as children that share what was loaded. With
names it is a single worker of those queues. `--with-schedule` runs `jobs.schedule` in a thread of the one for upkeep,
which saves 25 MB. `--nice 0` gives them normal priority.
"""

import argparse
import gc
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from typing import NoReturn

from flask import Flask
from redis.exceptions import RedisError
from rq.serializers import JSONSerializer
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import configure_mappers

from jobs import data_work, model_work, schedule, upkeep  # noqa: F401  (loaded before the fork)
from jobs.runner import worker_app
from jobs.work_loop import PatientWorker
from webapp.background.job_specs import WORKERS, Queue, rq_queue
from webapp.cli.launch.processes import kill_children_at_exit, lower_priority
from webapp.config import exit_on_config_error
from webapp.extensions import app_settings, make_redis
from webapp.llm.sdk import warm_up
from webapp.llm.settings import ModelSettings
from webapp.providers.grades import background_model

log = logging.getLogger(__name__)

NICE = 5
"""The niceness of the workers: nobody waiting for a first word should wait for background work."""
PAUSE_SECONDS = 1.0
"""Seconds before a worker that ended on its own, as RQ's does when Redis falls silent, is restarted."""


def main(names: list[Queue], *, with_schedule: bool = False, nice: int = NICE) -> None:
    """Process the named queues, all of them by default, until told to stop."""
    kill_children_at_exit()
    lower_priority(nice)
    with exit_on_config_error():
        app = worker_app()
    with app.app_context():
        warm_up()  # in the parent, once: every process that runs jobs would pay half a second for it
        configure_mappers()
        gc.collect()
        gc.freeze()
        if names:
            work(app, names)
        else:
            run_all([partial(work, app, group, with_schedule and Queue.UPKEEP in group) for group in WORKERS])


def work(app: Flask, names: Sequence[Queue], with_schedule: bool = False) -> None:
    """Be a worker for some queues, most urgent first. jobs.schedule queues waiting retries."""
    settings = app_settings.of(app)
    connection = make_redis(settings.redis_url, tailing=True)
    # Frequent heartbeats and monitoring: a killed worker is noticed within a minute.
    worker = PatientWorker(
        [rq_queue(connection, name) for name in names],
        connection=connection,
        serializer=JSONSerializer,
        worker_ttl=30,
        maintenance_interval=15,
        job_monitoring_interval=5,
        model=_server_at_work,
    )
    with schedule.schedule_in_thread() if with_schedule else nullcontext():
        worker.work(logging_level="WARNING")


def _server_at_work() -> ModelSettings:
    """Return the server that does background work; the environment's while the database does not say."""
    with suppress(SQLAlchemyError):
        return background_model().settings
    return app_settings().model


def run_all(tasks: Sequence[Callable[[], None]]) -> None:
    """Run tasks, each a worker, as children until told to stop; their jobs are finished first."""
    workers: dict[int, Callable[[], None]] = {}
    is_ending = False

    def end(_number: int, _frame: object) -> None:
        nonlocal is_ending
        is_ending = True
        for pid in list(workers):
            try:
                os.kill(pid, signal.SIGTERM)
            except ProcessLookupError:
                continue

    def start(task: Callable[[], None]) -> None:
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            _run_process(task)
        workers[pid] = task
        if is_ending:  # the signal came before this one was in the list; the others have received it
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    for task in tasks:
        if not is_ending:
            start(task)
    while workers:
        pid, _status = os.wait()
        ended = workers.pop(pid) if pid in workers else None
        if ended is not None and not is_ending:
            time.sleep(PAUSE_SECONDS)
            if not is_ending:
                start(ended)


def _run_process(task: Callable[[], None]) -> NoReturn:
    """Run one task in a process of its own, which then ends."""
    code = 1
    try:
        task()
        code = 0
    except RedisError as error:
        log.warning("redis away, worker begins anew: %s", error)
    except Exception:
        log.exception("%s failed", getattr(task, "func", task).__name__)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m jobs.worker")
    parser.add_argument("names", nargs="*", type=Queue, metavar="queue")
    parser.add_argument("--with-schedule", action="store_true", help="run jobs.schedule beside the workers")
    parser.add_argument("--nice", type=int, default=NICE, help=f"how much others go before, {NICE} by default")
    return parser.parse_args()


if __name__ == "__main__":
    wanted = _arguments()
    main(wanted.names, with_schedule=wanted.with_schedule, nice=wanted.nice)
