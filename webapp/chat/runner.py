"""Runs all turns of a process on one asyncio loop in a thread of its own, off the request threads."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from flask import Flask
from redis.asyncio import Redis as AsyncRedis
from redis.exceptions import RedisError
from sqlalchemy.exc import SQLAlchemyError

from webapp.chat import assembly, finish, tools, turnlog
from webapp.chat.hub import Hub
from webapp.chat.turn import SHUTDOWN, STOP, run_turn
from webapp.chat.writer import TurnWriter
from webapp.config import Settings
from webapp.database import write_transaction
from webapp.errors import Unavailable
from webapp.llm.chat import ChatClient, ToolCall
from webapp.memories.known import note_uses
from webapp.queueing import enqueue
from webapp.retrieval.service import catch_up

log = logging.getLogger(__name__)

STARTS, ENDS = 1, 2
"""Threads that read for turns that begin, and that write for those that end or use a tool: neither waits for the other.
More would not make it faster, for Python computes on one thread at a time, but would hold up the running streams."""
STOP_POLL = 0.2
"""Seconds between looks at the stop flags; the promise is half a second."""
LONGEST_RENEWAL = 2.0
"""Seconds between renewals of the leases, however long they are: recovery suspects a turn without one after 4 s."""


class TurnRunner:
    """Starts its loop with the first turn, in the process that runs it (never before a fork)."""

    def __init__(self, app: Flask, settings: Settings, chat: Callable[[], ChatClient], hub: Hub):
        self._app = app
        self._settings = settings
        self._make_chat = chat
        self._hub = hub
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: dict[int, asyncio.Task] = {}
        self._submitted: set[int] = set()
        self._leased: set[int] = set()
        self._draining = False
        self._owner = f"{socket.gethostname()}:{os.getpid()}".encode()

    @property
    def active(self) -> int:
        """How many turns this process is running, or about to run."""
        return len(self._tasks) + len(self._submitted)

    def require_room(self) -> None:
        """Raise Unavailable when this process takes no more turns: to be asked before anything is written."""
        if self._draining:
            raise Unavailable("The server is restarting. Nothing was sent; try again in a moment.")
        if self.active >= self._settings.max_turns_per_process:
            raise Unavailable("Too many replies are being written. Nothing was sent; try again in a moment.")

    def submit(self, turn_id: int, header: dict[str, Any], embedded: Future[Any] | None = None) -> None:
        """Run a turn whose rows are committed, unless this process is ending: then recovery finishes the row.

        Its prompt is not begun before `embedded` is done, for as long as a question's vector is waited for.
        """
        if self._draining:
            log.warning("turn left to recovery: shutting down", extra={"turn_id": turn_id})
            return
        loop = self.start()
        self._submitted.add(turn_id)
        self._hub.own(turn_id)
        loop.call_soon_threadsafe(self._spawn, turn_id, header, embedded)

    def drain(self, seconds: float) -> None:
        """Take no new turns and wait for the running ones; what is not done in time is stored as interrupted."""
        self._draining = True
        if self._loop is None:
            return
        asyncio.run_coroutine_threadsafe(self._drain(seconds), self._loop).result(timeout=seconds + 15)

    def start(self) -> asyncio.AbstractEventLoop:
        """Start the loop, unless it runs; a web process does so at its start, so that no turn waits for it."""
        with self._lock:
            if self._loop is None:
                ready = threading.Event()
                threading.Thread(target=self._run_loop, args=(ready,), name="turn-runner", daemon=True).start()
                ready.wait()
            return self._loop

    def _run_loop(self, ready: threading.Event) -> None:
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        loop.run_until_complete(self._open())
        self._loop = loop
        ready.set()
        loop.run_forever()

    async def _open(self) -> None:
        self._redis = AsyncRedis.from_url(
            self._settings.redis_url, socket_connect_timeout=2, socket_timeout=5, max_connections=32
        )
        self._writer = TurnWriter(
            self._redis,
            coalesce_ms=self._settings.turn_coalesce_ms,
            keep_seconds=self._settings.turn_log_seconds,
            hand_over=self._hub.hand_over,
        )
        self._chat = self._make_chat()
        self._tables = TurnDatabase(self._app, self._settings, lambda: self.active <= 1)
        self._upkeep = [
            asyncio.create_task(self._renew_leases(), name="turn-leases"),
            asyncio.create_task(self._honour_stops(), name="turn-stops"),
        ]

    def _spawn(self, turn_id: int, header: dict[str, Any], embedded: Future[Any] | None) -> None:
        self._submitted.discard(turn_id)
        if turn_id in self._tasks:
            return
        task = asyncio.create_task(self._run(turn_id, header, embedded), name=f"turn-{turn_id}")
        self._tasks[turn_id] = task
        task.add_done_callback(lambda _task: self._tasks.pop(turn_id, None))

    async def _run(self, turn_id: int, header: dict[str, Any], embedded: Future[Any] | None) -> None:
        lease = asyncio.create_task(self._take_lease(turn_id))
        self._leased.add(turn_id)
        try:
            await run_turn(
                turn_id,
                header,
                is_ours=lease,
                tables=self._tables,
                chat=self._chat,
                writer=self._writer,
                max_tokens=self._settings.reply_tokens,
                embedded=embedded,
            )
        except Exception:
            log.exception("turn broke", extra={"turn_id": turn_id})
        finally:
            self._leased.discard(turn_id)
            if self._hub.disown(turn_id):
                await asyncio.to_thread(self._hub.wake)
            with suppress(RedisError):
                if await lease:
                    await self._redis.delete(turnlog.lease_key(turn_id), turnlog.stop_key(turn_id))

    async def _take_lease(self, turn_id: int) -> bool:
        """Whether the turn is this process's to run; without Redis it is."""
        key = turnlog.lease_key(turn_id)
        try:
            taken = await self._redis.set(key, self._owner, nx=True, px=self._lease_ms)
            # A command that was sent again, because its answer was lost, finds the lease of its first try.
            return bool(taken) or await self._redis.get(key) == self._owner
        except RedisError as error:
            # The answer matters more than the lease: the row's status is claimed in the database in the end.
            log.warning("turn runs without a lease", extra={"turn_id": turn_id, "error": type(error).__name__})
            return True

    @property
    def _lease_ms(self) -> int:
        return int(self._settings.turn_lease_seconds * 1000)

    async def _renew_leases(self) -> None:
        while True:
            await asyncio.sleep(min(self._settings.turn_lease_seconds / 4, LONGEST_RENEWAL))
            try:
                async with self._redis.pipeline(transaction=False) as pipe:
                    for turn_id in list(self._leased):
                        pipe.set(turnlog.lease_key(turn_id), self._owner, px=self._lease_ms)
                    await pipe.execute()
            except RedisError as error:
                log.warning("leases not renewed", extra={"error": type(error).__name__})

    async def _honour_stops(self) -> None:
        while True:
            await asyncio.sleep(STOP_POLL)
            turn_ids = list(self._leased)  # a task that has not come so far cannot store what it was stopped at
            if not turn_ids:
                continue
            try:
                async with self._redis.pipeline(transaction=False) as pipe:
                    for turn_id in turn_ids:
                        pipe.exists(turnlog.stop_key(turn_id))
                    flags = await pipe.execute()
                stopped = [turn_id for turn_id, flag in zip(turn_ids, flags, strict=True) if flag]
                if stopped:
                    await self._redis.delete(*map(turnlog.stop_key, stopped))
            except RedisError:
                continue
            for turn_id in self._leased.intersection(stopped):
                self._tasks[turn_id].cancel(STOP)

    async def _drain(self, seconds: float) -> None:
        tasks = list(self._tasks.values())
        if tasks:
            _done, late = await asyncio.wait(tasks, timeout=seconds)
            for task in late:
                task.cancel(SHUTDOWN)
            if late:
                await asyncio.wait(late, timeout=10)
        for task in self._upkeep:
            task.cancel()
        await asyncio.gather(*self._upkeep, return_exceptions=True)
        await self._writer.close()
        await self._chat.aclose()
        await self._redis.aclose()
        self._tables.close()


