"""Replies come before background work on a server of one's own, and keep others' servers waiting for nothing."""

from typing import Any

import pytest
from flask import Flask
from rq.job import Job
from rq.serializers import JSONSerializer

from tests.conversations.rows import add_conversation, add_messages
from tests.support.queries import get_row
from webapp.background.job_specs import JobRequest, push
from webapp.chat.turns import turnlog
from webapp.conversations.models import Conversation, Message
from webapp.db.base import db, write_transaction
from webapp.llm.capabilities import Capabilities
from webapp.llm.errors import MalformedOutput
from webapp.llm.settings import ModelSettings
from webapp.providers import priority

TITLE = {"match": "conversation_title", "structured": {"title": "Tides and the moon"}}


@pytest.fixture
def talk(app: Flask, user: Any, monkeypatch: pytest.MonkeyPatch) -> int:
    """A conversation without a title, in which a reply begins as soon as a background call does, and ends while a job
    waits for it."""
    conversation_id = add_conversation(app, user.user_id)
    add_messages(app, conversation_id, 2, text="Why are there two tides a day, and not one")

    def end_replies(_seconds: float) -> None:
        with write_transaction():
            for row in db.session.scalars(db.select(Message)):
                row.status = "complete"

    monkeypatch.setattr(priority.time, "sleep", end_replies)
    capabilities = app.extensions["completions"].capabilities
    monkeypatch.setattr(capabilities, "answers_together", lambda _url: False)  # other tests may have taught it
    return conversation_id


def begin_reply(app: Flask, conversation_id: int) -> dict[str, Any]:
    with app.app_context(), write_transaction():
        reply = Message(conversation_id=conversation_id, role="assistant", content="", status="streaming")
        db.session.add(reply)
        db.session.flush()
        app.extensions["redis"].set(turnlog.lease_key(reply.message_id), "a process", ex=60)
    return {"first_delay": 1.2}  # two looks


def begun_during(app: Flask, model: Any, talk: int, run_jobs: Any) -> tuple[list[str], Job]:
    """How each background call ended while one reply began during the first, and the job that made them."""
    client = app.extensions["redis"]
    model.script(**TITLE)
    model.script(**TITLE, times=1, respond=lambda _body: begin_reply(app, talk))
    job_id = push(client, JobRequest("title", {"conversation_id": talk}))
    run_jobs()
    assert get_row(app, Conversation, talk).title == "Tides and the moon"
    calls = [call for call in model.calls() if call["schema"] == "conversation_title"]
    assert job_id
    return [call["outcome"] for call in calls], Job.fetch(job_id, connection=client, serializer=JSONSerializer)


def test_a_reply_that_begins_breaks_off_a_call_which_the_same_job_makes_again(app, model, talk, run_jobs):
    outcomes, job = begun_during(app, model, talk, run_jobs)
    assert outcomes == ["disconnected", "complete"]
    assert job.is_finished and job.retries_left == 3  # none of its tries was used up


@pytest.mark.parametrize("why", ["others' server", "answers together", "waited long", "process died"])
def test_a_call_goes_on_where_nothing_is_gained_and_after_half_an_hour(app, model, talk, run_jobs, monkeypatch, why):
    if why == "others' server":
        monkeypatch.setattr(priority, "is_own", lambda _url: False)
    elif why == "answers together":
        monkeypatch.setattr(app.extensions["completions"].capabilities, "answers_together", lambda _url: True)
    elif why == "waited long":
        monkeypatch.setattr(priority, "MAX_WAIT_SECONDS", 0)
    else:
        monkeypatch.setattr(turnlog, "has_lease", lambda _client, _turn_id: False)
    assert begun_during(app, model, talk, run_jobs)[0] == ["complete"]


@pytest.mark.parametrize(("error", "left"), [(MalformedOutput("?"), 0), (priority.JobPreempted(), 1)])
def test_a_call_that_ran_to_its_end_begins_the_half_hour_again_even_if_it_failed(app, monkeypatch, error, left):
    server, store = ModelSettings(base_url="http://127.0.0.1:9/v1"), app.extensions["redis"]
    monkeypatch.setattr(priority, "get_current_job", lambda: True)
    monkeypatch.setattr(priority, "MAX_WAIT_SECONDS", 0)
    calls = priority.Priority(store, Capabilities(), lambda: {server.base_url})
    with pytest.raises(type(error)), calls.after_replies(server, None):
        raise error
    assert len(store.keys("background:waits:*")) == left
