"""The title job, and what every job does through the runner: twice, interrupted, failing, reporting to turns."""

from datetime import UTC, datetime

import pytest
from flask import Flask
from rq.job import Job
from rq.registry import ScheduledJobRegistry
from rq.serializers import JSONSerializer

from testkit.people import Person
from testkit.processes import wait_until
from tests.conversations.rows import add_conversation, add_messages
from tests.support.queries import change_row, get_row
from webapp.background.job_specs import JOBS, JobRequest, Queue, push, rq_queue
from webapp.background.queues import background_failure
from webapp.chat.turns import turnlog
from webapp.conversations import service, titles
from webapp.conversations.models import Conversation, Message
from webapp.conversations.schemas import ConversationChanges
from webapp.db.base import db, write_transaction
from webapp.extensions import redis
from webapp.providers.clients import completions
from webapp.shell import upkeep
from webapp.text.provenance import FORGOTTEN

TITLE = {"match": "conversation_title", "structured": {"title": "Tides and the moon"}}


@pytest.fixture
def untitled_id(app: Flask, user: Person) -> int:
    """A conversation with one exchange and no title."""
    conversation_id = add_conversation(app, user.user_id)
    add_messages(app, conversation_id, 2, text="Why are there two tides a day, and not one")
    return conversation_id


def _title(app: Flask, conversation_id: int) -> tuple[str | None, str]:
    row = get_row(app, Conversation, conversation_id)
    return row.title, row.title_source


def _ask(app: Flask, conversation_id: int, turn_id: int | None = None) -> str | None:
    client = app.extensions["redis"]
    if turn_id is not None:
        client.xadd(turnlog.log_key(turn_id), turnlog.fields("turn", {}))
        turnlog.note_pending_jobs(client, turn_id, ["title"])
    return push(client, JobRequest("title", {"conversation_id": conversation_id}, turn_id))


def _kinds(app: Flask, turn_id: int) -> list[str]:
    return [entry.kind for entry in turnlog.read(app.extensions["redis"], turn_id)]


def _again(app: Flask, job_id: str) -> None:
    """Bring a job that waits for its next try forward."""
    client = app.extensions["redis"]
    queue = rq_queue(client, Queue.TURN)
    ScheduledJobRegistry(queue=queue).remove(job_id)
    queue.enqueue_job(Job.fetch(job_id, connection=client, serializer=JSONSerializer))


def test_twice_is_once(app, untitled_id, model, run_jobs):
    model.script(**TITLE)
    with app.app_context(), write_transaction():
        before = db.session.get(Conversation, untitled_id).updated_at
        question = db.session.query(Message).filter_by(conversation_id=untitled_id, role="user").one()
        question.spans = [(question.content.index("not one"), len(question.content), FORGOTTEN)]
    for _ in range(2):
        _ask(app, untitled_id)
        assert len(run_jobs()) == 1
    assert _title(app, untitled_id) == ("Tides and the moon", "auto")
    (call,) = [call for call in model.calls() if call["schema"] == "conversation_title"]
    assert str(call).count("two tides") == 2 and "not one 0" not in str(call), "no title is made of what was forgotten"
    assert get_row(app, Conversation, untitled_id).updated_at == before, "a title is no activity"


def test_several_turns_are_settled_by_one_job(app, untitled_id, model, run_jobs):
    model.script(**TITLE)
    for turn_id in (101, 102, 103):
        _ask(app, untitled_id, turn_id)
    assert len(run_jobs()) == 1
    for turn_id in (101, 102, 103):
        assert _kinds(app, turn_id) == ["turn", "title", "settled"]


def test_a_title_of_the_users_wins_every_race(app, untitled_id, user, model, run_jobs, monkeypatch):
    model.script(**TITLE)
    real = titles.set_automatic_title

    def late(conversation_id: int, title: str) -> bool:
        db.session.rollback()
        with app.app_context(), write_transaction():
            service.update_conversation(user.user_id, conversation_id, ConversationChanges(title="Mine"))
        return real(conversation_id, title)

    monkeypatch.setattr(titles, "set_automatic_title", late)
    _ask(app, untitled_id, 101)
    run_jobs()
    assert _title(app, untitled_id) == ("Mine", "user")
    assert _kinds(app, 101) == ["turn", "settled"]
    _ask(app, untitled_id)
    run_jobs()
    assert _title(app, untitled_id) == ("Mine", "user")


@pytest.mark.parametrize("answer", [{"fault": {"http_status": 401}}, {"reply": "no JSON at all {"}])
def test_an_error_no_retry_cures_settles_and_takes_the_first_words(app, untitled_id, model, run_jobs, answer):
    model.script(match="conversation_title", **answer)
    _ask(app, untitled_id, 101)
    run_jobs()
    assert _title(app, untitled_id) == ("Why are there two tides a…", "auto")
    assert _kinds(app, 101)[-1] == "settled"
    with app.app_context():
        assert ("did not accept the API key" in background_failure(redis())) == ("fault" in answer)
        model.reset()
        completions().complete_text([{"role": "user", "content": "Are you back?"}])
        assert background_failure(redis()) == ""


