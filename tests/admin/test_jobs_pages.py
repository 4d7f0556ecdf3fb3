"""The RQ dashboard: lists, single jobs, workers and the schedule, for admins, under the site's strict policy."""

import pytest
import rq
from rq import Worker
from rq.job import Job
from rq.registry import FailedJobRegistry, ScheduledJobRegistry
from rq.results import Result
from rq.serializers import JSONSerializer

from testkit.people import post_form
from webapp.background.job_specs import JobRequest, Queue, push, rq_queue
from webapp.extensions import make_redis

HOSTILE = "x');fetch('//evil.example');('"


def add_failed(redis, function, **wishes):
    """A job that has failed."""
    queue = rq_queue(redis, Queue.TURN)
    job = queue.enqueue(function, **wishes)
    queue.remove(job)
    FailedJobRegistry(queue=queue).add(job, ttl=100)
    job.set_status("failed")
    return job


@pytest.fixture
def failed_job(redis):
    """A job that failed with a message that would be markup."""
    job = add_failed(redis, "jobs.model_work.generate_title", conversation_id=1, meta={"name": "title"})
    Result.create_failure(job, 100, "ValueError: <img src=x onerror=alert(1)>")
    return job


def pages(job_id="gone"):
    """Every page, by address."""
    return ["", "/", "/queues/turn/failed", "/queues/turn/queued", "/queues/batch/finished?page=2", f"/jobs/{job_id}"]


def test_pages_answer_under_the_strict_policy(browser, failed_job):
    for page in pages(failed_job.id):
        answer = browser.get(f"/admin/rq{page}")
        assert (page, answer.status_code) == (page, 200)
        assert "unsafe" not in answer.headers["Content-Security-Policy"]
        assert "<script>" not in answer.text and " onclick" not in answer.text
    assert "Jobs" in browser.get("/admin/rq").text
    assert 'href="/admin/rq/"' in browser.get("/admin").text or 'href="/admin/rq"' in browser.get("/admin").text


def test_the_overview_renews_itself(browser, failed_job):
    part = browser.get("/admin/rq/", headers={"HX-Request": "true"}).text
    assert "<html" not in part and "1 failed in turn" in part
    assert part.count('scope="col"') == 1 + len(Queue), "a column for each queue: a phone has room for no more"


def test_a_name_in_the_address_is_known_or_not_found(browser, failed_job):
    queues = (f"/queues/{HOSTILE}/failed", f"/queues/turn/{HOSTILE}", "/queues/unknown/failed", "/queues/turn/unknown")
    for page in (*queues, f"/jobs/{HOSTILE}", "/0/view/jobs/x')/failed/8/asc/1", "/0/data/queues.json"):
        answer = browser.get(f"/admin/rq{page}")
        assert answer.status_code in (404, 405), page  # 405: below a job there are only actions
        assert HOSTILE not in answer.text


def test_what_a_job_says_cannot_become_markup(browser, failed_job):
    page = browser.get(f"/admin/rq/jobs/{failed_job.id}").text
    assert "ValueError: &lt;img src=x onerror=alert(1)&gt;" in page
    assert "<img src=x" not in page


def test_a_job_with_a_dependency_is_shown(browser, redis):
    queue = rq_queue(redis, Queue.TURN)
    first = queue.enqueue("jobs.model_work.generate_title", conversation_id=1)
    second = queue.enqueue("jobs.model_work.generate_title", conversation_id=2, depends_on=first)
    assert first.id in browser.get(f"/admin/rq/jobs/{second.id}").text
    assert second.id in browser.get("/admin/rq/queues/turn/deferred").text


def test_a_running_job_is_shown_with_its_worker(browser, redis):
    queues = [rq_queue(redis, name) for name in Queue]
    job_id = push(redis, JobRequest("title", {"conversation_id": 7}))
    worker = Worker(queues, name="first", connection=redis, serializer=JSONSerializer)
    worker.register_birth()
    job = Job.fetch(job_id, connection=redis, serializer=JSONSerializer)
    worker.prepare_execution(job)
    page = browser.get("/admin/rq/").text
    assert "at work" in page and f"/admin/rq/jobs/{job_id}" in page


def test_a_failed_job_is_put_back_and_deleted(browser, failed_job, redis):
    queue = rq_queue(redis, Queue.TURN)
    path = f"/admin/rq/jobs/{failed_job.id}"
    assert post_form(browser, f"{path}/requeue", "/admin").status_code == 303
    assert queue.job_ids == [failed_job.id]
    again = queue.fetch_job(failed_job.id)
    assert again.kwargs == {"conversation_id": 1}
    assert post_form(browser, f"{path}/requeue", "/admin").status_code == 409
    assert post_form(browser, f"{path}/delete", "/admin").status_code == 303
    assert queue.job_ids == []
    assert post_form(browser, f"{path}/delete", "/admin").status_code == 404


