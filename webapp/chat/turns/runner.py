"""Runs all turns of a process on one asyncio loop in its own thread, off the request threads."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any

from flask import Flask
from redis.asyncio.retry import Retry
from redis.backoff import ExponentialBackoff
from redis.exceptions import ConnectionError as RedisConnectionError, RedisError

from webapp.chat.turns import turnlog
from webapp.chat.turns.leases import Leases
from webapp.chat.turns.stream_hub import Hub
from webapp.chat.turns.tool_calls import Consent, ConsentWaiter
from webapp.chat.turns.turn import DELETED, LOST, SHUTDOWN, STOP, Turn, TurnServices
from webapp.chat.turns.turn_database import TurnDatabase
from webapp.chat.turns.turnlog import order
from webapp.chat.turns.writer import TurnWriter
from webapp.config import Settings
from webapp.errors import Unavailable
from webapp.llm.pool import ChatPool
from webapp.loops import end_tasks, repeat_on_loop
from webapp.redis.clients import ANSWER_SECONDS, CONNECT_SECONDS, Wire, open_async_redis
from webapp.telemetry import tracing
from webapp.tools.client_tools import ClientTools

log = logging.getLogger(__name__)

LOG_SECONDS = 3_600
"""How long what a turn streamed can be read again."""

QUIET_TURNS = 8
"""Up to so many turns, a process has time for other things."""
STOP_WAIT_MS = 1_000
"""How long one read waits for a request to stop: a second less than ANSWER_SECONDS, as the loop may be held up."""
RETRY_SECONDS = 0.2
COALESCE_MS = 50
"""Under load, text is passed on at most this often."""
SAVE_SECONDS = 1.25
"""Seconds from one save of a reply that is being written until the next one is due."""
SAVE_CHECKS = 5
"""How many times within that, at most, it is asked what is due: half a second of `recovery.LOSS_SECONDS` is left."""
LONG_TEXT = 65_536
"""That interval grows by SAVE_SECONDS for every so many characters, since each save stores the whole text."""


class TurnRunner:
    """Runs turns on a loop that starts with the first of them, in the process that runs it (never before a fork)."""

    def __init__(self, app: Flask, settings: Settings, chat: Callable[[], ChatPool], hub: Hub):
        self._app = app
        self._settings = settings
        self._make_chat = chat
        self._hub = hub
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._turns: dict[int, Turn] = {}
        self._submitted: set[int] = set()
        self._draining = False
        self._last_stop = ""

    @property
    def active(self) -> int:
        """Return how many turns this process is running or about to run."""
        return len(self._tasks) + len(self._submitted)

    @property
    def has_spare_time(self) -> bool:
        """Return whether few turns are running, none of which waits for its first words."""
        if self._submitted or len(self._tasks) > QUIET_TURNS or len(self._turns) < len(self._tasks):
            return False  # some have not begun
        return all(turn.progress.text or turn.is_ending for turn in list(self._turns.values()))

    def require_room(self) -> None:
        """Raise Unavailable if this process takes no more turns; call it before anything is written."""
        if self._draining:
            raise Unavailable("The server is restarting. Nothing was sent; try again in a moment.")
        if self.active >= self._settings.max_turns_per_process:
            raise Unavailable("Too many replies are being written. Nothing was sent; try again in a moment.")

    def submit(
        self,
        turn_id: int,
        header: dict[str, Any],
        *,
        place: ExitStack | None = None,
        consent: Consent = "ask",
        client: ClientTools | None = None,
    ) -> None:
        """Run a turn whose rows are committed, unless this process is shutting down: recovery finishes those.

        Its `place` in the start queue is closed once its prompt is made. `consent`: which calls that write it makes.
        `client`: the tools of the calling program.
        """
        place = place or ExitStack()
        if self._draining:
            place.close()
            log.warning("turn left to recovery: shutting down", extra={"turn_id": turn_id})
            return
        loop = self.start()
        self._submitted.add(turn_id)
        self._hub.own(turn_id)
        turn = partial(Turn, turn_id, header, self._services, place=place, consent=consent, client=client)
        loop.call_soon_threadsafe(self._start_task, turn_id, turn)

    def drain(self, seconds: float) -> None:
        """Take no new turns and wait for the running ones; any not done in time are stored as interrupted."""
        self._draining = True
        if self._loop is None:
            return
        asyncio.run_coroutine_threadsafe(self._drain(seconds), self._loop).result(timeout=seconds + 15)

    def start(self) -> asyncio.AbstractEventLoop:
        """Start the loop unless it runs; a web process does so at startup, so that no turn waits for it."""
        with self._lock:
            if self._loop is None:
                loop = asyncio.new_event_loop()
                ready = threading.Event()
                threading.Thread(target=self._run_loop, args=(loop, ready), name="turn-runner", daemon=True).start()
                ready.wait()
                self._loop = loop
            return self._loop

    def _run_loop(self, loop: asyncio.AbstractEventLoop, ready: threading.Event) -> None:
        asyncio.set_event_loop(loop)
        loop.run_until_complete(self._open())
        ready.set()
        loop.run_forever()

    async def _open(self) -> None:
        settings = self._settings
        # The writer retries by itself; everything else asked of Redis can do without an answer.
        self._redis = open_async_redis(
            settings.redis_url,
            socket_connect_timeout=CONNECT_SECONDS,
            socket_timeout=ANSWER_SECONDS,
            retry=Retry(ExponentialBackoff(cap=0.2, base=0.02), 1, supported_errors=(RedisConnectionError,)),
            max_connections=32,
        )
        self._stops = Wire(self._redis)
        self._tables = TurnDatabase(self._app)
        self._leases = Leases(
            self._redis,
            seconds=settings.turn_lease_seconds,
            still_ours=self._tables.still_streaming,
            lost=self._abandon,
        )
        self._writer = TurnWriter(
            self._redis,
            coalesce_ms=COALESCE_MS,
            keep_seconds=LOG_SECONDS,
            viewers=self._hub,
            may_write=self._leases.renew_if_lapsed,
        )
        self._chat = self._make_chat()
        self._has_turns = asyncio.Event()
        ask, longest = ConsentWaiter(self._redis).ask, settings.reply_tokens
        self._services = TurnServices(self._tables, self._chat, self._writer, self._leases, longest, ask)
        steps = {
            "leases not renewed": self._leases.keep,
            "requests to stop are not read": self._stop_requested_turns,
            "running replies not stored": self._save_texts,
        }
        self._upkeep = [
            asyncio.create_task(repeat_on_loop(step, log, problem, RETRY_SECONDS)) for problem, step in steps.items()
        ]

    def _start_task(self, turn_id: int, make: Callable[..., Turn]) -> None:
        if turn_id not in self._tasks:
            lease = asyncio.create_task(self._leases.acquire(turn_id))
            turn = make(is_ours=lease)
            task = asyncio.create_task(self._run(turn, lease), name=f"turn-{turn_id}")
            self._tasks[turn_id] = task
            task.add_done_callback(lambda _task: self._tasks.pop(turn_id, None))
            task.add_done_callback(lambda _task: turn.place.close())  # also of one that was cancelled before it began
        self._submitted.discard(turn_id)  # not before: a turn between the two would not count as active

    async def _run(self, turn: Turn, lease: asyncio.Task[bool]) -> None:
        self._turns[turn.id] = turn
        self._has_turns.set()
        self._leases.turns.add(turn.id)
        try:
            with tracing.span("turn"):
                await turn.run()
        except Exception:
            log.exception("turn broke", extra={"turn_id": turn.id})
        finally:
            has_lease = turn.id in self._leases.turns
            self._leases.turns.discard(turn.id)
            del self._turns[turn.id]
            if not self._turns:
                self._has_turns.clear()
            if self._hub.release(turn.id):
                await asyncio.to_thread(self._hub.wake)
            with suppress(RedisError):
                if await lease and has_lease:
                    await self._leases.release(turn.id)

    def _abandon(self, turn_id: int) -> None:
        """Stop writing a turn that somebody else has taken or ended."""
        turn = self._turns.get(turn_id)
        if turn is not None and not turn.is_ending:
            self._leases.turns.discard(turn_id)
            self._writer.drop(turn_id)
            self._tasks[turn_id].cancel(LOST)

    async def _save_texts(self) -> None:
        """Store the replies that take longer, as far as they are written."""
        await self._has_turns.wait()
        due = min(turn.save_at for turn in self._turns.values()) - time.monotonic()
        await asyncio.sleep(min(SAVE_SECONDS, max(SAVE_SECONDS / SAVE_CHECKS, due)))
        now = time.monotonic()
        texts = {turn.id: turn.progress.text for turn in self._turns.values() if turn.is_due(now)}
        if not texts:
            return
        left = await self._tables.save(texts)
        for turn_id, text in texts.items():
            if turn := self._turns.get(turn_id):
                turn.note_saved(text, now + SAVE_SECONDS * (1 + len(text) // LONG_TEXT))
        for turn_id in left.ended:
            self._abandon(turn_id)
        for turn_id in left.gone:
            if (turn := self._turns.get(turn_id)) and not turn.is_ending:
                self._tasks[turn_id].cancel(DELETED)

    async def _stop_requested_turns(self) -> None:
        """Stop the turns that somebody has asked to stop since the last look."""
        await self._has_turns.wait()
        if not self._last_stop:  # earlier ones are of turns that ended, whose numbers others may have been given since
            second, _ = await self._redis.time()
            self._last_stop = _id_of(await self._redis.xrevrange(turnlog.STOPS, f"{second}000", count=1))
        look = ("XREVRANGE", turnlog.STOPS, "+", "-", "COUNT", 1)
        wait = ("XREAD", "BLOCK", STOP_WAIT_MS, "STREAMS", turnlog.STOPS, self._last_stop)
        newest, found = await self._stops.send([look, wait])
        for answer in (newest, found):
            if isinstance(answer, RedisError):
                raise answer
        for entries in dict(found or ()).values():
            for entry_id, (_, turn_id) in entries:
                self._last_stop = entry_id.decode()
                self.stop(int(turn_id))
        if not found and order(_id_of(newest)) < order(self._last_stop):
            self._last_stop = "0-0"  # Redis was emptied; if its clock was set back, what comes now has lesser ids

    def stop(self, turn_id: int) -> None:
        if turn_id in self._turns:
            self._tasks[turn_id].cancel(STOP)
        elif turn_id in self._tasks or turn_id in self._submitted:  # it could not store a stopped reply yet
            asyncio.get_running_loop().call_later(RETRY_SECONDS, self.stop, turn_id)

    async def _drain(self, seconds: float) -> None:
        tasks = list(self._tasks.values())
        if tasks:
            _done, late = await asyncio.wait(tasks, timeout=seconds)
            for task in late:
                task.cancel(SHUTDOWN)
            if late:
                await asyncio.wait(late, timeout=10)
        await end_tasks(self._upkeep)
        await self._writer.close()
        await self._chat.aclose()
        await self._redis.aclose()
        self._tables.close()


def _id_of(newest: Any) -> str:
    """Return the id of the only entry read from a stream; one before all others if there is none."""
    return str(newest[0][0].decode()) if newest else "0-0"
