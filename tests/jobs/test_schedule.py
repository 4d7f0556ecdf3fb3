"""The scheduler: one at a time, and never more than one waiting job of a kind."""

from datetime import timedelta
from threading import Event

import rq.cron
from flask import Flask
from rq.cron import CronJob
from sqlalchemy import update

from jobs import schedule
from jobs.schedule import LOCK, LOCK_SECONDS, MAX_SLEEP, Scheduler
from webapp.accounts import site
from webapp.background.job_specs import JOBS, Queue, rq_queue
from webapp.db.base import db, now
from webapp.memories.learning import duplicates
from webapp.memories.models import Memory
from webapp.shell import upkeep


def _job_names(app: Flask) -> list[str]:
    client = app.extensions["redis"]
    return sorted(job.meta["name"] for queue in Queue for job in rq_queue(client, queue).jobs)


def test_two_schedulers_enqueue_once_what_runs_and_one_takes_over(app, redis, run_jobs):
    first, second = Scheduler(redis), Scheduler(redis)
    for scheduler in (first, second) * 5:  # nor does it pile up while no worker runs
        for job in scheduler._cron_jobs:
            if job.next_enqueue_time is not None:
                job.next_enqueue_time -= timedelta(days=2)
        scheduler.enqueue_jobs()
    assert _job_names(app) == sorted(name for name, spec in JOBS.items() if spec.every)
    assert 0.5 <= first.calculate_sleep_interval() <= MAX_SLEEP < LOCK_SECONDS / 2, "often enough to keep the lock"
    assert {"sweep", "purge"} <= {job.meta["name"] for job in run_jobs()}
    assert _job_names(app) == []
    assert not second.acquire_lock()
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


def test_nights_on_which_the_machine_was_off_are_made_up_for_once(app, client):
    """Whoever shut it down every evening never had a digest, an overview or a portrait."""
    client.post("/api/memories", json={"memory_type": "fact", "content": "Keeps bees"})
    counts = []
    with app.app_context():
        db.session.execute(update(Memory).values(updated_at=now() - timedelta(days=2)))
        db.session.commit()
        for last in (None, now() + timedelta(days=3), now() - timedelta(days=3), None):
            if last is not None:
                site.set_setting(site.NIGHTS, [last.isoformat()] * 2)
                db.session.commit()
            upkeep.sweep()
            counts.append(sum(JOBS[name].is_nightly for name in _job_names(app)))
            app.extensions["redis"].flushall()
        assert duplicates.recently_changed_users() == [client.person.user_id], "what changed since the last night"
    assert counts == [0, 0, 3, 0], "and a clock that was set back puts no night off"


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
