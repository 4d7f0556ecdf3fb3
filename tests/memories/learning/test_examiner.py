"""The exam as a job: owed until there is a grade, a paper at a time, resumed after a failure, and believed."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flask import Flask
from rq.job import Job
from sqlalchemy import delete

from fakemodel.testing import ServerHandle
from tests.memories.learning.test_exam import rights, wrongs
from tests.support.grades import grade_model, grades_put_back
from tests.support.queries import execute
from webapp.background import job_specs, queues
from webapp.llm.errors import ModelUnavailable
from webapp.memories.learning import examiner, model_call
from webapp.memories.learning.exam import Paper, papers
from webapp.providers.catalogue import ENVIRONMENT_MODEL
from webapp.providers.grades import background_model, grade_of, progress_key, request_exam, target_of
from webapp.providers.models import MemoryGrade
from webapp.shell import upkeep

Jobs = Callable[..., list[Job]]


@pytest.fixture(autouse=True)
def no_grades(app: Flask) -> Iterator[None]:
    """No model has a grade."""
    with grades_put_back(app):
        execute(app, delete(MemoryGrade))
        yield


def answer_with(model: ServerHandle, say: Callable[[Paper], list[Any]]) -> None:
    """Let the model answer every paper so."""

    def respond(body: dict[str, Any]) -> dict[str, Any]:
        shown = str(body["messages"][-1]["content"])
        paper = next(paper for paper in papers() if paper.messages[0].right[0].quote in shown)
        return {"structured": {"statements": say(paper)}}

    model.script(match="memory_operations", respond=respond, times=None)


def question_count(model: ServerHandle) -> int:
    return len([call for call in model.calls() if call["schema"] == "memory_operations"])


def sweep(app: Flask) -> None:
    """Sweep, some time after the last one."""
    app.extensions["redis"].delete(f"owed:{job_specs.JobRequest('exam', {'model': ENVIRONMENT_MODEL}).key}")
    with app.app_context():
        upkeep.sweep()


def exams(run_jobs: Jobs, **wishes: Any) -> int:
    return len([job for job in run_jobs(**wishes) if job.meta["name"] == "exam"])


def grade(app: Flask) -> MemoryGrade | None:
    with app.app_context():
        return grade_of(background_model())


@pytest.mark.parametrize("is_right", [True, False])
def test_the_model_at_work_is_examined_once_and_trusted_if_it_is_right(app, model, run_jobs, is_right):
    """A paper is a job, so that others come between."""
    answer_with(model, rights if is_right else lambda paper: [*rights(paper), *wrongs(paper)])
    with app.app_context():
        assert not model_call.background_model_is_trusted()
    for number in (len(papers()), 0):
        sweep(app)
        assert exams(run_jobs) == number
    assert question_count(model) == len(papers())
    found = grade(app)
    assert found is not None
    assert (found.recall, found.false_share, found.cases) == (1, 0 if is_right else 1, 40)
    assert found.key_share == 1 or not is_right
    with app.app_context():
        assert model_call.background_model_is_trusted() is is_right
        assert not app.extensions["redis"].exists(progress_key(background_model()))
    assert list(job_specs.WORKERS[0]).index(job_specs.JOBS["exam"].queue) == len(job_specs.WORKERS[0]) - 1


@pytest.mark.parametrize("answer", ["I would rather not.", '{"statements": [{"quote": "Hi'])
def test_what_cannot_be_read_finds_nothing(answer, app, model, run_jobs):
    model.script(match="memory_operations", reply=answer, times=None)
    sweep(app)
    run_jobs()
    found = grade(app)
    assert found is not None and found.recall == found.false_share == 0


def test_a_failure_stores_no_grade_and_the_exam_goes_on_where_it_was(app, model, run_jobs):
    answer_with(model, rights)
    with app.app_context():
        for _ in range(3):
            assert examiner.examine(ENVIRONMENT_MODEL)
    done = question_count(model)
    model.script(match="memory_operations", fault={"http_status": 503}, times=None)
    with app.app_context(), pytest.raises(ModelUnavailable):
        examiner.examine(ENVIRONMENT_MODEL)
    assert grade(app) is None
    model.reset()
    answer_with(model, rights)
    sweep(app)
    run_jobs()
    assert grade(app) is not None
    assert question_count(model) == len(papers()) - done


def test_one_that_keeps_failing_is_asked_ever_more_rarely(app, model, run_jobs):
    model.script(match="memory_operations", fault={"http_status": 401}, times=None)
    key = job_specs.JobRequest("exam", {"model": ENVIRONMENT_MODEL}).key
    pauses = []
    for _ in range(3):
        sweep(app)
        run_jobs(failures=True)
        pauses.append(app.extensions["redis"].ttl(f"owed:{key}"))
    assert grade(app) is None
    assert pauses == sorted(pauses) and pauses[-1] > queues.MIN_RETRY_SECONDS


def test_lost_marks_begin_the_exam_again(app, model, run_jobs):
    answer_with(model, rights)
    with app.app_context():
        examiner.examine(ENVIRONMENT_MODEL)
        app.extensions["redis"].delete(progress_key(background_model()))
    sweep(app)
    run_jobs()
    assert question_count(model) == len(papers()) + 1
    assert grade(app) is not None


def test_on_demand_it_is_examined_from_the_start_and_the_old_grade_holds_until_then(app, model, run_jobs):
    with app.app_context():
        grade_model(recall=1.0)
        examiner.examine(ENVIRONMENT_MODEL)  # one that was left unfinished
        assert request_exam(ENVIRONMENT_MODEL) == request_exam(ENVIRONMENT_MODEL)
        assert model_call.background_model_is_trusted()
    model.reset()
    answer_with(model, lambda _paper: [])
    assert exams(run_jobs) == question_count(model) == len(papers())
    found = grade(app)
    assert found is not None and found.recall == 0


def test_the_demonstration_is_not_examined_and_a_model_that_is_gone_neither(app, model, run_jobs, monkeypatch):
    with app.app_context():
        assert not examiner.examine("999/gone")
        assert target_of(ENVIRONMENT_MODEL) == background_model()
    monkeypatch.setitem(
        app.extensions, "settings", app.extensions["settings"].model_copy(update={"offline_model": True})
    )
    sweep(app)
    assert exams(run_jobs) == question_count(model) == 0