class TurnDatabase:
    """Blocking database work on a few threads, each call in an app context of its own: nothing is held in between."""

    def __init__(self, app: Flask, settings: Settings, is_quiet: Callable[[], bool]):
        self._app = app
        self._settings = settings
        self._is_quiet = is_quiet
        self._starts = ThreadPoolExecutor(STARTS, thread_name_prefix="turn-starts")
        self._ends = ThreadPoolExecutor(ENDS, thread_name_prefix="turn-ends")
        self._reading = 0

    async def assemble(self, turn_id: int, embedded: Future[Any] | None) -> assembly.Assembled:
        """The prompt of the turn, whose question is `embedded` sooner or later.

        Alone it is begun meanwhile. A thread that others have work for does not wait.
        """
        if self._reading and embedded is not None and not embedded.done():
            await _settled(embedded, self._settings.embedding_query_seconds)

        def work() -> assembly.Assembled:
            return assembly.assemble(turn_id, self._settings)

        self._reading += 1
        try:
            return await self._call(self._starts, work)
        finally:
            self._reading -= 1

    async def use_tool(self, turn_id: int, call: ToolCall) -> tools.ToolRun:
        """Carry out what the model asks for."""
        return await self._call(self._ends, lambda: tools.run_tool(turn_id, call))

    async def finish(self, turn_id: int, outcome: finish.Outcome) -> finish.Finished | None:
        """Store the outcome in one transaction."""

        def work() -> finish.Finished | None:
            with write_transaction():
                return finish.finish_turn(turn_id, outcome)

        return await self._call(self._ends, work)

    async def follow_up(self, turn_id: int, finished: finish.Finished) -> None:
        """Put the turn's jobs on their queues, and let its exchange be found at once by the user's next turn here."""

        def work() -> None:
            client = self._app.extensions["redis"]
            try:
                turnlog.owe(client, turn_id, [name for name, _ in finished.jobs])
                for name, ids in finished.jobs:
                    enqueue(name, turn_id=turn_id, **ids)
            except RedisError as error:
                log.warning("jobs left to the sweep", extra={"turn_id": turn_id, "error": type(error).__name__})
            note_uses(client, finished.used)
            if self._is_quiet():  # else each turn that begins does so for all that have ended
                with suppress(SQLAlchemyError):
                    catch_up(finished.user_id)

        await self._call(self._ends, work)

    async def _call(self, pool: ThreadPoolExecutor, work: Callable[[], Any]) -> Any:
        def run() -> Any:
            with self._app.app_context():  # its end removes the session and gives the connection back
                return work()

        return await asyncio.get_running_loop().run_in_executor(pool, run)

    def close(self) -> None:
        for pool in (self._starts, self._ends):
            pool.shutdown(wait=False)


async def _settled(future: Future[Any], seconds: float) -> None:
    """Wait for what another thread makes, however it ends."""
    waited = asyncio.wrap_future(future)
    waited.add_done_callback(lambda done: done.cancelled() or done.exception())  # it is for others to hear of
    await asyncio.wait([waited], timeout=seconds)
