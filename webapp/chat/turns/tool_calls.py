"""Carries out the tools that the model asks for in one turn, within bounds: a failure becomes a sentence to the model
and a line under the reply, never a failed turn."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

from redis.asyncio import Redis as AsyncRedis
from redis.exceptions import RedisError

from webapp.chat.turns import turnlog
from webapp.chat.turns.progress import Progress
from webapp.chat.turns.turn_database import TurnDatabase
from webapp.chat.turns.writer import TurnWriter
from webapp.conversations.tool_records import open_client_calls
from webapp.llm.partial_calls import ToolCall
from webapp.tools.calls import ToolRun, bound_output, call_record, failure, mark_text, parse_arguments, request_of
from webapp.tools.client_tools import MAX_CLIENT_TOOLS, client_call_record
from webapp.tools.toolset import MAX_CALLS, MAX_TOKENS, REMOTE_SECONDS, Output, Tool, ToolContext, ToolFailed, Toolset

ASK_SECONDS = 120.0
"""Seconds that a turn waits for an answer."""
UNREACHABLE_SECONDS = 10.0
"""Seconds that it waits while Redis is unreachable, since nobody can be asked then."""
POLL = 0.2
NO_ANSWER, UNREACHABLE = "silence", "away"
Consent = Literal["ask", "given", "none"]
"""Which calls that may change something a turn makes: on request, only those allowed for good, or none."""
Decision = Literal["once", "always", "never"]
_WORDS = ("once", "always", "never")

Ask = Callable[[int, int], Awaitable[str]]
"""Returns the person's answer about a call of a turn, by its number: a Decision, NO_ANSWER or UNREACHABLE."""


class ConsentWaiter:
    """Waits for people's answers; belongs to one event loop."""

    def __init__(self, client: AsyncRedis) -> None:
        self._client = client

    async def ask(self, turn_id: int, number: int) -> str:
        """Return the answer to a question that is on the turn's stream."""
        start = last_seen = time.monotonic()
        key = turnlog.consent_key(turn_id, number)
        while time.monotonic() - start < ASK_SECONDS:
            try:
                decision = await self._client.getdel(key)
                answer = decision.decode() if isinstance(decision, bytes) else decision
                last_seen = time.monotonic()
            except RedisError:
                answer = None
                if time.monotonic() - last_seen > UNREACHABLE_SECONDS:
                    return UNREACHABLE
            if answer in _WORDS:
                return str(answer)
            await asyncio.sleep(POLL)
        return NO_ANSWER


log = logging.getLogger(__name__)

TOO_MANY = '{"status": "error", "detail": "Too many calls at once."}'
NO_TIME = "The time for tools is used up in this reply. Answer with what there is."
NO_ROOM = "There is no room for more results in this reply. Answer with what there is."
MIN_TOKENS = 100
_DECLINED = {
    "never": "The user did not allow this call. It was not made.",
    NO_ANSWER: "Nobody said whether this call may be made. It was not made.",
    UNREACHABLE: "The user could not be asked whether this call may be made. It was not made.",
}
WRITE_REFUSED = (
    "This call was not made: it may change something, and nobody is there while a schedule's message is answered. Say"
    " what you would have done; the user can ask for it."
)
CANNOT_ASK = (
    "This call was not made: it may change something, and the user cannot be asked from the program that this was sent"
    " with. They can allow this tool for good in a conversation in Commonplace, and then ask again."
)
STOPPED = {"status": "stopped", "detail": "The reply was stopped while this ran."}