def test_a_question_that_was_asked_back_is_no_title(app, user, model, run_jobs):
    talk = add_conversation(app, user.user_id)
    _, reply = add_messages(app, talk, 2, text="Ich ziehe nach Graz")
    change_row(app, Message, reply, content="Schön! Wie groß ist die neue Wohnung?")
    model.script(match="conversation_title", structured={"title": "Wie groß ist die neue Wohnung?"})
    _ask(app, talk)
    run_jobs()
    assert _title(app, talk)[0] == "Ich ziehe nach Graz 0"


def test_an_error_that_may_pass_is_retried_and_in_the_end_settles(app, untitled_id, model, run_jobs):
    model.script(match="conversation_title", fault={"http_status": 503})
    job_id = _ask(app, untitled_id, 101)
    for _ in range(len(JOBS["title"].retries)):
        run_jobs(failures=True)
        assert _kinds(app, 101) == ["turn"], "not settled while there are tries left"
        _again(app, job_id)
    run_jobs(failures=True)
    assert _kinds(app, 101) == ["turn", "settled"]
    assert _title(app, untitled_id) == (None, "none")
    with app.app_context():
        upkeep.sweep()
    model.script(**TITLE)
    run_jobs()
    assert _title(app, untitled_id) == ("Tides and the moon", "auto"), "the sweep finds what is still owed"


def test_dying_between_answer_and_commit_loses_and_doubles_nothing(app, untitled_id, model, run_jobs, monkeypatch):
    model.script(**TITLE)
    job_id = _ask(app, untitled_id, 101)

    def die(*_: object) -> bool:
        raise RuntimeError("killed")

    with monkeypatch.context() as patched:
        patched.setattr(titles, "set_automatic_title", die)
        run_jobs(failures=True)
    assert _title(app, untitled_id) == (None, "none")
    _again(app, job_id)
    run_jobs()
    assert _title(app, untitled_id) == ("Tides and the moon", "auto")
    assert _kinds(app, 101) == ["turn", "title", "settled"]


@pytest.mark.slow
def test_a_killed_worker_loses_nothing(app, untitled_id, live_server, model):
    model.script(match="conversation_title", structured={"title": "Too late"}, first_delay=60, times=1)
    _ask(app, untitled_id)
    model.wait_for(lambda calls: any(call["schema"] == "conversation_title" for call in calls), timeout=30)
    live_server.kill_worker()
    assert _title(app, untitled_id) == (None, "none")
    model.script(**TITLE)
    live_server.start_worker()
    with app.app_context():
        upkeep.sweep()
    wait_until(lambda: _title(app, untitled_id)[1] == "auto", "the title", seconds=30)
    assert _title(app, untitled_id)[0] == "Tides and the moon"


def test_redis_emptied_before_it_ran(app, untitled_id, model, run_jobs):
    model.script(**TITLE)
    _ask(app, untitled_id)
    app.extensions["redis"].flushall()
    assert run_jobs() == []
    with app.app_context():
        assert upkeep.sweep()["title"] == 1
        assert upkeep.sweep()["title"] == 0, "asked for once, not at every sweep"
    run_jobs()
    assert _title(app, untitled_id) == ("Tides and the moon", "auto")


def test_titles_are_owed_where_something_was_answered(app, user, untitled_id):
    add_conversation(app, user.user_id)
    add_messages(app, add_conversation(app, user.user_id), 1)
    add_messages(app, add_conversation(app, user.user_id, title="x", title_source="user"), 2)
    stopped = add_conversation(app, user.user_id)
    reply = add_messages(app, stopped, 2)[1]
    with app.app_context():
        with write_transaction():
            db.session.execute(
                db.text("UPDATE messages SET content = '', status = 'stopped' WHERE message_id = :id"), {"id": reply}
            )
        assert list(service.conversations_without_title(since=datetime(2020, 1, 1, tzinfo=UTC))) == [untitled_id]


@pytest.mark.parametrize(
    ("raw", "title"),
    [
        ('"Tides."', "Tides"),
        ("Title: Tides", "Tides"),
        ("  a\n b ", "a b"),
        ("“Tides”", "Tides"),
        ("**Tides**", "Tides"),
        ("w " * 40, " ".join(["w"] * 12)),
        (
            "Mein Vater Ewald hat am 9. Oktober eine neue Hüfte im Klinikum Coburg bekommen",
            "Mein Vater Ewald hat am 9. Oktober eine neue Hüfte im Klinikum",
        ),
        ("...", ".."),
        ("", ""),
        ('""', ""),
    ],
)
def test_tidying(raw, title):
    assert titles.tidy(raw) == title


def test_the_first_words():
    assert titles.title_from_words("## Short  [one](https://example.org) **now**") == "Short one now"
    assert titles.title_from_words("one two three four five six seven") == "one two three four five six…"
    assert len(titles.title_from_words("x" * 5_000)) <= 61
    assert titles.title_from_words("  \n ") == ""
