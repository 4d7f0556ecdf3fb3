"""A turn waits a moment for its question's vector, off the threads while others need them, and goes on without."""

import asyncio
import gc
import logging
from concurrent.futures import Future

import pytest

from testkit.waiting import finished
from webapp.chat.turns import turn_database


def test_a_vector_that_comes_is_waited_for_and_one_that_does_not_is_not():
    async def waiting() -> None:
        future: Future[int] = Future()
        asyncio.get_running_loop().call_later(0.01, future.set_result, 1)
        await turn_database.wait_for_result(future, 20)
        assert future.result() == 1
        never: Future[int] = Future()
        await turn_database.wait_for_result(never, 0.01)
        assert not never.done() and not never.cancelled()

    asyncio.run(waiting())


@pytest.mark.parametrize("late", [False, True])
def test_a_vector_that_fails_is_nobodys_news(late: bool, caplog):
    async def waiting() -> None:
        future: Future[int] = Future()
        asyncio.get_running_loop().call_later(0.05 if late else 0.0, future.set_exception, ValueError("away"))
        await turn_database.wait_for_result(future, 0.01 if late else 20)
        await asyncio.sleep(0.1)

    with caplog.at_level(logging.ERROR):
        asyncio.run(waiting())
        gc.collect()
    assert not caplog.records


@pytest.fixture
def impatient(app, monkeypatch):
    """The vector of the question never comes, and would be waited for for a minute."""
    never: Future[int] = Future()
    monkeypatch.setattr("webapp.chat.service.anticipate", lambda *_: never)
    chat = app.extensions["chat"]
    chat.runner.start()
    tables = chat.runner._tables
    patient = app.extensions["settings"].model_copy(update={"embedding_query_seconds": 60.0})
    monkeypatch.setattr(tables, "_settings", patient)
    return tables


@pytest.fixture
def reply(client, impatient):
    """Ask something."""
    started = client.post("/api/conversations", json={}).json["conversation_id"]
    return lambda: client.post(f"/api/conversations/{started}/messages", json={"content": "Hello"}).json["response_id"]


def test_a_turn_alone_begins_meanwhile(client, model, reply):
    assert finished(client, reply())["status"] == "complete"


def test_a_turn_is_stopped_while_it_waits(client, model, impatient, reply, monkeypatch):
    """A stop that comes meanwhile is stored like any other."""
    monkeypatch.setattr(impatient, "_reading", 1)  # others have work for the thread
    reply_id = reply()
    assert client.post(f"/api/chat/turns/{reply_id}/stop").status_code == 202
    assert finished(client, reply_id)["status"] == "stopped"
