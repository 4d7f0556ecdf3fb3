"""`python -m jobs.schedule`: RQ's cron for scheduled jobs, and RQ's scheduler for waiting retries.

It loads nothing of the application. One holds a lock and others stand by, or everything would be queued twice.
"""

import argparse
import logging
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from redis import Redis
from redis.exceptions import LockError, RedisError
from redis.lock import Lock
from rq.cron import CronJob, CronScheduler
from rq.job import Job
from rq.scheduler import RQScheduler
from rq.serializers import JSONSerializer
from rq.utils import now

from webapp.background.job_specs import JOBS, JobRequest, JobSpec, Queue, push, rq_queue
from webapp.config import Settings, exit_on_config_error
from webapp.redis.clients import open_redis

LOCK = "schedule:lock"
LOCK_SECONDS = 30
MAX_SLEEP = 1.0
"""Seconds; a retry is due to the second, so this is how late it may be."""
PAUSE = 2.0
"""Seconds before scheduling begins anew after an error."""

log = logging.getLogger(__name__)


class ScheduledJob(CronJob):
    """A cron entry that is queued like every other job: by name, with retries, and never piling up."""

    def __init__(self, name: str, spec: JobSpec):
        super().__init__(queue_name=spec.queue.value, func_name=spec.function, interval=spec.every, name=name)
        self.spec = spec

    def enqueue(self, connection: Redis) -> Job | None:  # type: ignore[override]  # None: one waits there already
        """Put the job on its queue unless one is already waiting there."""
        job_id = push(connection, JobRequest(self.name))
        return rq_queue(connection, self.spec.queue).fetch_job(job_id) if job_id else None


class Scheduler(CronScheduler):
    """RQ's cron scheduler with our jobs, active while it holds the lock."""

    def __init__(self, connection: Redis):
        super().__init__(connection)
        self._start_anew()
        self._lock = Lock(connection, LOCK, timeout=LOCK_SECONDS, thread_local=False)
        names = [queue.value for queue in Queue]
        self._retries = RQScheduler(names, connection, logging_level=logging.WARNING, serializer=JSONSerializer)
        self._retries.prepare_registries(names)

    def _start_anew(self) -> None:
        self._cron_jobs = [ScheduledJob(name, spec) for name, spec in JOBS.items() if spec.every]
        self._last_look = now()

    def acquire_lock(self) -> bool:
        """Take or renew the lock; False while another scheduler has it."""
        with suppress(LockError):  # not held, or no longer
            return bool(self._lock.reacquire())
        return bool(self._lock.acquire(blocking=False))

    def enqueue_jobs(self) -> list[CronJob]:
        """Enqueue what is due, retries included, if this scheduler holds the lock."""
        if not self.acquire_lock():
            return []
        if now() < self._last_look:  # the clock was set back: all would wait until it is as late again
            self._start_anew()
        self._last_look = now()
        self._retries.enqueue_scheduled_jobs()  # type: ignore[no-untyped-call]  # rq's
        return super().enqueue_jobs()

    def calculate_sleep_interval(self) -> float:
        """Sleep until the next job, but wake often enough to keep the lock or to take it over."""
        return max(0.5, min(super().calculate_sleep_interval(), MAX_SLEEP))

    def release(self) -> None:
        """Release the lock, so that another scheduler need not wait for it to lapse."""
        with suppress(LockError):
            self._lock.release()


@contextmanager
def schedule_in_thread() -> Iterator[None]:
    """Schedule in a thread for as long as the block lasts."""
    is_over = threading.Event()
    thread = threading.Thread(target=_keep, args=(is_over,), name="schedule", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join(2 * MAX_SLEEP)


def _keep(is_over: threading.Event) -> None:
    """Queue what is due until `is_over` is set; Redis may come and go."""
    connection = open_redis(Settings.from_env().redis_url, socket_connect_timeout=2)
    while not is_over.is_set():
        try:
            scheduler = Scheduler(connection)
            scheduler.register_birth()
            while not is_over.wait(scheduler.calculate_sleep_interval()):
                scheduler.enqueue_jobs()
                scheduler.heartbeat()
            scheduler.register_death()
            scheduler.release()
        except RedisError as error:
            log.warning("redis away, scheduler waits: %s", type(error).__name__)
            is_over.wait(PAUSE)
        except Exception:  # it lives as long as its process, or nothing is scheduled any more
            log.exception("scheduling failed, and begins anew")
            is_over.wait(PAUSE)


def main() -> None:
    """Schedule until told to stop."""
    argparse.ArgumentParser(prog="python -m jobs.schedule").parse_args()
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    is_over = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: is_over.set())
    with exit_on_config_error():
        _keep(is_over)


if __name__ == "__main__":
    main()
