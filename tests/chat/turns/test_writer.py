"""Many turns on their way to Redis at once: who waits for whom, and that nothing is lost or turned round."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest
from flask import Flask
from redis.asyncio import Redis
from redis.exceptions import ConnectionError

from webapp.chat.turns import turnlog, writer as writer_module
from webapp.chat.turns.turnlog import Entry, log_key, merge
from webapp.chat.turns.writer import TurnWriter
from webapp.config import Settings
from webapp.redis.clients import Wire

Handed = dict[int, list[Entry]]


class Viewers:
    """What was handed over, by turn."""

    def __init__(self) -> None:
        self.handed: Handed = {}
        self.watched: set[int] = set()

    def has_viewers(self, turn_id: int) -> bool:
        return turn_id in self.watched

    def hand_over(self, turn_id: int, entries: Sequence[Entry], _unwritten: Sequence[Entry]) -> None:
        self.handed.setdefault(turn_id, []).extend(entries)


@pytest.fixture
def run_writer(app: Flask, settings: Settings) -> Callable[..., Handed]:
    """`run_writer(work, coalesce_ms=…)`: run `work(writer, handed)`; what was handed over, by turn."""

    async def run(work: Callable[[TurnWriter, Handed], Awaitable[None]], coalesce_ms: int) -> Handed:
        viewers = Viewers()
        client = Redis.from_url(settings.redis_url)
        writer = TurnWriter(
            client, coalesce_ms=coalesce_ms, keep_seconds=60, viewers=viewers, may_write=lambda: asyncio.sleep(0)
        )
        await work(writer, viewers.handed)
        await writer.close()
        await client.aclose()
        return viewers.handed

    return lambda work, coalesce_ms=50: asyncio.run(run(work, coalesce_ms))


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - what is waited for sets no event
            await asyncio.sleep(0.005)


def test_text_is_written_as_it_comes_while_there_is_time(run_writer, monkeypatch):
    """With a few turns nobody waits for a batch; with many, text waits for more."""

    async def work(writer: TurnWriter, handed: Handed) -> None:
        writer.begin(1, {})
        writer.delta(1, "first ")
        await until(lambda: len(handed.get(1, ())) == 2)
        for number in range(3, 6):
            writer.delta(1, "at once ")
            async with asyncio.timeout(1):
                await until(lambda number=number: len(handed[1]) == number)
        monkeypatch.setattr(writer_module, "SOME", 8)
        monkeypatch.setattr(writer_module, "MANY", 64)
        for turn_id in range(2, 100):
            writer.begin(turn_id, {})
            writer.delta(turn_id, "x")
        await until(lambda: len(handed) == 99 and not writer._dirty)
        there = len(handed[1])
        writer.delta(1, "later ")
        await asyncio.sleep(0.3)
        assert len(handed[1]) == there

    run_writer(work, coalesce_ms=5_000)


def test_viewers_in_the_process_wait_for_no_answer_of_redis(run_writer, monkeypatch):
    async def work(writer: TurnWriter, handed: Handed) -> None:
        writer.begin(1, {})
        await until(lambda: not writer._dirty)

        async def never(_wire: Wire, _commands: Any) -> None:
            await asyncio.Event().wait()

        monkeypatch.setattr(Wire, "send", never)
        writer.delta(1, "at once ")
        writer.delta(1, "and more")
        assert turnlog.text_of(handed[1]) == "at once and more"

    run_writer(work)


def test_redis_gets_text_together_that_viewers_have_already(run_writer, app, monkeypatch):
    monkeypatch.setattr(Viewers, "has_viewers", lambda _self, turn_id: turn_id == 1)

    async def work(writer: TurnWriter, handed: Handed) -> None:
        for turn_id in (1, 2):
            writer.begin(turn_id, {})
            writer.delta(turn_id, "first ")
        await until(lambda: not writer._dirty)
        writer.delta(1, "waits ")
        writer.delta(1, "for more")
        await asyncio.sleep(0.05)
        writer.delta(2, "at once")  # somebody may read it in another process
        await until(lambda: len(turnlog.read(app.extensions["redis"], 2)) == 3)
        assert turnlog.text_of(handed[1]) == "first waits for more"
        for turn_id in (1, 2):
            await writer.end(turn_id, "done", {})

    run_writer(work, coalesce_ms=3_000)
    assert [item.kind for item in turnlog.read(app.extensions["redis"], 1)] == ["turn", "delta", "delta", "done"]


def test_an_entry_whose_answer_was_lost_is_there_once(run_writer, app, monkeypatch):
    """Redis has taken it, but nobody was told; it is written again under the same id."""
    monkeypatch.setattr(writer_module, "RETRY_SECONDS", 0.01)
    send, lost = Wire.send, []

    async def lose(wire: Wire, *args: object) -> object:
        answer = await send(wire, *args)
        if len(lost) < 2:
            lost.append(answer)
            raise ConnectionError("the answer did not arrive")
        return answer

    async def work(writer: TurnWriter, _handed: Handed) -> None:
        monkeypatch.setattr(Wire, "send", lose)
        writer.begin(1, {})
        writer.delta(1, "once")
        await until(lambda: len(lost) == 2 and not writer._dirty)
        writer.delta(1, " only")
        await writer.end(1, "done", {})

    handed = run_writer(work)
    there = turnlog.read(app.extensions["redis"], 1)
    assert merge(handed[1]) == merge(there)
    assert [item.kind for item in merge(there)] == ["turn", "delta", "done"] and turnlog.text_of(there) == "once only"


def test_entries_come_behind_one_of_a_clock_that_is_ahead(run_writer, redis):

    async def work(writer: TurnWriter, handed: Handed) -> None:
        writer.begin(1, {})
        writer.delta(1, "first ")
        await until(lambda: not writer._dirty)
        ahead = int(handed[1][-1].id.partition("-")[0]) + 3_600_000
        redis.xadd(log_key(1), turnlog.fields("title", {"title": "Tides"}), id=f"{ahead}-0")
        writer.delta(1, "second")
        await writer.end(1, "done", {})

    run_writer(work)
    there = turnlog.read(redis, 1)
    assert [item.kind for item in there] == ["turn", "delta", "title", "delta", "done"]
    assert turnlog.text_of(there) == "first second"


def test_a_stream_that_was_lost_begins_again_with_all_its_text(run_writer, app):
    async def work(writer: TurnWriter, _handed: Handed) -> None:
        writer.begin(1, {"n": 1})
        writer.delta(1, "first ")
        await until(lambda: not writer._dirty)
        app.extensions["redis"].flushdb()
        writer.delta(1, "second")
        await writer.end(1, "done", {})

    run_writer(work)
    there = turnlog.read(app.extensions["redis"], 1)
    assert [item.kind for item in there] == ["turn", "snapshot", "done"]
    assert turnlog.text_of(there) == "first second"


def test_a_slow_redis_is_written_to_less_often(run_writer):
    async def work(writer: TurnWriter, _handed: Handed) -> None:
        writer._open[1] = object()  # type: ignore[assignment]
        assert writer._wait(1) == 0
        writer._duration = 0.02
        assert writer._wait(1) == pytest.approx(0.04)
        writer._duration = 9
        assert writer._wait(1) == pytest.approx(0.05)
        writer._open.clear()

    run_writer(work, coalesce_ms=50)


def test_a_turn_that_begins_does_not_hurry_the_others(run_writer, monkeypatch):
    monkeypatch.setattr(writer_module, "SOME", -1)
    monkeypatch.setattr(writer_module, "MANY", 0)

    async def work(writer: TurnWriter, handed: Handed) -> None:
        writer.begin(1, {})
        writer.delta(1, "first ")
        await until(lambda: len(handed.get(1, ())) == 2)
        writer.delta(1, "later ")
        writer.begin(2, {})
        await until(lambda: 2 in handed)
        assert len(handed[1]) == 2, "it waits for its time"
        await until(lambda: len(handed[1]) == 3)
        writer.delta(1, "once more")
        await asyncio.sleep(0.1)
        assert len(handed[1]) == 3, "and each time anew"
        await writer.end(1, "done", {})

    handed = run_writer(work, coalesce_ms=3_000)
    assert [item.kind for item in handed[1]] == ["turn", "delta", "delta", "delta", "done"]
    assert turnlog.text_of(handed[1]) == "first later once more"


def test_a_turn_that_cannot_be_written_keeps_no_other_from_it(run_writer):
    async def work(writer: TurnWriter, _handed: Handed) -> None:
        for turn_id in (1, 2, 3):
            writer.begin(turn_id, {"odd": object()} if turn_id == 2 else {})
            writer.delta(turn_id, "words")
        async with asyncio.timeout(5):  # nor does its end wait for what will never be written
            for turn_id in (2, 1, 3):
                await writer.end(turn_id, "done", {})

    handed = run_writer(work)
    for turn_id in (1, 3):
        assert turnlog.text_of(handed[turn_id]) == "words" and handed[turn_id][-1].kind == "done"


@pytest.mark.parametrize("coalesce_ms", [0, 5])
def test_what_is_handed_over_is_what_is_on_the_streams(run_writer, app, coalesce_ms):
    said = {turn_id: [f"{turn_id}.{number} " for number in range(40)] for turn_id in range(1, 13)}

    async def work(writer: TurnWriter, _handed: Handed) -> None:
        async def turn(turn_id: int) -> None:
            chance = random.Random(turn_id)
            await asyncio.sleep(chance.random() / 20)
            writer.begin(turn_id, {"n": turn_id})
            for words in said[turn_id]:
                writer.delta(turn_id, words)
                if chance.random() < 0.1:
                    writer.entry(turn_id, "tool", {"after": words})
                if chance.random() < 0.5:
                    await asyncio.sleep(chance.random() / 100)
            await writer.end(turn_id, "done", {"n": turn_id})

        await asyncio.gather(*map(turn, said))

    handed = run_writer(work, coalesce_ms)
    for turn_id, words in said.items():
        assert merge(handed[turn_id]) == merge(turnlog.read(app.extensions["redis"], turn_id))
        assert turnlog.text_of(handed[turn_id]) == "".join(words)
        assert (handed[turn_id][0].kind, handed[turn_id][-1].kind) == ("turn", "done")
