"""The turns' access to the database: blocking calls on a few threads, off the loop."""

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TypeVar

from flask import Flask
from redis.exceptions import RedisError
from sqlalchemy.exc import SQLAlchemyError

from webapp.background.job_specs import add_jobs
from webapp.chat.context import assembly
from webapp.chat.turns import finish, recovery, turnlog
from webapp.chat.turns.finish import FinishedTurn
from webapp.chat.turns.start_queue import MAX_CONCURRENT
from webapp.db.base import write_transaction
from webapp.db.conflicts import repeat_on_conflict
from webapp.db.failures import database_is_away
from webapp.extensions import app_settings, redis
from webapp.files.drawing import fill_pictures
from webapp.llm.partial_calls import ToolCall
from webapp.memories.prompt.conversation_memory import note_uses
from webapp.telemetry import tracing
from webapp.tools.calls import ToolRun
from webapp.tools.client_tools import ClientTools
from webapp.tools.registry import run_tool

STARTS, ENDS, SAVES, PICTURES = MAX_CONCURRENT, 2, 1, 1
"""How many threads read for turns that begin, write for those that end or use a tool, store running replies, and read
pictures for prompts: none waits for another. More would hold up the running streams."""

PAUSES = (0.2, 0.6, 1.8)
"""Seconds between tries to read what a turn needs, while the database is away."""

log = logging.getLogger(__name__)

T = TypeVar("T")


class TurnDatabase:
    """Each call has its own application context: nothing is held in between."""

    def __init__(self, app: Flask):
        self._app = app
        self._starts = ThreadPoolExecutor(STARTS, thread_name_prefix="turn-starts")
        self._ends = ThreadPoolExecutor(ENDS, thread_name_prefix="turn-ends")
        self._saves = ThreadPoolExecutor(SAVES, thread_name_prefix="turn-saves")
        self._pictures = ThreadPoolExecutor(PICTURES, thread_name_prefix="turn-pictures")

    async def assemble(self, turn_id: int, client: ClientTools | None = None) -> assembly.AssembledPrompt:
        """Build the prompt of a turn, for a while if the database is away: one that fails over is back in a moment."""
        settings = app_settings.of(self._app)
        for pause in (*PAUSES, 0.0):
            try:
                assembled = await self._call(self._starts, lambda: assembly.assemble(turn_id, settings, client))
                break
            except SQLAlchemyError as error:
                if not pause or not database_is_away(error):
                    raise
                log.warning("turn waits for the database", extra={"error": type(error).__name__})
                await asyncio.sleep(pause)
        if any(isinstance(message["content"], list) for message in assembled.messages):
            messages = await self._call(self._pictures, lambda: fill_pictures(assembled.messages))
            return replace(assembled, messages=messages)
        return assembled

    async def use_tool(self, turn_id: int, call: ToolCall, is_tainted: bool, model_id: str | None) -> ToolRun:
        return await self._call(self._ends, lambda: run_tool(turn_id, call, is_tainted, model_id))

    async def save(self, texts: Mapping[int, str]) -> recovery.FinishedReplies:
        """Store replies as far as they are written, by id; returns those that nobody should write any more."""
        return await self._call(self._saves, write_transaction()(lambda: recovery.save_texts(texts)))

    async def still_streaming(self, turn_ids: Collection[int]) -> Collection[int]:
        """Return which of some replies are still being written; all of them while the database is away."""
        try:
            return await self._call(self._saves, lambda: recovery.streaming_replies(turn_ids))
        except SQLAlchemyError:
            return turn_ids

    async def finish(self, turn_id: int, outcome: finish.Outcome) -> finish.FinishedTurn | None:
        """Store the outcome in one transaction."""
        return await self._call(self._ends, write_transaction()(lambda: finish.finish_turn(turn_id, outcome)))

    async def follow_up(self, turn_id: int, finished_turn: FinishedTurn) -> None:
        """Put the turn's jobs on their queues, and give up its lease."""
        await self._call(self._ends, lambda: queue_jobs(turn_id, finished_turn))

    async def _call(self, pool: ThreadPoolExecutor, work: Callable[[], T]) -> T:
        def run() -> T:
            with self._app.app_context():  # its end removes the session and gives the connection back
                return repeat_on_conflict(work)

        return await asyncio.get_running_loop().run_in_executor(pool, tracing.in_current_span(run))

    def close(self) -> None:
        """Take no more work."""
        for pool in (self._starts, self._ends, self._saves, self._pictures):
            pool.shutdown(wait=False)


def queue_jobs(turn_id: int, turn: FinishedTurn) -> None:
    """Put the turn's jobs on their queues and give up its lease, in one write; without Redis the sweep finds them."""
    client = redis()
    try:
        with client.pipeline(transaction=True) as pipe:
            add_jobs(client, pipe, turn.jobs)  # first: RQ begins the transaction
            turnlog.note_pending_jobs(pipe, turn_id, [job.name for job in turn.jobs if job.turn_id])
            note_uses(pipe, turn.memory_ids)
            pipe.delete(turnlog.lease_key(turn_id))
            pipe.execute()
    except RedisError as error:
        log.warning("jobs left to the sweep", extra={"turn_id": turn_id, "error": type(error).__name__})
