"""The sweep asks soon again for what went well or met an outage, and ever more rarely for what fails by itself."""

from datetime import timedelta

import pytest
from rq.registry import FailedJobRegistry
from sqlalchemy.exc import OperationalError

from jobs.work_loop import forget_failures, note_failure
from tests.memories.conversing import answers, converse, operation
from tests.support.queries import change_row, get_row
from webapp.accounts.models import IdempotencyKey
from webapp.background import job_specs, queues
from webapp.conversations.models import Conversation
from webapp.db.base import db, now, write_transaction
from webapp.memories.learning import extraction
from webapp.shell import upkeep

TEA = operation("I prefer green tea", "Prefers green tea.", memory_type="preference")


@pytest.fixture
def talk(app, user) -> int:
    return converse(app, user.user_id, "I prefer green tea")


def sweep(app, talk: int, *, rest: timedelta = timedelta(minutes=2)) -> None:
    """Let two minutes or more pass for the conversation, owe it an extraction, and sweep."""
    with app.app_context():
        with write_transaction():
            row = db.session.get(Conversation, talk)
            row.extraction_due, row.updated_at = True, now() - rest
        upkeep.sweep()


def key(talk: int) -> str:
    return job_specs.JobRequest("extract", {"conversation_id": talk}).key


def pause(app, talk: int) -> int:
    """Seconds until the sweep may ask again."""
    return max(0, app.extensions["redis"].ttl(f"owed:{key(talk)}"))


def elapse(app, talk: int) -> None:
    """Let the pause pass."""
    app.extensions["redis"].delete(f"owed:{key(talk)}")


def extractions(run_jobs, **options) -> int:
    return len([job for job in run_jobs(**options) if job.meta["name"] == "extract"])


def test_what_rested_for_long_is_still_learnt(app, model, talk, run_jobs):
    """While the model that reads was away for more than a week, what people said was never learnt."""
    answers(model, TEA, times=None)
    sweep(app, talk, rest=timedelta(days=30))
    assert extractions(run_jobs) == 1


def test_what_has_failed_for_a_week_is_asked_for_once_a_day(app, talk):
    app.extensions["redis"].set(f"owed:{key(talk)}:tries", queues.LATER_TRIES)
    sweep(app, talk)
    assert queues.MAX_RETRY_SECONDS < pause(app, talk) <= queues.LATER_SECONDS


def test_where_memory_was_switched_off_nothing_is_asked_for_any_more(app, model, talk, run_jobs):
    change_row(app, Conversation, talk, uses_memory=False)
    sweep(app, talk)
    assert extractions(run_jobs) == 1
    assert not get_row(app, Conversation, talk).extraction_due


def test_what_fails_in_a_sweep_holds_up_nothing_else(app, model, talk, run_jobs, monkeypatch):
    def fail(*_given: object) -> int:
        raise KeyError("one row")

    answers(model, TEA, times=None)
    with monkeypatch.context() as broken:
        broken.setattr(upkeep, "claim_due", fail)
        broken.setattr(upkeep, "users_awaiting_vectors", fail)
        with pytest.raises(ExceptionGroup) as failed:
            sweep(app, talk)
    assert [error.__notes__ for error in failed.value.exceptions] == [["in claimed"], ["in index"]]
    assert extractions(run_jobs) == 1


def test_what_fails_in_a_purge_holds_up_nothing_else(app, user, monkeypatch):
    def fail() -> int:
        raise KeyError("one row")

    with app.app_context():
        with write_transaction():
            old = {"request_hash": "", "status": 200, "body": {}, "created_at": now() - timedelta(days=2)}
            db.session.add(IdempotencyKey(user_id=user.user_id, key="old", **old))
        monkeypatch.setattr(upkeep, "purge_reports", fail)
        monkeypatch.setattr(upkeep, "sum_records", lambda: added.append(1))
        added: list[int] = []
        with pytest.raises(KeyError):
            upkeep.purge()
        assert added and db.session.query(IdempotencyKey).count() == 0


