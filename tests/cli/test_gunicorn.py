"""How gunicorn is set up: which core a web process stays on."""

from __future__ import annotations

import ctypes
import gc
import logging
import os
import runpy
from types import SimpleNamespace
from typing import Any

import pytest
from flask import Flask

from tests.support.live import LiveServer
from tests.support.processes import ROOT, descendants
from webapp.config import ConfigError


@pytest.fixture
def hooks() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "webapp/cli/gunicorn.conf.py"))


def test_an_empty_setting_counts_as_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_SECONDS", "")
    monkeypatch.setenv("TURN_DRAIN_SECONDS", "")
    found = runpy.run_path(str(ROOT / "webapp/cli/gunicorn.conf.py"))
    assert os.environ["DATABASE_SECONDS"] == "4"
    assert found["graceful_timeout"] == 24


def test_what_an_operator_says_of_heaps_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two heaps by default; glibc reads MALLOC_ARENA_MAX by itself, and a call of ours would override it."""
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr(ctypes, "CDLL", lambda _name: SimpleNamespace(mallopt=lambda *setting: asked.append(setting)))
    monkeypatch.setenv("MALLOC_ARENA_MAX", "4")
    runpy.run_path(str(ROOT / "webapp/cli/gunicorn.conf.py"))
    assert asked == []
    monkeypatch.delenv("MALLOC_ARENA_MAX")
    found = runpy.run_path(str(ROOT / "webapp/cli/gunicorn.conf.py"))
    assert asked == [(found["M_ARENA_MAX"], 2)]


def test_a_setting_that_does_not_parse_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURN_DRAIN_SECONDS", "-1")
    with pytest.raises(ConfigError, match="TURN_DRAIN_SECONDS"):
        runpy.run_path(str(ROOT / "webapp/cli/gunicorn.conf.py"))


def test_what_a_first_request_sets_up_is_shared(hooks: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_worker_takes_the_number_of_the_one_it_replaces(hooks: dict[str, Any]) -> None:
    running: dict[int, Any] = {}

    def fork(pid: int) -> int:
        running[pid] = worker = SimpleNamespace()
        hooks["pre_fork"](SimpleNamespace(WORKERS={other: running[other] for other in running if other != pid}), worker)
        return worker.number

    assert [fork(pid) for pid in (10, 11, 12)] == [0, 1, 2]
    del running[11]
    assert fork(13) == 1


def test_workers_stay_on_cores_of_their_own(hooks: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    chosen: list[set[int]] = []
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {2, 5, 7})
    monkeypatch.setattr(os, "sched_setaffinity", lambda _pid, cores: chosen.append(cores))
    for number in range(3):
        hooks["stay_on_one_core"](number)
    assert sorted(map(sorted, chosen)) == [[2], [5], [7]]
    monkeypatch.setenv("WEB_PINNED", "0")
    hooks["stay_on_one_core"](0)
    assert len(chosen) == 3


def test_the_running_web_is_on_one_core_a_process(live_web: LiveServer) -> None:
    workers = descendants(live_web.web_pid)
    assert workers and all(len(os.sched_getaffinity(pid)) == 1 for pid in workers)
