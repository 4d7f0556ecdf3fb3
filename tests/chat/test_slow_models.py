"""A model that reads slowly: who waits is told, and its prompt fits its speed."""

from collections.abc import Callable, Iterator

import pytest
from flask import Flask

from testkit.people import ApiClient, Person
from tests.providers.ollama import Ollama, ollama
from webapp.chat.livehtml import html_events
from webapp.chat.turns import turn
from webapp.chat.turns.turnlog import Entry
from webapp.db.base import db, write_transaction
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
    (server,) = catalogue.last_read.servers
    assert server.request_timeout > 2_048 / SPEED + 1_500 / 5.0  # background work was given up after two minutes


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
