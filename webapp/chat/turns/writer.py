"""Writes the streams of all turns of a process: to viewers in it at once, to Redis in one write.

The ids of entries are chosen here, so that an entry written again because an answer was lost is one entry.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from itertools import chain
from typing import Any, cast

from redis.asyncio import Redis
from redis.exceptions import RedisError, ResponseError

from webapp.chat.turns.stream_hub import Hub
from webapp.chat.turns.turnlog import Entry, OpenTurn, Rows, fields, log_key, merge, order
from webapp.loops import end_tasks, repeat_on_loop
from webapp.redis.clients import Wire

log = logging.getLogger(__name__)

RETRY_SECONDS = 0.5

SOME, MANY = 96, 256
"""Up to SOME turns, viewers get text as it comes; from MANY on it waits the full time; in between, part of it."""
SEEN_SECONDS = 0.1
"""For so long text that viewers have waits for more on its way to Redis."""
PERMISSION_SECONDS = 1.0
"""For so long after `may_write` viewers get text before it is asked again."""
PAUSE_FACTOR = 2.0
"""The next write waits this many times as long as the last one took: a busy machine coalesces in any case."""

MayWrite = Callable[[], Awaitable[None]]


class TurnWriter:
    """The writer of one event loop; keeps entries while Redis is away. `may_write` may drop turns, raise RedisError."""

    def __init__(
        self,
        client: Redis,
        *,
        coalesce_ms: int,
        keep_seconds: int,
        viewers: Hub,
        may_write: MayWrite,
    ) -> None:
        self._client = client
        self._wire = Wire(client)
        self._viewers = viewers
        self._may_write = may_write
        self._pause = coalesce_ms / 1000
        self._keep = keep_seconds
        self._open: dict[int, OpenTurn] = {}
        self._dirty: set[int] = set()
        self._urgent: set[int] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._is_due = False
        self._duration = 0.0
        self._allowed_until = 0.0
        self._work = asyncio.Event()
        self._flushed = asyncio.Event()
        work = repeat_on_loop(self._run, log, "turn streams not written, retrying", RETRY_SECONDS)
        self._task = asyncio.create_task(work, name="turn-writer")

    def begin(self, turn_id: int, header: dict[str, Any]) -> None:
        """Start a stream with its `turn` entry."""
        self._open[turn_id] = OpenTurn(waiting=[("turn", header)], header=header)
        self._mark(turn_id, urgent=True)

    def delta(self, turn_id: int, text: str) -> None:
        turn = self._open[turn_id]
        urgent = not turn.text
        turn.text += text
        self._mark(turn_id, urgent=urgent)

    def think(self, turn_id: int, text: str) -> None:
        """Append reasoning; like text, it is collected before it is written."""
        turn = self._open[turn_id]
        urgent = not turn.thoughts
        turn.thoughts += text
        self._mark(turn_id, urgent=urgent)

    def rewrite(self, turn_id: int, text: str) -> None:
        """Replace the text so far, for readers too, who go on from there."""
        turn = self._open[turn_id]
        turn.text, turn.written_count = text, len(text)
        self.entry(turn_id, "snapshot", {"text": text})

    def entry(self, turn_id: int, kind: str, data: dict[str, Any]) -> None:
        """Append an entry of another kind, behind the text so far."""
        self._open[turn_id].waiting.append((kind, data))
        self._mark(turn_id, urgent=True)

    async def replace(self, turn_id: int, text: str, *, patience: float = 10.0) -> None:
        """Start the stream again with another text once all is written: the old one must not be read any more."""
        await self._wait_until_stored(turn_id, patience)
        turn = self._open[turn_id]
        try:
            await self._client.delete(log_key(turn_id))
        except RedisError as error:
            log.warning("a stream lapses by itself", extra={"turn_id": turn_id, "error": type(error).__name__})
        turn.rewrite_stream()
        turn.text, turn.thoughts = text, ""

    async def end(self, turn_id: int, kind: str, data: dict[str, Any], *, patience: float = 10.0) -> None:
        """Append the final entry and wait until it is written or patience runs out: the database has the truth."""
        self.entry(turn_id, kind, data)
        await self.flush(turn_id, patience=patience)

    async def flush(self, turn_id: int, *, patience: float = 10.0) -> None:
        """Wait until all of a turn is written, then close it."""
        try:
            await self._wait_until_stored(turn_id, patience)
        finally:
            self.drop(turn_id)

    async def _wait_until_stored(self, turn_id: int, patience: float) -> None:
        try:
            async with asyncio.timeout(patience):
                while turn_id in self._dirty:
                    self._flushed.clear()
                    await self._flushed.wait()
        except TimeoutError:
            log.warning("turn stream not finished: redis is away", extra={"turn_id": turn_id})

    def drop(self, turn_id: int) -> None:
        """Stop writing a turn."""
        self._open.pop(turn_id, None)
        self._dirty.discard(turn_id)
        self._urgent.discard(turn_id)

    async def close(self) -> None:
        await end_tasks([self._task])

    def _mark(self, turn_id: int, *, urgent: bool) -> None:
        self._dirty.add(turn_id)
        if len(self._open) <= SOME and time.monotonic() < self._allowed_until:
            self._collect(turn_id, self._open[turn_id])
        if urgent:
            self._urgent.add(turn_id)
            self._work.set()
            return
        loop = asyncio.get_running_loop()
        due = loop.time() + self._wait(turn_id)
        if self._timer is None or due < self._timer.when():
            self._stop_timer()
            self._timer = loop.call_at(due, self._ring)

    def _ring(self) -> None:
        """Wake the writer, so that it writes everything now."""
        self._stop_timer()
        self._is_due = True
        self._work.set()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wait(self, turn_id: int) -> float:
        """Return the seconds that later text waits for more: none while there is time, all under load or once seen."""
        if len(self._open) <= SOME and self._viewers.has_viewers(turn_id):
            return SEEN_SECONDS
        share = min(1.0, max(0.0, (len(self._open) - SOME) / (MANY - SOME)))
        return min(self._pause, max(self._pause * share, self._duration * PAUSE_FACTOR))

    async def _run(self) -> None:
        await self._work.wait()
        turns = self._next()
        start = time.monotonic()
        try:
            await self._may_write()
            self._allowed_until = start + PERMISSION_SECONDS
            await self._write(turns)
            self._duration = time.monotonic() - start
        finally:
            if self._dirty and self._timer is None:
                self._ring()

    def _next(self) -> list[int]:
        """Return the turns to write now; urgent ones do not take the others along, which would wake all readers."""
        self._work.clear()
        turns = self._dirty if self._is_due else self._dirty & self._urgent
        self._is_due = False
        if len(turns) == len(self._dirty):
            self._stop_timer()
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
        self._flushed.set()

    async def _flush(self, turns: list[int]) -> None:
        """Write turns in one round trip. Nothing counts as written before Redis has answered."""
        commands: list[tuple[Any, ...]] = []
        batch: list[tuple[int, OpenTurn, int, slice[int, int, None]]] = []
        for turn_id in turns:
            if (turn := self._open.get(turn_id)) is not None:
                self._collect(turn_id, turn)
                first = len(commands)
                commands += self._commands(turn_id, turn)
                batch.append((turn_id, turn, len(turn.unwritten), slice(first, len(commands))))
        results = await self._wire.send(commands) if commands else []
        for turn_id, turn, count, place in batch:
            answers = results[place]
            if any(isinstance(answer, ResponseError) for answer in answers):
                await self._compare(turn_id, turn)
            elif None in answers:
                # The stream is gone (Redis was emptied): start it again with everything there is.
                turn.rewrite_stream()
            else:
                turn.created = True
                self._confirm(turn_id, turn, count)

    def _confirm(self, turn_id: int, turn: OpenTurn, count: int) -> None:
        """Record that Redis has confirmed the first of the pending entries."""
        del turn.unwritten[:count]
        if turn.is_written:
            self._dirty.discard(turn_id)

    async def _compare(self, turn_id: int, turn: OpenTurn) -> None:
        """Find which refused entries the stream has; others get greater ids. Raises ResponseError for other reasons."""
        rows = cast(Rows, await self._client.xrange(log_key(turn_id), min=turn.unwritten[0].id))
        if not rows:
            raise ResponseError("entries of a turn are refused")
        stored_ids = {entry_id.decode() for entry_id, _ in rows}
        last = max((number for number, item in enumerate(turn.unwritten, 1) if item.id in stored_ids), default=0)
        turn.created = True
        self._confirm(turn_id, turn, last)
        turn.last = max(turn.last, order(rows[-1][0].decode()))
        turn.unwritten[:] = [Entry(turn.next_id(), item.kind, item.data, item.offset) for item in turn.unwritten]

    def _collect(self, turn_id: int, turn: OpenTurn) -> None:
        """Pass new text and events of a turn to its viewers."""
        if entries := turn.collect():
            self._viewers.hand_over(turn_id, entries, turn.unwritten)

    def _commands(self, turn_id: int, turn: OpenTurn) -> list[tuple[Any, ...]]:
        """Return what appends a turn's unwritten entries, text that follows text as one."""
        key = log_key(turn_id)
        commands: list[tuple[Any, ...]] = []
        for item in merge(turn.unwritten):
            exists = ("NOMKSTREAM",) if turn.created or commands else ()
            pairs = fields(item.kind, item.data, item.offset).items()
            commands.append(("XADD", key, *exists, item.id, *chain.from_iterable(pairs)))
        return commands if turn.created else [*commands, ("EXPIRE", key, self._keep)]
