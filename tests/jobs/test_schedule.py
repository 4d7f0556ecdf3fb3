"""The scheduler: one at a time, and never more than one waiting job of a kind."""

from datetime import timedelta
from threading import Event

import rq.cron
from flask import Flask
from rq.cron import CronJob

from jobs import schedule
from jobs.schedule import LOCK, LOCK_SECONDS, MAX_SLEEP, Scheduler
from webapp.background.job_specs import JOBS, Queue, rq_queue
from webapp.db.base import now


def _job_names(app: Flask) -> list[str]:
    client = app.extensions["redis"]
    return sorted(job.meta["name"] for queue in Queue for job in rq_queue(client, queue).jobs)


def _all_due(scheduler: Scheduler) -> Scheduler:
    for job in scheduler._cron_jobs:
        if job.next_enqueue_time is not None:
            job.next_enqueue_time -= timedelta(days=2)
    return scheduler


def test_two_schedulers_enqueue_once(app, redis):
    first, second = Scheduler(redis), Scheduler(redis)
    _all_due(first).enqueue_jobs()
    _all_due(second).enqueue_jobs()
    expected = sorted(name for name, spec in JOBS.items() if spec.every or spec.cron)
    assert _job_names(app) == expected
    assert {"sweep", "purge"} <= set(expected)
    assert not second.acquire_lock()
    assert first.acquire_lock()


def test_another_takes_over_when_the_first_ends_or_vanishes(redis):
    first, second = Scheduler(redis), Scheduler(redis)
    assert first.acquire_lock()
    second.release()
    assert not second.acquire_lock(), "a lock is released by its holder only"
    first.release()
    assert second.acquire_lock()
    assert 0 < redis.ttl(LOCK) <= LOCK_SECONDS
    redis.delete(LOCK)
    assert first.acquire_lock()
    assert not second.acquire_lock()


def test_a_clock_that_is_set_back_stops_nothing(app, run_jobs, monkeypatch):
    scheduler = Scheduler(app.extensions["redis"])
    with monkeypatch.context() as patch:
        for module in (rq.cron, schedule):
            patch.setattr(module, "now", lambda: now() + timedelta(days=365))
        scheduler.enqueue_jobs()
    run_jobs()
    scheduler.enqueue_jobs()
    assert {"sweep", "purge"} <= set(_job_names(app))
    assert all(job.next_enqueue_time <= now() + timedelta(days=1) for job in scheduler.get_jobs())


def test_it_wakes_often_enough_to_keep_the_lock(app):
    scheduler = Scheduler(app.extensions["redis"])
    assert 0.5 <= scheduler.calculate_sleep_interval() <= MAX_SLEEP < LOCK_SECONDS / 2


def test_jobs_do_not_pile_up_while_no_worker_runs(app):
    scheduler = Scheduler(app.extensions["redis"])
    for _ in range(5):
        _all_due(scheduler).enqueue_jobs()
    assert len(_job_names(app)) == len(set(_job_names(app)))


def test_the_jobs_run(app, run_jobs):
    _all_due(Scheduler(app.extensions["redis"])).enqueue_jobs()
    ran = run_jobs()
    assert {"sweep", "purge"} <= {job.meta["name"] for job in ran}
    assert _job_names(app) == []


def test_scheduling_goes_on_after_any_error(app, monkeypatch):
    tries: list[int] = []
    works = Event()

    class Shaky(Scheduler):
        def enqueue_jobs(self) -> list[CronJob]:
            tries.append(1)
            if len(tries) == 1:
                raise ValueError("a date that nobody can read")
            works.set()
            return []

        def calculate_sleep_interval(self) -> float:
            return 0.01

    monkeypatch.setattr(schedule, "Scheduler", Shaky)
    monkeypatch.setattr(schedule, "PAUSE", 0.01)
    monkeypatch.setattr(schedule, "open_redis", lambda *_, **__: app.extensions["redis"])
    with schedule.schedule_in_thread():
        assert works.wait(30)