def test_after_a_job_is_deleted_comes_the_list_it_was_in(browser, failed_job, redis):
    waiting = push(redis, JobRequest("title", {"conversation_id": 7}))
    for job_id, state in ((waiting, "queued"), (failed_job.id, "failed")):
        answer = post_form(browser, f"/admin/rq/jobs/{job_id}/delete", "/admin")
        assert answer.location.endswith(f"/queues/turn/{state}")


def test_a_job_that_another_program_queued_in_its_own_way_is_shown_and_deleted(browser, redis):
    queue = rq.Queue("turn", connection=redis)
    foreign = queue.enqueue("os.getcwd")
    for state in ("queued", "failed"):
        foreign.set_status(state)
        assert foreign.id in browser.get("/admin/rq/queues/turn/queued").text
        assert browser.get(f"/admin/rq/jobs/{foreign.id}").status_code == 200
    assert post_form(browser, f"/admin/rq/jobs/{foreign.id}/delete", "/admin").status_code == 303
    assert queue.job_ids == []


def test_a_waiting_job_is_cancelled(browser, redis):
    job_id = push(redis, JobRequest("title", {"conversation_id": 7}))
    assert post_form(browser, f"/admin/rq/jobs/{job_id}/cancel", "/admin").status_code == 303
    assert rq_queue(redis, Queue.TURN).job_ids == []
    assert job_id in browser.get("/admin/rq/queues/turn/canceled").text


def test_a_running_job_that_cannot_be_told_to_stop(app, browser, redis, silent_redis_url, monkeypatch):
    """Redis may keep channels from its users: stopping needs one, cancelling what waits does not."""
    running, waiting = (push(redis, JobRequest("title", {"conversation_id": number})) for number in (7, 8))
    worker = Worker([rq_queue(redis, Queue.TURN)], connection=redis, serializer=JSONSerializer)
    worker.prepare_execution(job := rq_queue(redis, Queue.TURN).fetch_job(running))
    worker.prepare_job_execution(job)
    with make_redis(silent_redis_url) as silent:
        monkeypatch.setitem(app.extensions, "redis", silent)
        answer = post_form(browser, f"/admin/rq/jobs/{running}/cancel", "/admin")
        assert answer.status_code == 409 and "does not let us tell a running job to stop" in answer.text
        assert post_form(browser, f"/admin/rq/jobs/{waiting}/cancel", "/admin").status_code == 303


def test_a_job_that_waits_for_its_time_is_run_now(browser, redis):
    queue = rq_queue(redis, Queue.TURN)
    job_id = push(redis, JobRequest("title", {"conversation_id": 7}))
    job = queue.fetch_job(job_id)
    queue.remove(job)
    job.set_status("scheduled")
    ScheduledJobRegistry(queue=queue).add(job, 4_000_000_000)
    assert post_form(browser, f"/admin/rq/jobs/{job_id}/run", "/admin").status_code == 303
    assert queue.job_ids == [job_id]
    assert post_form(browser, f"/admin/rq/jobs/{job_id}/run", "/admin").status_code == 409


def test_all_of_a_list_at_once(browser, failed_job, redis):
    queue = rq_queue(redis, Queue.TURN)
    assert post_form(browser, "/admin/rq/queues/turn/failed/requeue", "/admin").status_code == 303
    assert queue.job_ids == [failed_job.id]
    assert post_form(browser, "/admin/rq/queues/turn/queued/delete", "/admin").status_code == 303
    assert queue.job_ids == []
    assert post_form(browser, "/admin/rq/queues/turn/started/delete", "/admin").status_code == 409


def test_the_schedule_can_be_run_now(browser, redis):
    assert post_form(browser, "/admin/rq/schedule/sweep", "/admin").status_code == 303
    assert rq_queue(redis, Queue.UPKEEP).count == 1
    assert '<div class="row-note">queued ' in browser.get("/admin/rq/queues/upkeep/queued").text, "its name stands once"
    assert post_form(browser, "/admin/rq/schedule/title", "/admin").status_code == 404


@pytest.mark.parametrize(
    ("function", "meta", "answer"),
    [("os.getcwd", None, 409), ("jobs.titles.generate_title", {"name": "title"}, 303)],
    ids=["of another program", "of an earlier version"],
)
def test_only_a_job_of_ours_is_put_back(browser, redis, function, meta, answer):
    job, is_ours = add_failed(redis, function, meta=meta), answer == 303
    page = browser.get(f"/admin/rq/jobs/{job.id}").text
    assert f"{job.id}/delete" in page and (f"{job.id}/requeue" in page) is is_ours
    assert post_form(browser, f"/admin/rq/jobs/{job.id}/requeue", "/admin").status_code == answer
    assert rq_queue(redis, Queue.TURN).job_ids == ([job.id] if is_ours else [])
