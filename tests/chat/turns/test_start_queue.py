"""Requests that start turns are served in line, and nobody waits for ever."""

import asyncio
import gc
import io
import logging
import threading
from concurrent.futures import Future

import pytest
from flask import Flask, g

from testkit.people import post_form
from testkit.processes import wait_until
from testkit.waiting import finished
from webapp.chat.turns import start_queue, turn_database
from webapp.chat.turns.start_queue import MAX_CONCURRENT, init_gate, starts_turn


@pytest.fixture
def site() -> tuple[Flask, threading.Event, list[str], list[int]]:
    """A site with a view that starts turns and stays until it may go, one that fails, and one that does neither."""
    app, go, inside, most = Flask(__name__), threading.Event(), [], [0]
    init_gate(app)

    @app.post("/start")
    @starts_turn
    def start():
        inside.append("in")
        most[0] = max(most[0], len(inside))
        go.wait(20)
        inside.pop()
        return (b"x" for _ in range(3)), 200

    @app.post("/fail")
    @starts_turn
    def fail():
        raise RuntimeError

    @app.post("/wait")
    @starts_turn
    def wait():
        start_queue.leave()
        inside.append("waiting")
        go.wait(20)
        return "waited"

    @app.get("/read")
    def read():
        return "read"

    return app, go, inside, most


def _posts(app: Flask, path: str, count: int) -> list[threading.Thread]:
    threads = [threading.Thread(target=lambda: app.test_client().post(path)) for _ in range(count)]
    for thread in threads:
        thread.start()
    return threads


def test_one_after_the_other_and_all_of_them_in_the_end(site, monkeypatch):
    app, go, inside, most = site
    monkeypatch.setattr(start_queue, "MAX_WAIT_SECONDS", 20)
    threads = _posts(app, "/start", MAX_CONCURRENT + 5)
    wait_until(lambda: len(inside) == MAX_CONCURRENT, "as many as may")
    assert app.test_client().get("/read").status_code == 200  # others pass by
    go.set()
    for thread in threads:
        thread.join(20)
    assert most[0] == MAX_CONCURRENT and not inside


@pytest.mark.parametrize(
    ("path", "patience"),
    [
        pytest.param("/start", 0.01, id="who waited long enough"),
        pytest.param("/wait", 20, id="who comes after somebody who waits for a reply"),
    ],
)
def test_more_go_on_at_once(site, monkeypatch, path, patience):
    app, go, inside, _ = site
    monkeypatch.setattr(start_queue, "MAX_WAIT_SECONDS", patience)
    threads = _posts(app, path, MAX_CONCURRENT + 3)
    wait_until(lambda: len(inside) == MAX_CONCURRENT + 3, "all of them")
    go.set()
    for thread in threads:
        thread.join(20)


def test_failures_and_streams_leave_the_gate_open(site):
    app, go, _, _ = site
    go.set()
    client = app.test_client()
    streams = [client.post("/start", buffered=False) for _ in range(MAX_CONCURRENT + 2)]  # none of them read
    for _ in range(MAX_CONCURRENT + 2):
        assert client.post("/fail").status_code == 500
    for stream in streams:
        assert b"".join(stream.response) == b"xxx"


def test_nobody_waits_for_somebody_elses_network(site, monkeypatch):
    app, go, _, _ = site
    monkeypatch.setattr(start_queue, "MAX_WAIT_SECONDS", 20)
    go.set()
    asked, sent = threading.Event(), threading.Event()

    class Slow(io.BytesIO):
        def readinto(self, buffer) -> int:
            asked.set()
            sent.wait(20)
            return super().readinto(buffer)

    slow = threading.Thread(
        target=lambda: app.test_client().post("/start", input_stream=Slow(b"x" * 9), content_length=9)
    )
    slow.start()
    assert asked.wait(20)
    began = threading.Event()
    quick = threading.Thread(target=lambda: app.test_client().post("/start") and began.set())
    quick.start()
    assert began.wait(10), "while the other is still sending"
    sent.set()
    slow.join(20)
    quick.join(20)


def test_a_page_without_scripts_lets_the_next_one_in_while_it_waits(app, monkeypatch, browser):
    left = []
    monkeypatch.setattr("webapp.chat.pages.follow", lambda *_, patience: left.append("gate" not in g) or [])
    assert post_form(browser, "/conversations", content="Hello").status_code == 303
    assert left == [True]


def test_every_view_that_starts_a_turn_is_held_back(app):
    marked = {name for name, view in app.view_functions.items() if getattr(view, "starts_turn", False)}
    assert marked >= {"chat_api.chat_stream", "chat_api.send_message", "chat_pages.start", "chat_pages.send"}
    assert all(not name.endswith((".stop", ".resume_stream", ".get_response")) for name in marked)


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
def test_a_vector_that_fails_is_nobodys_news(late, caplog):
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
    monkeypatch.setattr("webapp.chat.service.embed_ahead", lambda *_: never)
    patient = app.extensions["settings"].model_copy(update={"embedding_query_seconds": 60.0})
    monkeypatch.setitem(app.extensions, "settings", patient)


@pytest.fixture
def reply(client, impatient):
    """Ask something."""
    started = client.post("/api/conversations", json={}).json["conversation_id"]
    return lambda: client.post(f"/api/conversations/{started}/messages", json={"content": "Hello"}).json["response_id"]


def test_a_turn_alone_begins_meanwhile(client, model, reply):
    assert finished(client, reply())["status"] == "complete"


def test_a_turn_is_stopped_while_it_waits(app, client, model, reply, monkeypatch):
    """A stop that comes meanwhile is stored like any other."""
    runner = app.extensions["chat"].runner
    runner.start()
    monkeypatch.setattr(runner._tables, "_reading", 1)  # others have work for the thread
    reply_id = reply()
    assert client.post(f"/api/chat/turns/{reply_id}/stop").status_code == 202
    assert finished(client, reply_id)["status"] == "stopped"
