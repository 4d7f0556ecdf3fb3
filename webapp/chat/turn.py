"""One turn, from lease to final event, as a coroutine of the runner's loop."""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import time
from asyncio import Future
from collections.abc import Coroutine
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Protocol

from sqlalchemy.exc import SQLAlchemyError

from webapp.chat.assembly import Assembled, TurnGone
from webapp.chat.budget import BudgetTooSmall
from webapp.chat.finish import Finished, Outcome, Step
from webapp.chat.tools import ToolRun
from webapp.chat.writer import TurnWriter
from webapp.database import database_is_away
from webapp.llm.chat import ChatClient, Finish, TextDelta, ToolCall, Usage
from webapp.llm.errors import ModelError
from webapp.validation import MAX_TEXT_BYTES

log = logging.getLogger(__name__)

WAIT_FOR_EARLIER = 0.25
"""Seconds between looks at an earlier reply of the conversation that is still being written."""
FINISH_PATIENCE = 300.0
"""Seconds to go on trying to store a reply while the database is away; after that the sweep finishes the row."""

TOOL_ROUNDS = 4
"""How often the model may ask for tools in one reply, and with `TOOL_CALLS` for how many at once."""
TOOL_CALLS = 8
TOO_MANY = '{"status": "error", "detail": "Too many calls at once."}'

STOP, SHUTDOWN = "stop", "shutdown"

_WORDS = {
    STOP: ("stopped", None, None),
    SHUTDOWN: ("interrupted", "shutdown", "The server was restarted while this reply was being written."),
}


class Tables(Protocol):
    """The turn's way to the database: blocking calls, made off the loop, each with a connection of its own."""

    async def assemble(self, turn_id: int, embedded: concurrent.futures.Future | None) -> Assembled: ...
    async def use_tool(self, turn_id: int, call: ToolCall) -> ToolRun: ...
    async def finish(self, turn_id: int, outcome: Outcome) -> Finished | None: ...
    async def follow_up(self, turn_id: int, finished: Finished) -> None: ...


@dataclass(slots=True)
class Progress:
    """What of the reply there is so far; it outlives a cancelled model call."""

    text: str = ""
    size: int = 0
    model: str | None = None
    finish: Finish | None = None
    truncated: bool = False
    first_text_ms: int | None = None
    usage: Usage | None = None
    tool_calls: list[dict] = field(default_factory=list)

    def note(self, finish: Finish) -> None:
        """Note the end of a model call; a reply with tools takes several."""
        self.finish = finish
        self.truncated = finish.reason == "length"
        if finish.usage is not None:
            self.usage = self.usage.plus(finish.usage) if self.usage else finish.usage


