"""What lasts as long as its process goes on, whatever goes wrong in between, and says so once."""

import asyncio
import logging
from collections.abc import Callable

import pytest
from redis.exceptions import ConnectionError as RedisAway

from webapp.loops import repeat, repeat_on_loop

log = logging.getLogger(__name__)


def in_a_thread(step: Callable[[], None]) -> None:
    repeat(step, log, "no news", 0.0)


def on_a_loop(step: Callable[[], None]) -> None:
    async def round_() -> None:
        step()

    asyncio.run(repeat_on_loop(round_, log, "no news", 0.0))


@pytest.mark.parametrize("run", [in_a_thread, on_a_loop])
def test_each_kind_of_failure_is_logged_once_and_the_next_round_comes(run, caplog):
    caplog.set_level(logging.WARNING)
    rounds: list[Exception | None] = [RedisAway(), RedisAway(), None, KeyError("turn"), RedisAway()]

    def step() -> None:
        if not rounds:
            raise SystemExit
        if error := rounds.pop(0):
            raise error

    with pytest.raises(SystemExit):
        run(step)
    assert [(record.error, bool(record.exc_info)) for record in caplog.records] == [
        ("ConnectionError", False),
        ("KeyError", True),
        ("ConnectionError", False),
    ]
