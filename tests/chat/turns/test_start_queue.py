"""Requests that start turns are served in line, and nobody waits for ever."""

import asyncio
import io
import threading
import time
from contextlib import ExitStack, suppress

import pytest
from flask import Flask, g

from testkit.people import post_form
from testkit.processes import wait_until
from testkit.waiting import wait_for_reply
from webapp.chat.context import assembly
from webapp.chat.turns import start_queue
from webapp.chat.turns.runner import TurnRunner
from webapp.chat.turns.start_queue import MAX_CONCURRENT, StartQueue, init_gate, pop_place, starts_turn
from webapp.chat.turns.writer import TurnWriter


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
        pop_place().close()
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


def test_a_request_that_is_begun_again_has_one_place(site, monkeypatch):
    """What comes before a view is repeated after a conflict in the database (webapp/db/conflicts.py)."""
    app, go, _, _ = site
    monkeypatch.setattr(start_queue, "MAX_WAIT_SECONDS", 20)
    for _ in range(MAX_CONCURRENT):
        with app.test_request_context("/start", method="POST"):
            app.preprocess_request()
            app.preprocess_request()
    go.set()
    (thread,) = _posts(app, "/start", 1)
    thread.join(10)
    assert not thread.is_alive()


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


@pytest.mark.parametrize(
    ("patience", "stay"),
    [pytest.param(20, 0.0, id="in order"), pytest.param(1.0, 0.3, id="for longer than one waits where nobody moves")],
)
def test_a_line_that_moves_is_waited_in(monkeypatch, patience, stay):
    monkeypatch.setattr(start_queue, "MAX_CONCURRENT", 1)
    monkeypatch.setattr(start_queue, "MAX_WAIT_SECONDS", patience)
    queue, entered, inside = StartQueue(), [], threading.Semaphore(1)
    first = queue.enter()

    def come(number: int) -> None:
        with queue.enter():
            assert inside.acquire(blocking=False), "two at a time"
            entered.append(number)
            time.sleep(stay)
            inside.release()

    threads = [threading.Thread(target=come, args=(number,)) for number in range(5)]
    for number, thread in enumerate(threads, 1):
        thread.start()
        wait_until(lambda wanted=number: len(queue._waiting) == wanted, "the next in line")
    first.close()
    first.close()  # lets no second one in
    for thread in threads:
        thread.join(20)
    assert entered == [0, 1, 2, 3, 4]


def test_requests_wait_until_the_prompts_before_them_are_made(app, client, model, monkeypatch):
    """Otherwise a hundred requests would all be served before the first prompt."""
    go, made, assemble = threading.Event(), [], assembly.assemble
    monkeypatch.setattr(start_queue, "MAX_WAIT_SECONDS", 20)

    def wait_and_assemble(turn_id, *rest):
        made.append(turn_id)
        go.wait(20)
        return assemble(turn_id, *rest)

    monkeypatch.setattr(assembly, "assemble", wait_and_assemble)
    ids = [client.post("/api/conversations", json={}).json["conversation_id"] for _ in range(MAX_CONCURRENT + 1)]
    replies: list[int] = []

    def ask(number: int) -> None:
        replies.append(
            client.post(f"/api/conversations/{number}/messages", json={"content": "Hello"}).json["response_id"]
        )

    for number in ids[:-1]:
        ask(number)
    wait_until(lambda: len(made) == MAX_CONCURRENT, "all prompts to be begun")
    late = threading.Thread(target=ask, args=(ids[-1],))
    late.start()
    late.join(0.3)
    assert late.is_alive()
    go.set()
    late.join(20)
    assert [wait_for_reply(client, reply)["status"] for reply in replies] == ["complete"] * (MAX_CONCURRENT + 1)


def test_a_turn_without_a_prompt_gives_its_place_back(app, settings, monkeypatch):
    own, closed = TurnRunner(app, settings, app.extensions["chat_client"], app.extensions["chat"].hub), []
    rounds: list[TurnRunner] = []

    async def lose_cancellation(runner: TurnRunner) -> None:
        """Lose the first one, as wait_for may before Python 3.12, which redis-py calls for each command."""
        rounds.append(runner)
        with suppress(asyncio.CancelledError if len(rounds) == 1 else ()):
            await asyncio.sleep(60)

    monkeypatch.setattr(TurnRunner, "_stop_requested_turns", lose_cancellation)

    def submit(turn_id: int) -> None:
        place = ExitStack()
        place.callback(closed.append, turn_id)
        own.submit(turn_id, {}, place=place)

    monkeypatch.delattr(TurnWriter, "begin")
    submit(1)
    wait_until(lambda: closed == [1], "the turn that broke")
    own.drain(0)
    submit(2)
    assert closed == [1, 2]


def test_a_page_without_scripts_lets_the_next_one_in_while_it_waits(app, browser, monkeypatch):
    left = []
    monkeypatch.setattr("webapp.chat.pages.follow", lambda *_, patience: left.append("place" not in g) or [])
    assert post_form(browser, "/conversations", content="Hello").status_code == 303
    assert left == [True]


def test_every_view_that_starts_a_turn_is_held_back(app):
    marked = {name for name, view in app.view_functions.items() if getattr(view, "starts_turn", False)}
    assert marked >= {"chat_api.chat_stream", "chat_api.send_message", "chat_pages.start", "chat_pages.send"}
    assert all(not name.endswith((".stop", ".resume_stream", ".get_response")) for name in marked)