async def run_turn(
    turn_id: int,
    header: dict,
    *,
    is_ours: Future[bool],
    tables: Tables,
    chat: ChatClient,
    writer: TurnWriter,
    max_tokens: int,
    embedded: concurrent.futures.Future | None = None,
) -> None:
    """Write the reply of a turn. Every way it can end is stored in the row and said on the stream.

    The model is not asked before `is_ours` is known; if it is false the turn is left alone. `embedded` is done when the
    question has been embedded.

    Cancel the task with the message STOP or SHUTDOWN to end it early with what there is.
    """
    writer.begin(turn_id, header)
    progress = Progress()
    assembled: Assembled | None = None
    started = time.perf_counter()
    try:
        assembled = await _assemble(turn_id, tables, embedded)
        if not await asyncio.shield(is_ours):
            log.info("turn is run elsewhere", extra={"turn_id": turn_id})
            writer.drop(turn_id)
            return
        progress.model = assembled.model or chat.settings.chat_model
        await _stream(turn_id, assembled, progress, tables, chat, writer, max_tokens, started)
        outcome = Outcome("complete", progress.text)
    except TurnGone:
        outcome = Outcome("stopped", progress.text)
    except asyncio.CancelledError as cancelled:
        reason = cancelled.args[0] if cancelled.args and cancelled.args[0] in _WORDS else SHUTDOWN
        asyncio.current_task().uncancel()
        status, code, detail = _WORDS[reason]
        outcome = Outcome(status, progress.text, error_code=code, error_detail=detail)
    except ModelError as error:
        log.info("turn failed", extra={"turn_id": turn_id, "code": error.code})
        status = "interrupted" if progress.text else "failed"
        outcome = Outcome(
            status, progress.text, error_code=error.code, error_detail=error.detail, retryable=error.retryable
        )
    except BudgetTooSmall:
        detail = "This message does not fit into what the model can read. Shorten it, or choose a larger model."
        outcome = Outcome("failed", "", error_code="context_too_long", error_detail=detail, retryable=False)
    except SQLAlchemyError as error:
        log.warning("turn failed: database", extra={"turn_id": turn_id, "error": type(error).__name__})
        detail = "The database could not be reached. Your message is kept; it was not answered."
        outcome = Outcome("failed", progress.text, error_code="database_away", error_detail=detail)
    except Exception:
        log.exception("turn failed unexpectedly", extra={"turn_id": turn_id})
        detail = "Something went wrong on the server. Your message is kept; it was not answered."
        outcome = Outcome("failed", progress.text, error_code="internal", error_detail=detail)
    await _unstoppable(_conclude(turn_id, _complete(outcome, progress, assembled, started), tables, writer))


async def _unstoppable(work: Coroutine) -> None:
    """Run to the end even when a stop arrives in the meantime: there is nothing left to stop."""
    task = asyncio.create_task(work)
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                raise
            asyncio.current_task().uncancel()


async def _assemble(turn_id: int, tables: Tables, embedded: concurrent.futures.Future | None) -> Assembled:
    """The prompt, once every earlier reply of the conversation is final: turns of a conversation run in order."""
    while True:
        assembled = await tables.assemble(turn_id, embedded)
        if assembled.waits_for is None:
            return assembled
        await asyncio.sleep(WAIT_FOR_EARLIER)


async def _stream(
    turn_id: int,
    assembled: Assembled,
    progress: Progress,
    tables: Tables,
    chat: ChatClient,
    writer: TurnWriter,
    max_tokens: int,
    started: float,
) -> None:
    """The reply: text, and between one model call and the next what the tools it asks for answer."""
    prompt = list(assembled.messages)
    for rounds_left in reversed(range(TOOL_ROUNDS + 1)):
        begins_at = len(progress.text)
        calls = await _one_call(turn_id, prompt, assembled, progress, chat, writer, max_tokens, started)
        if not calls or progress.truncated or not rounds_left:
            return
        prompt.append(_asked(progress.text[begins_at:], calls))
        for number, call in enumerate(calls):
            answer = TOO_MANY if number >= TOOL_CALLS else await _use_tool(turn_id, call, progress, tables, writer)
            prompt.append({"role": "tool", "tool_call_id": call.id, "content": answer})


def _asked(text: str, calls: list[ToolCall]) -> dict:
    """The model's message that asks for tools, as it is sent back to it."""
    wanted = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments or "{}"}}
        for call in calls
    ]
    return {"role": "assistant", "content": text or None, "tool_calls": wanted}


async def _use_tool(turn_id: int, call: ToolCall, progress: Progress, tables: Tables, writer: TurnWriter) -> str:
    """Carry out a call and record it. A stop waits for it: what was done must stand in the record."""
    task = asyncio.create_task(tables.use_tool(turn_id, call))
    try:
        run = await asyncio.shield(task)
    except asyncio.CancelledError:
        progress.tool_calls.append((await task).record)
        raise
    progress.tool_calls.append(run.record)
    writer.entry(turn_id, "tool", run.record)
    return run.answer


