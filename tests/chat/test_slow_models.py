"""A model that reads slowly: who waits is told, its prompt fits its speed, and background work waits for it."""

from collections.abc import Callable, Iterator

import pytest
from flask import Flask

from testkit.people import ApiClient, Person
from tests.providers.ollama import Ollama, ollama
from webapp.chat.livehtml import html_events
from webapp.chat.turns import turn
from webapp.chat.turns.turnlog import Entry
from webapp.conversations.current_messages import is_answering
from webapp.conversations.models import Message
from webapp.db.base import db, write_transaction
from webapp.llm.settings import ModelSettings, Target
from webapp.providers import clients
from webapp.providers.catalogue import catalogue
from webapp.providers.models import ModelConnection

SPEED = 10.0


@pytest.fixture
def slow(app: Flask, api: Callable[[Person], ApiClient], make_user: Callable[..., Person]) -> Iterator[Ollama]:
    """A connection whose test measured ten tokens a second."""
    with ollama(models=["slow"]) as server:
        body = {"name": "Slow", "base_url": server.base_url}
        made = api(make_user(is_admin=True)).post("/api/connections", json=body).get_json()
        with app.app_context(), write_transaction():
            row = db.session.get(ModelConnection, made["connection_id"])
            assert row is not None
            row.test_result = (row.test_result or {}) | {"speed": {"prompt": SPEED, "generation": 5.0}}
        server.asked.clear()
        catalogue.forget()
        yield server


def test_who_waits_is_told_how_much_is_read_and_the_prompt_fits(client, slow):
    model = next(row for row in client.get("/api/models").get_json()["models"] if row["name"] == "slow")
    assert model["context_window"] == 2_048
    said = client.post("/api/chat/stream", json={"message": "Hello " * 40, "model": model["id"]}).text
    assert "event: reading" in said
    assert said.index("event: reading") < said.index("event: delta")
    assert len(str(slow.asked[-1]["messages"])) < 2_048 * 4


def test_the_page_shows_what_is_read_and_how_far_it_should_be(app):
    entry = Entry("1000-0", "reading", {"tokens": 960, "seconds": 96})
    with app.test_request_context("/"):
        for shown in (html_events(7, 1, [entry], []), html_events(7, 1, [], [entry])):
            html = b"".join(shown).decode()
            assert "Reading 960 tokens …" in html and 'max="96"' in html


def test_who_waits_is_told_when_a_busy_model_is_asked_again(app, client, model, monkeypatch):
    monkeypatch.setattr(turn, "MIN_WAIT", 0.2)
    monkeypatch.setattr("webapp.llm.chat.retry_delay", lambda _error, attempt, _settings: None if attempt else 0.3)
    model.script(fault={"http_status": 429}, times=1)
    said = client.post("/api/chat/stream", json={"message": "Hello"}).text
    assert said.index("event: pause") < said.index("event: delta")
    with app.test_request_context("/"):
        html = b"".join(html_events(7, 1, [], [Entry("1000-0", "pause", {"seconds": 20})])).decode()
    assert "The model is busy. Trying again …" in html and 'max="20"' in html


def test_background_work_waits_while_a_slow_model_answers(app, client, monkeypatch):
    talk = client.post("/api/conversations", json={}).get_json()["conversation_id"]
    looks: list[float] = []

    def sleep(seconds: float) -> None:
        looks.append(seconds)
        with write_transaction():
            for row in db.session.scalars(db.select(Message)):
                row.status = "complete"

    target = Target("1/slow", "slow", ModelSettings(), prompt_speed=SPEED)
    monkeypatch.setattr(clients, "background_target", lambda: target)
    monkeypatch.setattr(clients.time, "sleep", sleep)
    with app.app_context():
        with write_transaction():
            db.session.add(Message(conversation_id=talk, role="assistant", content="", status="streaming"))
        assert clients.idle_target(is_answering) is target
        assert looks == [clients.POLL_SECONDS]
        clients.idle_target(is_answering)
        assert len(looks) == 1  # nothing is being written any more
