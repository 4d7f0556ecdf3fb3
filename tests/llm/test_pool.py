"""Models that stand in for one another share the time that a reply waits for its first byte."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Any

import pytest

from testkit.processes import ROOT
from webapp.llm.errors import ModelSilent
from webapp.llm.events import Event, Finish, TextDelta
from webapp.llm.pool import ChatPool, ModelSwitched
from webapp.llm.settings import ModelSettings, Target


class Client:
    """A model that is silent for as long as it is waited for, or answers at once."""

    def __init__(self, settings: ModelSettings, *, is_silent: bool) -> None:
        self.settings = settings
        self.is_silent = is_silent
        self.patience = 0.0

    async def stream(self, _messages: Any, *, patience: float, **_options: Any) -> AsyncGenerator[Event, None]:
        self.patience = patience
        if self.is_silent:
            raise ModelSilent
        yield TextDelta("Hello.")
        yield Finish("stop")


@pytest.mark.parametrize("silent", [1, 2, 3])
def test_each_takes_half_of_what_is_left_and_the_last_one_the_rest(monkeypatch, silent):
    settings = ModelSettings(first_token_timeout=600.0)
    clients = [Client(settings, is_silent=number < silent) for number in range(3)]
    monkeypatch.setattr("webapp.llm.pool.ChatClient", lambda asked, _: clients[int(asked.api_key)])
    pool = ChatPool(settings)
    targets = [Target(str(number), f"m{number}", replace(settings, api_key=str(number))) for number in range(3)]

    async def run() -> list[Any]:
        return [event async for event in pool.stream([{"role": "user", "content": "Hello"}], targets=targets)]

    if silent == 3:
        with pytest.raises(ModelSilent, match="in time"):
            asyncio.run(run())
    else:
        heard = asyncio.run(run())
        assert [event.target.id for event in heard if isinstance(event, ModelSwitched)] == ["1", "2"][:silent]
    shares = [client.patience for client in clients[: silent + 1]]
    assert all(0 < share <= 300 for share in shares[:2])
    assert len(shares) < 3 or 300 < shares[2] <= 600


@pytest.mark.parametrize(("speed", "least", "most"), [(None, 0, 60), (10.0, 200, 220), (10_000.0, 0, 60)])
def test_a_slow_model_has_the_time_it_needs_to_read(monkeypatch, speed, least, most):
    settings = ModelSettings(first_token_timeout=60.0)
    client = Client(settings, is_silent=False)
    monkeypatch.setattr("webapp.llm.pool.ChatClient", lambda *_: client)
    pool = ChatPool(settings)
    target = Target("0", "m", settings, prompt_speed=speed)
    question = [{"role": "user", "content": "word " * 800}]  # a thousand tokens: 100 seconds, with as much in reserve

    async def run() -> list[Any]:
        return [event async for event in pool.stream(question, targets=[target])]

    asyncio.run(run())
    assert least <= client.patience <= most


def test_it_is_loaded_when_asked_for_and_a_worker_has_what_streams_too():
    """A scheduled turn streams from its model as any other does."""
    code = (
        "import sys; from webapp.llm.sdk import warm_up; warm_up(streams_only=True); before = 'openai' in sys.modules; "
        "warm_up(); print(before, 'openai' in sys.modules, 'aiohttp.client' in sys.modules)"
    )
    child = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert child.stdout.split() == ["False", "True", "True"], child.stderr