class ToolCalling:
    """The calls of one turn. `tokens` is what all results from outside may take; `words` are texts that URLs may be
    taken from; `ask` asks the person about a call that writes, unless the `consent` of the turn is another.
    `has_handed_over`: calls were left to the client, which ends the turn."""

    def __init__(
        self,
        turn_id: int,
        toolset: Toolset,
        tables: TurnDatabase,
        writer: TurnWriter,
        progress: Progress,
        *,
        tokens: int = 0,
        words: Sequence[str] = (),
        ask: Ask | None = None,
        consent: Consent = "ask",
    ) -> None:
        self.turn_id = turn_id
        self.toolset = toolset
        self._tables = tables
        self._writer = writer
        self._progress = progress
        self._tokens = tokens
        self._seconds = REMOTE_SECONDS
        self._ask = ask
        self._consent = consent
        self._consents: dict[str, str] = {}
        self.has_handed_over = False
        self._surroundings = ToolContext(toolset.now or datetime.now(UTC), words=list(words))

    async def answers(self, text: str, calls: Sequence[ToolCall], thoughts: str = "") -> list[dict[str, Any]]:
        """Return what the prompt continues with: the model's message, calls and thought, and the answers to them."""
        finish = self._progress.finish
        own = {"reasoning_content": thoughts.strip(), "reasoning_details": list(finish.reasoning if finish else ())}
        prompt = [_assistant_message(text, calls) | {name: value for name, value in own.items() if value}]
        for number, call in enumerate(calls):
            if self.is_client_tool(call):
                self._leave_to_client(call)
                continue
            answer = TOO_MANY if number >= MAX_CALLS else await self._answer(call)
            prompt.append({"role": "tool", "tool_call_id": call.id, "content": answer})
        return prompt

    def is_client_tool(self, call: ToolCall) -> bool:
        """Return whether a call is for a tool of the client."""
        tool = self.toolset.get(call.name)
        return tool is not None and tool.kind == "client"

    def _leave_to_client(self, call: ToolCall) -> None:
        """Leave a call to the client: what the program is to do is in the record, and in the final event."""
        is_sequential = self.toolset.parameters.get("parallel_tool_calls") is False
        limit = 1 if is_sequential else MAX_CLIENT_TOOLS
        tool = self.toolset.get(call.name)
        if tool is None or len(open_client_calls(self._progress.tool_calls)) >= limit:
            return
        run = client_call_record(call, tool, self.turn_id, len(self._progress.tool_calls))
        self.has_handed_over = True
        self._progress.tool_calls.append(run.record)
        self._writer.entry(self.turn_id, "tool", run.record)

    async def _answer(self, call: ToolCall) -> str:
        tool = self.toolset.get(call.name)
        start = time.perf_counter()
        if tool is None:
            run = call_record(call, parse_arguments(call.arguments), failure("There is no such tool."))
        elif tool.kind == "memory":
            run = await self._use_memory(call, start)
        elif tool.kind == "remote":
            run = await self._run_remote(call, tool, start)
        else:
            arguments = parse_arguments(call.arguments)
            run = call_record(call, arguments, await self._run_tool(tool, arguments))
        self._note(run.record, start)
        self._writer.entry(self.turn_id, "tool", run.record)
        return run.answer

    async def _use_memory(self, call: ToolCall, start: float) -> ToolRun:
        """Run a call that changes memory. A stop waits for it, so that the record is complete."""
        progress = self._progress
        is_tainted = progress.is_tainted or self.toolset.is_described_by_others
        task = asyncio.create_task(self._tables.use_tool(self.turn_id, call, is_tainted, progress.target))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            self._note((await task).record, start)
            raise

    async def _run_remote(self, call: ToolCall, tool: Tool, start: float) -> ToolRun:
        """Run a call to another server: show it while it runs, and cancel it on a stop."""
        arguments = parse_arguments(call.arguments)
        fields: dict[str, Any] = {"number": len(self._progress.tool_calls)}
        fields |= {"server": tool.server} if tool.server else {}
        fields |= {"title": tool.title} if tool.title else {}
        fields |= {"server_id": tool.server_id} if tool.server_id else {}
        starts = call_record(call, arguments, {}, **fields).record
        try:
            refusal = await self._permission(tool, starts)
            start = time.perf_counter()  # the time the person took to answer is not the tool's
            self._writer.entry(self.turn_id, "tool_start", starts)
            output = await self._within_bounds(tool, arguments) if refusal is None else refusal
        except asyncio.CancelledError:
            self._note(call_record(call, arguments, STOPPED, **fields).record, start)
            raise
        run = call_record(call, arguments, output, **fields, duration_ms=_milliseconds_since(start))
        log.info("tool used", extra={"turn_id": self.turn_id, "tool": call.name, "failed": "detail" in output})
        record_output = run.record["output"]  # not as it came: half a surrogate pair in it would break the next request
        text = str(record_output.get("text") or record_output.get("detail") or "")
        self._progress.is_tainted |= bool(text)
        return ToolRun(run.record, mark_text(text, tool.server or tool.name))

    async def _permission(self, tool: Tool, starts: dict[str, Any]) -> Output | None:
        """None if a call may be made, otherwise why the person does not allow it. Asks if it has to."""
        if tool.writes and self._consent == "none":
            return {"status": "declined", "detail": WRITE_REFUSED}
        consent = self._consents.get(tool.name, "once" if not tool.asks else "")
        if not consent:
            if self._ask is None or self._consent != "ask":
                return {"status": "declined", "detail": CANNOT_ASK}
            self._writer.entry(self.turn_id, "tool_start", {**starts, "asks": True})
            consent = await self._ask(self.turn_id, starts["number"])
            if consent != "once":
                self._consents[tool.name] = consent
        return None if consent in ("once", "always") else {"status": "declined", "detail": _DECLINED[consent]}

    async def _within_bounds(self, tool: Tool, arguments: dict[str, Any]) -> Output:
        """Return the output of a call that reaches out, within the time and size that are left."""
        if self._seconds <= 0:
            return failure(NO_TIME)
        if self._tokens < MIN_TOKENS:
            return failure(NO_ROOM)
        self._surroundings.tokens = min(self._tokens, MAX_TOKENS)
        start = time.monotonic()
        try:
            async with asyncio.timeout(min(tool.seconds, self._seconds)):
                output = await self._run_tool(tool, arguments)
        except TimeoutError:
            output = failure(f"{tool.server or 'The other side'} did not answer in time.")
        self._seconds -= time.monotonic() - start
        record_output = await asyncio.to_thread(bound_output, output, self._surroundings.tokens)
        self._tokens -= len(str(record_output.get("text", ""))) // 3
        self._surroundings.words.append(str(record_output.get("text", "")))
        return record_output

    async def _run_tool(self, tool: Tool, arguments: dict[str, Any]) -> Output:
        assert tool.run is not None
        try:
            return await tool.run(arguments, self._surroundings)
        except ToolFailed as error:
            return failure(str(error))
        except TimeoutError:
            raise
        except Exception as error:  # nothing that another's answer breaks here may break the reply
            # Without the exception's text, which may quote somebody.
            log.error("tool broke", extra={"turn_id": self.turn_id, "tool": tool.name, "error": type(error).__name__})
            return failure("This tool failed.")

    def _note(self, record: dict[str, Any], start: float) -> None:
        record.setdefault("duration_ms", _milliseconds_since(start))
        self._progress.tool_calls.append(record)


def _milliseconds_since(start: float) -> int:
    return round((time.perf_counter() - start) * 1000)


def _assistant_message(text: str, calls: Sequence[ToolCall]) -> dict[str, Any]:
    """Return the model's message that asks for tools, as it is sent back to it."""
    return {"role": "assistant", "content": text or None, "tool_calls": [request_of(call) for call in calls]}