def ask_soon_each_time(app, talk: int, run_jobs) -> None:
    """The sweep asks again and again, without a pause that grows."""
    for _ in range(6):
        sweep(app, talk)
        assert extractions(run_jobs) == 1
        assert pause(app, talk) <= queues.MIN_RETRY_SECONDS
        elapse(app, talk)


def test_what_goes_well_each_time_is_asked_for_each_time(app, model, talk, run_jobs):
    """With a summary each turn the extraction waits for the sweep each turn: 600, 1,200, 2,400, 4,800 s it was."""
    answers(model, TEA, times=None)
    ask_soon_each_time(app, talk, run_jobs)


def test_after_an_outage_of_the_model_it_is_done_within_a_minute(app, model, talk, run_jobs):
    model.script(match="memory_operations", fault={"http_status": 503})
    ask_soon_each_time(app, talk, run_jobs)
    failed = FailedJobRegistry(queue=job_specs.rq_queue(app.extensions["redis"], job_specs.Queue.TURN))
    assert failed.get_job_count(cleanup=False) == 0, "an outage is nothing somebody has to look at, job by job"
    model.reset()
    answers(model, TEA)
    sweep(app, talk)
    assert extractions(run_jobs) == 1


def test_what_fails_by_itself_is_asked_for_ever_more_rarely(app, model, talk, run_jobs):
    model.script(match="memory_operations", reply="I will not.")
    pauses = []
    for _ in range(7):
        sweep(app, talk)
        extractions(run_jobs, failures=True)
        pauses.append(pause(app, talk))
        elapse(app, talk)
    assert pauses[0] < pauses[1] < pauses[2] < pauses[3]
    assert pauses[-1] <= queues.MAX_RETRY_SECONDS == 900
    model.reset()
    answers(model, TEA)
    sweep(app, talk)
    extractions(run_jobs)
    assert pause(app, talk) <= queues.MIN_RETRY_SECONDS


def test_a_database_that_was_away_is_not_held_against_the_work(app, talk, run_jobs, monkeypatch):
    def away(*_args, **_options):
        raise OperationalError("SELECT", {}, Exception(2013, "lost"))

    with monkeypatch.context() as patched:
        patched.setattr(extraction, "extract", away)
        for _ in range(4):
            sweep(app, talk)
            extractions(run_jobs, failures=True)
            assert pause(app, talk) <= queues.MIN_RETRY_SECONDS
            elapse(app, talk)


def test_what_fails_for_ever_holds_up_nothing_behind_it(app, user, talk, monkeypatch):
    """Of 200 conversations that could not be read, the newest, each sweep saw these alone."""
    monkeypatch.setattr(queues, "MAX_OWED", 1)
    failing = converse(app, user.user_id, "I prefer black tea")
    sweep(app, failing)
    assert (pause(app, failing) > 0, pause(app, talk)) == (True, 0)
    sweep(app, talk)
    assert pause(app, talk) > 0


def test_the_sweep_spends_no_try_on_what_waits_already(app, talk, run_jobs, model):
    job_specs.push(app.extensions["redis"], job_specs.JobRequest("extract", {"conversation_id": talk}))
    sweep(app, talk)
    assert pause(app, talk) == 0
    answers(model, TEA)
    assert extractions(run_jobs) == 1


def test_a_failure_is_forgotten_once_its_work_is_done(app, model, talk, run_jobs, redis):
    """24 jobs stood as failed that the sweep had done long ago."""
    queue = job_specs.rq_queue(redis, job_specs.Queue.TURN)
    model.script(match="memory_operations", reply="I will not.")
    sweep(app, talk)
    (failed,) = run_jobs(failures=True)
    assert failed.id in FailedJobRegistry(queue=queue)
    note_failure(redis, key(talk), failed.id)
    forget_failures(redis, queue, key(talk))
    assert failed.id not in FailedJobRegistry(queue=queue)
    assert not redis.exists(f"rq:job:{failed.id}")
