"""How gunicorn is set up: which core a web process stays on, how it stops, and what it refuses."""

import ctypes
import gc
import http.client
import json
import logging
import os
import resource
import runpy
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import pytest
from flask import Flask
from gunicorn.arbiter import Arbiter
from gunicorn.http.unreader import SocketUnreader

from testkit.processes import ROOT, descendants
from tests.support.live import LiveServer
from webapp.config import Settings


@pytest.fixture
def hooks() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "webapp/cli/gunicorn.conf.py"))


def test_an_empty_setting_counts_as_unset_and_one_that_does_not_parse_is_named(monkeypatch, capsys):
    monkeypatch.setenv("DATABASE_SECONDS", "")
    monkeypatch.setenv("TURN_DRAIN_SECONDS", "")
    found = runpy.run_path(str(ROOT / "webapp/cli/gunicorn.conf.py"))
    assert os.environ["DATABASE_SECONDS"] == "4"
    assert found["graceful_timeout"] == 24
    monkeypatch.setenv("TURN_DRAIN_SECONDS", "-1")
    monkeypatch.setenv("LOGIN_RATE", "lots")  # which only the application reads
    for place, problem in [("webapp/cli/gunicorn.conf.py", "TURN_DRAIN_SECONDS"), ("wsgi.py", "LOGIN_RATE: 'lots' is")]:
        with pytest.raises(SystemExit, match=str(Arbiter.WORKER_BOOT_ERROR)):
            runpy.run_path(str(ROOT / place))
        assert problem in capsys.readouterr().err
        monkeypatch.delenv("TURN_DRAIN_SECONDS", raising=False)


def test_what_an_operator_says_of_heaps_stays(monkeypatch):
    """Two heaps by default; glibc reads MALLOC_ARENA_MAX by itself, and a call of ours would override it."""
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr(ctypes, "CDLL", lambda _name: SimpleNamespace(mallopt=lambda *setting: asked.append(setting)))
    monkeypatch.setenv("MALLOC_ARENA_MAX", "4")
    runpy.run_path(str(ROOT / "webapp/cli/gunicorn.conf.py"))
    assert asked == []
    monkeypatch.delenv("MALLOC_ARENA_MAX")
    found = runpy.run_path(str(ROOT / "webapp/cli/gunicorn.conf.py"))
    assert asked == [(found["M_ARENA_MAX"], 2)]


@pytest.mark.parametrize(
    ("limits", "files", "connections", "threads"),
    [((1_024, 524_288), [(8_192, 524_288)], 2_000, 600), ((1_024, -1), [(8_192, -1)], 2_000, 600)]
    + [((20_000, 20_000), [], 2_000, 600), ((256, 256), [(256, 256)], 42, 41)],
)
def test_there_are_files_for_as_many_connections_as_are_accepted(monkeypatch, limits, files, connections, threads):
    allowed: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _kind: limits)
    monkeypatch.setattr(resource, "setrlimit", lambda _kind, both: allowed.append(both))
    monkeypatch.setenv("WEB_THREADS", "600")
    found = runpy.run_path(str(ROOT / "webapp/cli/gunicorn.conf.py"))
    assert (allowed, found["worker_connections"], found["threads"]) == (files, connections, threads)
    assert Settings.from_env(dict(os.environ)).web_threads == threads


def test_what_a_first_request_sets_up_is_shared(hooks, monkeypatch):
    monkeypatch.delenv("START_FD", raising=False)
    application = Flask("some")
    asked: list[str] = []

    def well() -> str:
        asked.append("healthz" if logging.getLogger("webapp.access").disabled else "healthz, logged")
        return "well"

    application.add_url_rule("/healthz", view_func=well)
    monkeypatch.setattr(gc, "freeze", lambda: asked.append("left alone by the collector"))
    hooks["when_ready"](SimpleNamespace(app=SimpleNamespace(wsgi=lambda: application)))
    assert asked == ["healthz", "left alone by the collector"]
    assert not logging.getLogger("webapp.access").disabled


def test_a_worker_takes_the_number_of_the_one_it_replaces(hooks):
    running: dict[int, Any] = {}

    def fork(pid: int) -> int:
        running[pid] = worker = SimpleNamespace()
        hooks["pre_fork"](SimpleNamespace(WORKERS={other: running[other] for other in running if other != pid}), worker)
        return worker.number

    assert [fork(pid) for pid in (10, 11, 12)] == [0, 1, 2]
    del running[11]
    assert fork(13) == 1