async def _one_call(
    turn_id: int,
    prompt: list[dict],
    assembled: Assembled,
    progress: Progress,
    chat: ChatClient,
    writer: TurnWriter,
    max_tokens: int,
    started: float,
) -> list[ToolCall]:
    """One model call, streamed; the tools that it asks for."""
    calls: list[ToolCall] = []
    follows = bool(progress.text)
    events = chat.stream(prompt, model=assembled.model, max_tokens=max_tokens, tools=assembled.tools or None)
    async with aclosing(events):
        async for event in events:
            if isinstance(event, TextDelta):
                text = storable(event.text)
                if not text:
                    continue
                if follows and not progress.text.endswith("\n"):
                    text = "\n\n" + text.lstrip()
                follows = False
                room = MAX_TEXT_BYTES - progress.size
                progress.size += len(text.encode())
                if progress.size > MAX_TEXT_BYTES:
                    # The documented column holds 65,535 bytes; a longer reply ends here, and says so.
                    progress.truncated = True
                    text = text.encode()[:room].decode("utf-8", "ignore")
                if progress.first_text_ms is None:
                    progress.first_text_ms = round((time.perf_counter() - started) * 1000)
                progress.text += text
                writer.delta(turn_id, text)
                if progress.truncated:
                    return []
            elif isinstance(event, ToolCall):
                calls.append(event)
            elif isinstance(event, Finish):
                progress.note(event)
    return calls


def storable(text: str) -> str:
    """Text as the database can hold it: without NUL, and with a mark for halves of surrogate pairs."""
    return text.replace("\x00", "").encode("utf-8", "replace").decode()


def _complete(outcome: Outcome, progress: Progress, assembled: Assembled | None, started: float) -> Outcome:
    """The outcome with everything that is known of the model call."""
    usage = progress.usage
    model = (progress.finish.model if progress.finish else None) or progress.model
    steps = []
    if assembled is not None:
        call = {
            "first_text_ms": progress.first_text_ms,
            "finish_reason": progress.finish.reason if progress.finish else None,
            "prompt_tokens": usage.prompt_tokens if usage else None,
            "completion_tokens": usage.completion_tokens if usage else None,
            "tools": [record["tool_name"] for record in progress.tool_calls],
        }
        elapsed = round((time.perf_counter() - started) * 1000)
        steps = [step for step in (assembled.retrieval, assembled.step) if step is not None]
        steps += [Step("model", call, model=model, duration_ms=elapsed)]
    return replace(
        outcome,
        model=model,
        prompt_tokens=usage.prompt_tokens if usage else None,
        completion_tokens=usage.completion_tokens if usage else None,
        prompt_version=assembled.prompt_version if assembled else None,
        truncated=progress.truncated,
        tool_calls=progress.tool_calls,
        receipt=assembled.receipt if assembled else (),
        steps=steps,
    )


async def _conclude(turn_id: int, outcome: Outcome, tables: Tables, writer: TurnWriter) -> None:
    """Store the outcome, then say `done` or `error`, then ask for the turn's jobs: in this order."""
    deadline = time.monotonic() + FINISH_PATIENCE
    pause = 0.2
    while True:
        try:
            finished = await tables.finish(turn_id, outcome)
            break
        except SQLAlchemyError as error:
            if not database_is_away(error) or time.monotonic() > deadline:
                log.error("turn not stored, left to the sweep", extra={"turn_id": turn_id}, exc_info=error)
                await writer.flush(turn_id)  # the sweep stores what is on the stream
                return
            log.warning("turn not stored, retrying", extra={"turn_id": turn_id, "error": type(error).__name__})
            await asyncio.sleep(pause)
            pause = min(pause * 2, 5.0)
    if finished is None:  # somebody else finished the row, or it was deleted: they said so on the stream
        await writer.end(turn_id, "settled", {})
        return
    await writer.end(turn_id, finished.kind, finished.data)
    await tables.follow_up(turn_id, finished)
