"""Enqueueing after the commit: never before, never for what was rolled back, and never at the request's expense."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from flask import Flask
from redis import Redis
from redis.client import Pipeline
from redis.exceptions import ConnectionError as Away
from rq import Queue as RQQueue

from webapp.background.job_specs import JobRequest, Queue, note_start, pending_job_id, pending_key, push, rq_queue
from webapp.background.queues import enqueue, enqueue_after_commit
from webapp.db.base import db


def _queued_turns(app: Flask) -> list[dict]:
    return [job.kwargs for job in rq_queue(app.extensions["redis"], Queue.TURN).jobs]


def _begin() -> None:
    db.session.execute(db.text("SELECT 1"))


def test_only_a_commit_enqueues(app_context):
    _begin()
    enqueue_after_commit("title", conversation_id=1)
    assert _queued_turns(app_context) == []
    db.session.rollback()
    _begin()
    db.session.commit()
    assert _queued_turns(app_context) == []
    _begin()
    enqueue_after_commit("title", conversation_id=2)
    db.session.commit()
    assert _queued_turns(app_context) == [{"conversation_id": 2}]
    _begin()
    db.session.commit()
    assert len(_queued_turns(app_context)) == 1


def test_a_released_savepoint_enqueues_nothing(app_context):
    with db.session.begin_nested():
        enqueue_after_commit("title", conversation_id=1)
    assert _queued_turns(app_context) == []
    db.session.commit()
    assert _queued_turns(app_context) == [{"conversation_id": 1}]


def test_a_rolled_back_savepoint_forgets_its_own_jobs_only(app_context):
    _begin()
    enqueue_after_commit("title", conversation_id=1)
    outer = db.session.begin_nested()
    enqueue_after_commit("title", conversation_id=2)
    inner = db.session.begin_nested()
    enqueue_after_commit("title", conversation_id=3)
    inner.rollback()
    enqueue_after_commit("title", conversation_id=4)
    assert _queued_turns(app_context) == []
    outer.commit()
    again = db.session.begin_nested()
    enqueue_after_commit("title", conversation_id=5)
    again.rollback()
    db.session.commit()
    assert _queued_turns(app_context) == [{"conversation_id": n} for n in (1, 2, 4)]


def test_an_unknown_name_is_refused_where_it_is_written(app_context):
    with pytest.raises(KeyError):
        enqueue_after_commit("titel", conversation_id=1)


def test_redis_away_at_the_commit_does_not_fail_it(app_context, monkeypatch):
    nowhere = Redis.from_url("unix:///nonexistent/redis.sock")
    monkeypatch.setitem(app_context.extensions, "redis", nowhere)
    _begin()
    enqueue_after_commit("title", conversation_id=1)
    db.session.commit()


def test_requests_for_the_same_work_share_one_job_until_it_starts(app_context, redis):
    first = enqueue("title", conversation_id=1, turn_id=10)
    assert first
    assert enqueue("title", conversation_id=1, turn_id=11) is None
    assert enqueue("title", conversation_id=2, turn_id=12)
    key = JobRequest("title", {"conversation_id": 1}).key
    assert note_start(redis, key, first) == [10, 11]
    second = enqueue("title", conversation_id=1, turn_id=13)
    assert second, "what comes after the start is new work"
    assert note_start(redis, key, first) == [10, 11, 13], "a retried job takes on those that came since"
    assert note_start(redis, key, second) == []
    assert len(_queued_turns(app_context)) == 3


def test_a_job_that_could_not_be_queued_blocks_no_later_one(monkeypatch, redis):
    """The connection breaks with marker and job half sent: neither is there."""
    request = JobRequest("title", {"conversation_id": 1})
    real = RQQueue.push_job_id

    def broken(self: RQQueue, *args: Any, **options: Any) -> None:
        real(self, *args, **options)
        raise Away

    with monkeypatch.context() as patched:
        patched.setattr(RQQueue, "push_job_id", broken)
        with pytest.raises(Away):
            push(redis, request)
    assert not redis.exists(pending_key(request.key))
    assert push(redis, request)


def test_a_marker_without_its_job_blocks_nothing(redis):
    """Redis was paused in the midst, or a worker took the job and died before it began."""
    request = JobRequest("index", {"user_id": 1})
    redis.set(pending_key(request.key), "a job that never was")
    assert pending_job_id(redis, request) is None
    first = push(redis, request)
    assert first
    assert push(redis, request) is None
    assert redis.lpop("rq:queue:index").decode() == first  # by a worker that dies now
    assert push(redis, request)


def test_a_job_of_our_own_whose_answer_was_lost_is_ours(app_context, monkeypatch, redis):
    request = JobRequest("title", {"conversation_id": 1})
    real, failures = Pipeline._execute_transaction, [1]

    def lose_answer(self: Pipeline, *args: Any, **options: Any) -> Any:
        answer = real(self, *args, **options)
        if failures:
            failures.pop()
            raise Away("the connection broke after the command was carried out")
        return answer

    with monkeypatch.context() as patched:
        patched.setattr(Pipeline, "_execute_transaction", lose_answer)
        job_id = push(redis, request)
    assert job_id and not failures
    assert _queued_turns(app_context) == [{"conversation_id": 1}]


def test_two_who_ask_at_once_queue_one_job(redis):
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda n: push(redis, JobRequest("title", {"conversation_id": 1}, n)), range(40)))
    assert len([job_id for job_id in made if job_id]) == 1
    key = JobRequest("title", {"conversation_id": 1}).key
    assert note_start(redis, key, next(job_id for job_id in made if job_id)) == list(range(40))


def test_the_start_of_a_job_leaves_the_marker_of_another(redis):
    request = JobRequest("title", {"conversation_id": 1})
    waiting = push(redis, request)
    note_start(redis, request.key, "an earlier one that is tried again")
    assert pending_job_id(redis, request) == waiting


def test_redis_away_fails_no_request_that_can_do_without(app, client, monkeypatch):
    monkeypatch.setitem(app.extensions, "redis", Redis.from_url("unix:///nonexistent/redis.sock"))
    assert client.post("/api/conversations", json={"title": "x"}).status_code == 201
    assert client.get("/api/conversations").status_code == 200