def test_workers_stay_on_cores_of_their_own(hooks, monkeypatch):
    chosen: list[set[int]] = []
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {2, 5, 7})
    monkeypatch.setattr(os, "sched_setaffinity", lambda _pid, cores: chosen.append(cores))
    for number in range(3):
        hooks["stay_on_one_core"](number)
    assert sorted(map(sorted, chosen)) == [[2], [5], [7]]
    monkeypatch.setenv("WEB_PINNED", "0")
    hooks["stay_on_one_core"](0)
    assert len(chosen) == 3


def test_the_running_web_is_on_one_core_a_process(live_web):
    workers = descendants(live_web.web_pid)
    assert workers and all(len(os.sched_getaffinity(pid)) == 1 for pid in workers)


@contextmanager
def _request(live: LiveServer, path: str, **headers: str) -> Iterator[http.client.HTTPResponse]:
    with closing(http.client.HTTPConnection("127.0.0.1", live.port, timeout=60)) as connection:
        connection.request("GET", path, headers=headers)
        with connection.getresponse() as answer:
            yield answer


def test_the_longest_words_to_look_for_arrive(live_web, user):
    path = "/api/search?q=" + quote("🙂" * 500)
    with _request(live_web, path, Authorization=f"Bearer {user.token}") as answer:
        assert (answer.status, answer.getheader("Content-Type")) == (200, "application/json")


def test_what_cannot_reach_the_application_is_a_problem_too(live_web):
    for path, headers, status in (
        ("/api/search?q=" + "x" * 20_000, {}, 414),
        ("/c/1", {"X-Long": "x" * 20_000}, 431),
        ("/c/1", {f"X-{number}": "x" for number in range(200)}, 431),
        ("/c/1", {"Transfer-Encoding": "nonsense"}, 501),
    ):
        with _request(live_web, path, **headers) as answer:
            assert (answer.status, answer.getheader("Content-Type")) == (status, "application/problem+json")
            body = json.loads(answer.read())
        assert body["status"] == status and body["detail"].endswith(".")


def test_whoever_sends_half_a_request_does_not_hold_up_a_thread(hooks):
    hooks["receive"].__globals__["PATIENCE_SECONDS"] = 0.2
    client, server = socket.socketpair()
    with client, server:
        reader = SocketUnreader(server)
        client.sendall(b"GET / HTTP/1.1\r\n")
        assert reader.read() == b"GET / HTTP/1.1\r\n"
        assert reader.read() == b""
        client.sendall(bytes(400))
        assert reader.read() == bytes(400), "what it has sent earns it time"
        start = time.monotonic()
        assert reader.read() == b"" and time.monotonic() - start > 0.2


def test_a_connection_on_which_much_may_stay_unread_ends_announced(live_web):
    """Otherwise gunicorn says that it stays, and a client that believes it loses the request it sends next."""
    small, large = b"{}", b" " * 1_000_000
    for body, more, announced in (
        (small, {}, "keep-alive"),
        (large, {}, "close"),
        (iter([large]), {"Transfer-Encoding": "chunked"}, "close"),
    ):
        with closing(http.client.HTTPConnection("127.0.0.1", live_web.port, timeout=60)) as connection:
            connection.request("POST", "/api/memories", body, more)
            with connection.getresponse() as answer:
                assert (answer.status, answer.getheader("Connection")) == (401, announced)


def test_clients_that_read_nothing_are_given_up_without_a_traceback(hooks, caplog):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        hooks["drop_stalled_clients"](SimpleNamespace(sockets=[SimpleNamespace(sock=listener)]))
        with socket.create_connection(listener.getsockname()), listener.accept()[0] as connection:
            milliseconds = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
    assert milliseconds == hooks["UNREAD_SECONDS"] * 1_000
    errors = logging.getLogger("gunicorn.error")
    for error in (TimeoutError(), OSError("another")):
        errors.error("Socket error processing request.", exc_info=error)
    assert [str(record.exc_info[1]) for record in caplog.records] == ["another"]


def test_clients_that_leave_closing_to_the_server_stop_nothing(live_web):
    """Waiting two seconds for each in its main thread, gunicorn served nobody, and killed the process after thirty."""
    start = time.monotonic()
    with ExitStack() as stack:
        for _ in range(20):
            client = stack.enter_context(socket.create_connection(("127.0.0.1", live_web.port)))
            client.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            assert client.recv(4_096).startswith(b"HTTP/1.1 200 ")
        with _request(live_web, "/healthz") as answer:
            assert answer.status == 200
    assert time.monotonic() - start < 20


def test_open_event_streams_do_not_keep_it_from_stopping(live_web, user):
    """It would wait half an hour for turns; a stream that is cut off, and not ended, raises IncompleteRead."""
    live_web.restart_web(turn_drain_seconds=1800)
    with _request(live_web, "/api/events", Authorization=f"Bearer {user.token}") as stream:
        assert stream.read(5) == b"retry"
        live_web.stop_web()
        assert b": connected" in stream.read()
