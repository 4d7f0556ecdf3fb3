"""The jobs dashboard: with RQ 3, JSON arguments, dependencies and running jobs; no change by GET or from elsewhere."""

from __future__ import annotations

import pytest
from rq import Worker
from rq.job import Job
from rq.registry import FailedJobRegistry
from rq.results import Result
from rq.serializers import JSONSerializer

from webapp.jobspecs import JobRequest, Queue, push, rq_queue

HERE = {"Origin": "http://localhost"}


@pytest.fixture
def browser(login, make_user):
    """An admin's browser."""
    return login(make_user(is_admin=True))


@pytest.fixture
def connection(app):
    """The application's Redis."""
    return app.extensions["redis"]


@pytest.fixture
def failed_job(connection):
    """A job that failed with a message that would be markup."""
    queue = rq_queue(connection, Queue.TURN)
    job = queue.enqueue("jobs.titles.generate_title", conversation_id=1, meta={"name": "title"})
    queue.remove(job)
    registry = FailedJobRegistry(queue=queue)
    registry.add(job, ttl=100)
    Result.create_failure(job, 100, "ValueError: <img src=x onerror=alert(1)>")
    job.set_status("failed")
    return job


@pytest.mark.parametrize(
    "page",
    [
        "/",
        "/0/view/workers",
        "/0/view/jobs",
        "/0/view/jobs/turn/failed/8/asc/1",
        "/0/data/queues.json",
        "/0/data/jobs/turn/failed/8/asc/1.json",
        "/0/data/workers.json",
    ],
)
def test_pages_answer_with_their_own_policy(page, browser, failed_job):
    answer = browser.get(f"/admin/rq{page}")
    assert answer.status_code == 200
    assert "'unsafe-inline'" in answer.headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]


def test_other_pages_keep_the_strict_policy(browser):
    assert "unsafe" not in browser.get("/admin").headers["Content-Security-Policy"]


def test_static_files_load_and_the_way_back_is_there(browser):
    page = browser.get("/admin/rq/").text
    assert 'href="/admin"' in page
    for name in ("css/bootstrap.min.css", "css/main.css", "js/jquery-3.5.1.min.js", "js/underscore-umd-min.js"):
        assert f"/admin/rq/static/{name}" in page
        with browser.get(f"/admin/rq/static/{name}") as file:
            assert file.status_code == 200


def test_a_job_with_a_dependency_is_shown(browser, connection):
    queue = rq_queue(connection, Queue.TURN)
    first = queue.enqueue("jobs.titles.generate_title", conversation_id=1)
    second = queue.enqueue("jobs.titles.generate_title", conversation_id=2, depends_on=first, meta={"name": "title"})
    assert browser.get(f"/admin/rq/0/view/job/{second.id}").status_code == 200
    shown = browser.get(f"/admin/rq/0/data/job/{second.id}.json").json
    assert shown["depends_on"] == [first.id]
    assert shown["depends_on_status"] == ["active"]


def test_a_running_job_is_shown_with_its_worker(browser, connection):
    queues = [rq_queue(connection, name) for name in Queue]
    job_id = push(connection, JobRequest("title", {"conversation_id": 7}))
    worker = Worker(queues, name="busy", connection=connection, serializer=JSONSerializer)
    worker.register_birth()
    job = Job.fetch(job_id, connection=connection, serializer=JSONSerializer)
    worker.prepare_execution(job)
    (shown,) = browser.get("/admin/rq/0/data/workers.json").json["workers"]
    assert shown["name"] == "busy"
    assert shown["current_job"]["job_id"] == job_id
    assert "conversation_id=7" in shown["current_job"]["description"]


def test_what_a_job_says_cannot_become_markup(browser, failed_job):
    listed = browser.get("/admin/rq/0/data/jobs/turn/failed/8/asc/1.json").json["jobs"][0]
    single = browser.get(f"/admin/rq/0/data/job/{failed_job.id}.json").json
    for shown in (listed, single):
        assert shown["exc_info"] == "ValueError: &lt;img src=x onerror=alert(1)&gt;"


def test_a_failed_job_can_be_put_back_and_deleted(browser, failed_job, connection):
    queue = rq_queue(connection, Queue.TURN)
    assert browser.post(f"/admin/rq/job/{failed_job.id}/requeue", headers=HERE).status_code == 200
    assert queue.job_ids == [failed_job.id]
    again = queue.fetch_job(failed_job.id)
    assert again.kwargs == {"conversation_id": 1}
    assert browser.post(f"/admin/rq/job/{failed_job.id}/delete", headers=HERE).status_code == 200
    assert queue.job_ids == []


def test_all_failed_jobs_can_be_put_back_by_post_only(browser, failed_job, connection):
    refused = browser.get("/admin/rq/requeue/turn")
    assert refused.status_code == 405
    assert "POST" in refused.headers["Allow"]
    assert rq_queue(connection, Queue.TURN).job_ids == []
    assert browser.post("/admin/rq/requeue/turn", headers=HERE).json["count"] == 1
    assert rq_queue(connection, Queue.TURN).job_ids == [failed_job.id]


@pytest.mark.parametrize("origin", [{}, {"Origin": "https://elsewhere.example.org"}])
def test_changes_from_elsewhere_are_refused(origin, browser, failed_job, connection):
    assert browser.post("/admin/rq/requeue/turn", headers=origin).status_code == 403
    assert rq_queue(connection, Queue.TURN).job_ids == []


def test_others_see_and_change_nothing(login, user, anonymous, failed_job):
    mine = login(user)
    for page in ("/", "/0/data/queues.json", f"/0/view/job/{failed_job.id}", "/0/data/workers.json"):
        assert mine.get(f"/admin/rq{page}").status_code == 403
        assert anonymous.get(f"/admin/rq{page}").status_code in (303, 401)
    assert mine.post("/admin/rq/requeue/turn", headers=HERE).status_code == 403
    assert anonymous.post("/admin/rq/requeue/turn", headers=HERE).status_code in (303, 401)


def test_what_is_gone_is_not_found(browser):
    assert browser.get("/admin/rq/0/view/job/gone").status_code == 404
    assert browser.get("/admin/rq/0/data/job/gone.json").status_code == 404
    assert browser.get("/admin/rq/1/view/queues").status_code == 404
    assert browser.post("/admin/rq/job/gone/requeue", headers=HERE).status_code == 404


HOSTILE = "x');fetch('//evil.example');('"


@pytest.mark.parametrize(
    "page",
    [
        f"/0/view/jobs/{HOSTILE}/failed/8/asc/1",
        f"/0/view/jobs/turn/{HOSTILE}/8/asc/1",
        f"/0/view/jobs/turn/failed/8/{HOSTILE}/1",
        "/0/view/jobs/unknown/failed/8/asc/1",
        f"/0/data/jobs/{HOSTILE}/failed/8/asc/1.json",
        f"/0/data/jobs/turn/failed/{HOSTILE}/asc/1.json",
        f"/0/view/job/{HOSTILE}",
    ],
)
def test_a_name_in_the_address_is_known_or_not_found(page, browser, failed_job):
    answer = browser.get(f"/admin/rq{page}")
    assert answer.status_code == 404
    assert HOSTILE not in answer.text
