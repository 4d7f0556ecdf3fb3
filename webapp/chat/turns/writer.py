"""Writes the streams of all turns of a process: the first text at once, later text coalesced, all in one pipeline."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import RedisError

from webapp.chat.turns.turnlog import REASONING, Entry, fields, log_key

log = logging.getLogger(__name__)

RETRY_SECONDS = 0.5

FEW, MANY = 8, 64
"""Up to FEW turns, text is written as it comes; from MANY on it waits the full time; in between, part of it."""
LEISURE = 2.0
"""The next write waits this many times as long as the last one took: a busy machine coalesces in any case."""

HandOver = Callable[[int, Sequence[Entry]], None]
MayWrite = Callable[[], Awaitable[None]]


async def _always_allowed() -> None:
    """Nothing stands in the way of writing."""


@dataclass(slots=True)
class _Open:
    """A turn being written: all its text and how much of it is in Redis, the same for what the model thinks, and
    entries waiting behind the text."""

    text: str = ""
    written: int = 0
    thoughts: str = ""
    thought: int = 0
    waiting: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    created: bool = False
    header: dict[str, Any] = field(default_factory=dict)


_Unsent = tuple[str, dict[str, Any], int]
"""Kind, data and offset of an entry that has no id yet."""


class TurnWriter:
    """Belongs to one event loop. While Redis is away everything is kept, and written once it is back.

    What Redis has taken is passed to `hand_over`, with the turn's id, for readers in this process. Before anything is
    written, `may_write` drops the turns that are no longer this process's; it may raise RedisError.
    """

    def __init__(
        self,
        client: Redis,
        *,
        coalesce_ms: int,
        keep_seconds: int,
        hand_over: HandOver,
        may_write: MayWrite = _always_allowed,
    ) -> None:
        self._client = client
        self._hand_over = hand_over
        self._may_write = may_write
        self._pause = coalesce_ms / 1000
        self._keep = keep_seconds
        self._open: dict[int, _Open] = {}
        self._dirty: set[int] = set()
        self._urgent: set[int] = set()
        self._due: float | None = None
        self._took = 0.0
        self._work = asyncio.Event()
        self._hurry = asyncio.Event()
        self._flushed = asyncio.Condition()
        self._task = asyncio.create_task(self._run(), name="turn-writer")

    def begin(self, turn_id: int, header: dict[str, Any]) -> None:
        """Start a stream with its `turn` entry."""
        self._open[turn_id] = _Open(waiting=[("turn", header)], header=header)
        self._mark(turn_id, urgent=True)

    def delta(self, turn_id: int, text: str) -> None:
        """Append text."""
        turn = self._open[turn_id]
        urgent = not turn.text
        turn.text += text
        self._mark(turn_id, urgent=urgent)

    def think(self, turn_id: int, text: str) -> None:
        """Append what the model thinks; like text, it waits for more."""
        turn = self._open[turn_id]
        urgent = not turn.thoughts
        turn.thoughts += text
        self._mark(turn_id, urgent=urgent)

    def rewrite(self, turn_id: int, text: str) -> None:
        """Replace the text so far, for readers too, who go on from there."""
        turn = self._open[turn_id]
        turn.text, turn.written = text, len(text)
        self.entry(turn_id, "snapshot", {"text": text})

    def entry(self, turn_id: int, kind: str, data: dict[str, Any]) -> None:
        """Append an entry of another kind, behind the text so far."""
        self._open[turn_id].waiting.append((kind, data))
        self._mark(turn_id, urgent=True)

    async def replace(self, turn_id: int, text: str, *, patience: float = 10.0) -> None:
        """Start the stream again with another text once all is written: the old one must not be read any more."""
        await self._written(turn_id, patience)
        turn = self._open[turn_id]
        try:
            await self._client.delete(log_key(turn_id))
        except RedisError as error:
            log.warning("a stream lapses by itself", extra={"turn_id": turn_id, "error": type(error).__name__})
        turn.text, turn.written, turn.created = text, 0, False
        turn.thoughts = ""

    async def end(self, turn_id: int, kind: str, data: dict[str, Any], *, patience: float = 10.0) -> None:
        """Append the final entry and wait until it is written or patience runs out: the database has the truth."""
        self.entry(turn_id, kind, data)
        await self.flush(turn_id, patience=patience)

    async def flush(self, turn_id: int, *, patience: float = 10.0) -> None:
        """Wait until all of a turn is written, then close it."""
        try:
            await self._written(turn_id, patience)
        finally:
            self.drop(turn_id)

    async def _written(self, turn_id: int, patience: float) -> None:
        try:
            async with asyncio.timeout(patience), self._flushed:
                await self._flushed.wait_for(lambda: turn_id not in self._dirty)
        except TimeoutError:
            log.warning("turn stream not finished: redis is away", extra={"turn_id": turn_id})

    def drop(self, turn_id: int) -> None:
        """Stop writing a turn."""
        self._open.pop(turn_id, None)
        self._dirty.discard(turn_id)
        self._urgent.discard(turn_id)

    async def close(self) -> None:
        """Stop writing."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    def _mark(self, turn_id: int, *, urgent: bool) -> None:
        self._dirty.add(turn_id)
        self._work.set()
        if urgent:
            self._urgent.add(turn_id)
            self._hurry.set()
        elif self._due is None:
            self._due = time.monotonic() + self._wait()

    def _wait(self) -> float:
        """Seconds that later text waits for more: none while there is time, the full time under load."""
        share = min(1.0, max(0.0, (len(self._open) - FEW) / (MANY - FEW)))
        return min(self._pause, max(self._pause * share, self._took * LEISURE))

    async def _run(self) -> None:
        while True:
            await self._work.wait()
            wait = self._due - time.monotonic() if self._due is not None else 0.0
            if wait > 0 and not self._urgent:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._hurry.wait(), wait)
            turns = self._next()
            began = time.monotonic()
            try:
                await self._may_write()
                await self._write(turns)
                self._took = time.monotonic() - began
            except RedisError as error:
                log.warning("turn streams not written, retrying", extra={"error": type(error).__name__})
                await asyncio.sleep(RETRY_SECONDS)
                self._due = None
            if self._dirty:
                self._work.set()

    def _next(self) -> list[int]:
        """The turns to write now: urgent ones do not take the others along, or each turn that begins would interrupt
        the readers of all that are running."""
        self._work.clear()
        self._hurry.clear()
        is_due = self._due is None or self._due <= time.monotonic()
        turns = self._dirty if is_due else self._dirty & self._urgent
        if len(turns) == len(self._dirty):
            self._due = None
        self._urgent -= turns
        return list(turns)

    async def _write(self, turns: list[int]) -> None:
        """Flush turns. One that cannot be written does not hold up the others; its reply is stored all the same."""
        try:
            await self._flush(turns)
        except RedisError:
            raise
        except Exception:
            if len(turns) > 1:
                for turn_id in turns:
                    await self._write([turn_id])
                return
            log.exception("turn stream not written", extra={"turn_ids": turns})
            self._dirty.difference_update(turns)
        async with self._flushed:
            self._flushed.notify_all()

    async def _flush(self, turns: list[int]) -> None:
        """Write turns in one round trip. Nothing is marked as written before Redis has answered."""
        pipe = self._client.pipeline(transaction=False)
        batch: list[tuple[int, _Open, tuple[int, int, int], list[_Unsent], int]] = []
        for turn_id in turns:
            turn = self._open.get(turn_id)
            if turn is not None:
                first = len(pipe)
                sent = self._add(pipe, turn_id, turn)
                batch.append((turn_id, turn, (len(turn.text), len(turn.thoughts), len(turn.waiting)), sent, first))
        results = await pipe.execute() if len(pipe) else []
        for turn_id, turn, (length, thought, waiting), sent, first in batch:
            ids = results[first : first + len(sent)]
            if any(entry_id is None for entry_id in ids):
                # The stream is gone (Redis was emptied): start it again with everything there is.
                turn.created, turn.written = False, 0
                continue
            turn.created, turn.written, turn.thought = True, length, thought
            del turn.waiting[:waiting]
            if len(turn.text) == length and len(turn.thoughts) == thought and not turn.waiting:
                self._dirty.discard(turn_id)
            if sent:
                self._hand_over(
                    turn_id, [Entry(entry_id.decode(), *item) for entry_id, item in zip(ids, sent, strict=True)]
                )

    def _add(self, pipe: Any, turn_id: int, turn: _Open) -> list[_Unsent]:
        """Append a turn's new entries to the pipeline, one command per entry; returns the entries."""
        key = log_key(turn_id)
        unsent: list[_Unsent] = [(kind, data, 0) for kind, data in turn.waiting]
        text = turn.text[turn.written :]
        is_new = not turn.created
        if turn.created:
            if text:
                unsent.insert(0, ("delta", {"text": text}, turn.written))
            if len(turn.thoughts) > turn.thought:
                unsent.insert(0, (REASONING, {"text": turn.thoughts[turn.thought :]}, turn.thought))
        else:
            # A stream that was lost begins with all its text, to replace what its readers may have missed.
            fresh = bool(turn.waiting) and turn.waiting[0][0] == "turn"
            if not fresh:
                unsent.insert(0, ("turn", turn.header, 0))
            if text:
                unsent.insert(1, ("delta" if fresh else "snapshot", {"text": text}, 0))
            if turn.thoughts:
                unsent.insert(1, (REASONING, {"text": turn.thoughts}, 0))
        for number, item in enumerate(unsent):
            pipe.xadd(key, fields(*item), nomkstream=bool(number) or not is_new)
        if is_new:
            pipe.expire(key, self._keep)
        return unsent
