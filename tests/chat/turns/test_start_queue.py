"""Requests that start turns are served in line, and nobody waits for ever."""

import io
import threading

import pytest
from flask import Flask, g

from testkit.people import post_form
from testkit.processes import wait_until
from webapp.chat.turns import start_queue
from webapp.chat.turns.start_queue import AT_ONCE, init_gate, starts_turn


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
    monkeypatch.setattr(start_queue, "PATIENCE", 20)
    threads = _posts(app, "/start", AT_ONCE + 5)
    wait_until(lambda: len(inside) == AT_ONCE, "as many as may")
    assert app.test_client().get("/read").status_code == 200  # others pass by
    go.set()
    for thread in threads:
        thread.join(20)
    assert most[0] == AT_ONCE and not inside


@pytest.mark.parametrize(
    ("path", "patience"),
    [
        pytest.param("/start", 0.01, id="who waited long enough"),
        pytest.param("/wait", 20, id="who comes after somebody who waits for a reply"),
    ],
)
def test_more_go_on_at_once(site, monkeypatch, path, patience):
    app, go, inside, _ = site
    monkeypatch.setattr(start_queue, "PATIENCE", patience)
    threads = _posts(app, path, AT_ONCE + 3)
    wait_until(lambda: len(inside) == AT_ONCE + 3, "all of them")
    go.set()
    for thread in threads:
        thread.join(20)


def test_failures_and_streams_leave_the_gate_open(site):
    app, go, _, _ = site
    go.set()
    client = app.test_client()
    streams = [client.post("/start", buffered=False) for _ in range(AT_ONCE + 2)]  # none of them read
    for _ in range(AT_ONCE + 2):
        assert client.post("/fail").status_code == 500
    for stream in streams:
        assert b"".join(stream.response) == b"xxx"


def test_nobody_waits_for_somebody_elses_network(site, monkeypatch):
    app, go, _, _ = site
    monkeypatch.setattr(start_queue, "PATIENCE", 20)
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


def test_a_page_without_scripts_lets_the_next_one_in_while_it_waits(app, login, user, monkeypatch):
    left = []
    monkeypatch.setattr("webapp.chat.pages._wait", lambda _reply: left.append("gate" not in g))
    browser = login(user)
    assert post_form(browser, "/conversations", content="Hello").status_code == 303
    assert left == [True]


def test_every_view_that_starts_a_turn_is_held_back(app: Flask):
    marked = {name for name, view in app.view_functions.items() if getattr(view, "starts_turn", False)}
    assert marked >= {"chat_api.chat_stream", "chat_api.send_message", "chat_pages.start", "chat_pages.send"}
    assert all(not name.endswith((".stop", ".resume_stream", ".get_response")) for name in marked)
