"""The parent of the workers: each of them is told to end, and says why it ended by itself."""

import logging
import os
import re
import signal
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from redis.exceptions import RedisError

from jobs import worker
from webapp.background import time_slices
from webapp.background.job_specs import WORKERS


@pytest.fixture(autouse=True)
def _handlers() -> Iterator[None]:
    """What the parent does about signals is not done to pytest."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_told_to_end_while_it_forks_it_leaves_no_worker_behind(app, monkeypatch):
    """The signal came before the new worker was on the list: nobody told it, and the parent waited for it for ever."""
    running: list[int] = []
    told: list[int] = []

    def fork() -> int:
        running.append(1_000_000 + len(running))
        if len(running) == 1:
            signal.raise_signal(signal.SIGTERM)
        return running[-1]

    def wait() -> tuple[int, int]:
        ended = next((pid for pid in running if pid in told), None)
        if ended is None:
            raise AssertionError(f"{running} run on, {told} were told to end")
        running.remove(ended)
        return ended, 0

    monkeypatch.setattr(os, "fork", fork)
    monkeypatch.setattr(os, "wait", wait)
    monkeypatch.setattr(os, "kill", lambda pid, _number: told.append(pid))
    worker.run_all([partial(worker.work, app, group) for group in WORKERS])
    assert told and not running


def test_what_ends_by_itself_is_begun_again(monkeypatch):
    begun: list[int] = []
    ended = iter([102, 103])

    def fork() -> int:
        begun.append(100 + len(begun))
        return begun[-1]

    def wait() -> tuple[int, int]:
        pid = next(ended, None)
        if pid is None:
            raise KeyboardInterrupt
        return pid, 1

    monkeypatch.setattr(worker, "PAUSE_SECONDS", 0)
    monkeypatch.setattr(os, "fork", fork)
    monkeypatch.setattr(os, "wait", wait)
    with pytest.raises(KeyboardInterrupt):
        worker.run_all([lambda: None] * 3)
    assert len(begun) == 3 + 2


@pytest.mark.parametrize("error", [OSError, RedisError])
def test_a_worker_that_fails_says_why(app, error, monkeypatch, caplog):
    """It went without a word, and was started again every second; without Redis that takes no traceback each time."""

    def fail(*_: Any) -> None:
        raise error("no such thing as this Redis")

    def leave(code: int) -> None:
        raise SystemExit(code)

    monkeypatch.setattr(worker, "work", fail)
    monkeypatch.setattr(os, "fork", lambda: 0)
    monkeypatch.setattr(os, "_exit", leave)
    with caplog.at_level(logging.WARNING), pytest.raises(SystemExit) as ended:
        worker.run_all([partial(worker.work, app, group) for group in WORKERS])
    assert ended.value.code == 1
    assert "no such thing as this Redis" in caplog.text
    assert ("Traceback" in caplog.text) is (error is OSError)


def test_workers_yield_to_the_web(app, monkeypatch):
    """Their parent lowers its priority before it loads or forks anything: all that comes of it has the same."""
    done: list[Any] = []
    monkeypatch.setattr(worker, "lower_priority", lambda by: done.append(("nice", by)))
    monkeypatch.setattr(worker, "kill_children_at_exit", lambda: None)
    monkeypatch.setattr(worker, "warm_up", lambda: done.append("clients"))
    monkeypatch.setattr(worker.gc, "freeze", lambda: None)
    monkeypatch.setattr(worker, "worker_app", lambda: done.append("app") or app)
    monkeypatch.setattr(worker, "run_all", lambda *_others: done.append("workers"))
    worker.main([])
    assert done == [("nice", worker.NICE), "app", "clients", "workers"] and worker.NICE > 0


@pytest.mark.parametrize("name", ["LOGIN_RATE", "DATABASE_POOL"])
def test_a_setting_that_cannot_be_read_ends_it_with_a_sentence(name, monkeypatch, capsys):
    monkeypatch.setenv(name, "lots")
    monkeypatch.setattr(worker, "lower_priority", lambda _by: None)
    monkeypatch.setattr(worker, "kill_children_at_exit", lambda: None)
    monkeypatch.setattr(worker, "worker_app", worker.worker_app.__wrapped__)
    with pytest.raises(SystemExit, match="3"):
        worker.main([])
    assert re.search(f"{name}: (.*lots|Input should be)", capsys.readouterr().err)


def test_a_long_document_lets_others_go_first(client, run_jobs, monkeypatch):
    monkeypatch.setattr(time_slices, "SECONDS", 0)
    monkeypatch.setattr(time_slices, "FEW", 3)
    place = f"/api/spaces/{client.post('/api/spaces', json={'kind': 'project', 'name': 'Mill'}).get_json()['space_id']}"
    content = "\n\n".join(f"Hive {n} stands behind the mill. " + "The bees fly to the limes. " * 40 for n in range(5))
    number = client.post(f"{place}/documents", json={"title": "Bees", "content": content}).get_json()["document_id"]
    jobs = [job for job in run_jobs() if job.meta["name"] == "index_document"]
    made = [job.return_value() for job in jobs]
    read = client.get(f"{place}/documents/{number}").get_json()
    assert read["status"] == "ready" and read["chunks_done"] == read["chunks_total"] == sum(made) > 3
    assert made[0] == 3 and max(made) == 3
