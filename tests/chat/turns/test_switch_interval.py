"""How soon threads make way for each other: sooner for a few turns, later for many."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from flask import Flask

from fakemodel.script import Hold
from fakemodel.testing import ServerHandle
from testkit.people import ApiClient
from testkit.processes import wait_until
from webapp.chat.turns import runner
from webapp.chat.turns.runtime import runtime
from webapp.chat.turns.switch_interval import ALONE, FEW, TOGETHER, tune_switch_interval


@pytest.fixture(autouse=True)
def interval() -> Iterator[None]:
    """The interval is the process's: the next test finds the one that this one found."""
    before = sys.getswitchinterval()
    yield
    sys.setswitchinterval(before)


@pytest.mark.parametrize(
    ("turns", "seconds"), [(0, ALONE), (1, ALONE), (FEW, ALONE), (FEW + 1, TOGETHER), (300, TOGETHER)]
)
def test_a_few_turns_switch_sooner(turns: int, seconds: float) -> None:
    tune_switch_interval(turns)
    assert sys.getswitchinterval() == pytest.approx(seconds)


@pytest.mark.once
def test_the_runner_says_how_many_there_are(
    app: Flask, client: ApiClient, model: ServerHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[int] = []
    monkeypatch.setattr(runner, "tune_switch_interval", told.append)
    hold = Hold(1)
    model.script(reply=["one ", "two"], hold=hold)
    for _ in range(FEW + 1):
        talk = client.post("/api/conversations", json={}).get_json()["conversation_id"]
        assert client.post(f"/api/conversations/{talk}/messages", json={"content": "Hello"}).status_code == 202
    assert [turns for turns in told if turns] == list(range(1, FEW + 2)), "and 0 where its loop had to be started"
    hold.release()
    wait_until(lambda: not runtime.of(app).runner.active, "the end of the turns")
    assert told[-1] == 0
