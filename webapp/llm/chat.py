"""Streaming chat for the turn runner: one client per event loop, as little work per token as possible."""

from __future__ import annotations

import asyncio
import json
import logging
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from .answer_filter import AnswerFilter
from .capabilities import STRUCTURED_MODES, Capabilities, tool_fingerprint
from .chunks import join_surrogates
from .errors import InterruptedAnswer, MalformedOutput, ModelError, ModelSilent, Refusal, classify_exception
from .events import Event, Pause, ReasoningDelta, StreamDecoder, ThoughtSoFar
from .plain_http import ERROR_BYTES
from .refused_tools import Search, may_be_about_tools
from .request_format import adapt_body, learn_rejection, rejects_format, with_format, with_tools, without_pictures
from .sdk import open_session, retry_delay, stream_headers
from .settings import ModelSettings
from .usage import ROOM

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession


log = logging.getLogger(__name__)

Message = dict[str, Any]

TAIL = 5.0  # seconds to wait for what may follow the reason why an answer ended
_DRAIN = 0.1  # seconds to wait for the end of a stream whose content is complete


class ChatClient:
    """Streams replies; usable from any number of event loops, and closed in each with `aclose()`."""

    def __init__(self, settings: ModelSettings, capabilities: Capabilities | None = None) -> None:
        self.settings = settings
        self.capabilities = capabilities or Capabilities()
        self._sessions: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, ClientSession] = (
            weakref.WeakKeyDictionary()
        )

    async def stream(
        self,
        messages: Sequence[Message],
        *,
        model: str | None = None,
        tools: Sequence[dict[str, Any]] | None = None,
        max_tokens: int | None = None,
        parameters: Mapping[str, Any] | None = None,
        patience: float | None = None,
    ) -> AsyncGenerator[Event, None]:
        """Yield reasoning and text as they arrive, then complete tool calls, then one `Finish`. Raises ModelError.

        Failures before the first text are retried after a `Pause`; a server that sends nothing for `patience` seconds
        (by default `first_token_timeout`) is given up, a tool that it refuses left out. Closing the iterator
        (`contextlib.aclosing`) or cancelling closes the HTTP stream at once, which frees the model.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + (self.settings.first_token_timeout if patience is None else patience)
        body = self._body(messages, model or self.settings.chat_model, tools, max_tokens)
        body |= {name: value for name, value in (parameters or {}).items() if value is not None}
        base_url, _ = self.settings.endpoint()
        thinks = self.capabilities.thinks(base_url, body["model"])
        if limit := body.pop("max_completion_tokens", None):
            body["max_tokens"] = limit  # the name that all servers know; it includes reasoning
        elif thinks and body.get("max_tokens"):
            body["max_tokens"] += ROOM  # for the reasoning before the answer
        body = self._without_refused(body)
        attempt, searched = 0, False
        while True:
            decoder = StreamDecoder()
            unopened = self.capabilities.lone_end_mark(base_url, body["model"])
            answer = AnswerFilter(tools or (), unopened)
            delivered = False
            try:
                # A consumer that leaves closes this generator, which must close the inner one now, not at collection.
                async with aclosing(self._attempt(body, decoder, deadline)) as events:
                    async for event in events:
                        delivered = delivered or not isinstance(event, ReasoningDelta)
                        for part in answer.feed(event):
                            yield part
                            if isinstance(part, ThoughtSoFar):
                                self.capabilities.remember_end_mark(base_url, body["model"], part.mark)
                            if not thinks and isinstance(part, ReasoningDelta):
                                thinks = True
                                self.capabilities.note_thinking(base_url, body["model"])
                if unopened and not answer.has_thought:  # it answers without a thought now
                    self.capabilities.remember_end_mark(base_url, body["model"], "")
                return
            except ModelError as error:
                if delivered:
                    raise
                if "tools" in body and not searched and may_be_about_tools(error):
                    searched = True
                    if (response := await self._accepted_tools(body, deadline)) is not None:
                        body = with_tools(body, response)
                        continue
                texts = without_pictures(body["messages"])
                if texts != body["messages"] and not error.retryable and may_be_about_tools(error):
                    log.info("model server refuses a request with pictures: going on without")
                    body |= {"messages": texts}
                    continue
                delay = retry_delay(error, attempt, self.settings)
                if delay is None or loop.time() + delay >= deadline:
                    raise
                log.info("model call failed (%s), attempt %d, next in %.1f s", error.code, attempt + 1, delay)
            attempt += 1
            yield Pause(delay)
            await asyncio.sleep(delay)

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        session = self._sessions.pop(asyncio.get_running_loop(), None)
        if session is not None:
            await session.close()

    def _without_refused(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return a request without the tools that are known to be refused."""
        if "tools" not in body:
            return body
        rejections = self.capabilities.tools_refused(self.settings.endpoint()[0], body["model"])
        if not rejections:
            return body
        return with_tools(body, [tool for tool in body["tools"] if tool_fingerprint(tool) not in rejections])

    async def _accepted_tools(self, body: dict[str, Any], deadline: float) -> list[dict[str, Any]] | None:
        """Return the tools of a refused request that the server takes; None if they are not why it was refused."""
        base_url, _ = self.settings.endpoint()
        model = body["model"]

        async def takes(tools: Sequence[dict[str, Any]]) -> bool:
            # In few words: a prompt is not to blame either, and costs time.
            trial = self._body([{"role": "user", "content": "Hello"}], model, tools, None)
            try:
                async with aclosing(self._attempt(trial, StreamDecoder(), deadline)) as events:
                    await anext(events, None)
            except (MalformedOutput, InterruptedAnswer):
                return True  # it was read, and answered badly
            except ModelError as error:
                if may_be_about_tools(error):
                    return False
                raise
            return True

        def refuse(tool: dict[str, Any]) -> None:
            log.info("model server refuses a tool: going on without it", extra={"tool": tool["function"]["name"]})
            self.capabilities.refuse_tool(base_url, model, tool_fingerprint(tool))

        search = Search(takes, refuse)
        try:
            if not await search.run(body["tools"]):
                return None
        except ModelError:
            return None
        if search.takes_none:
            log.info("model server refuses tools: going on without")
            self.capabilities.refuse(base_url, model, "tools")
        return search.tools

    async def _attempt(
        self, body: dict[str, Any], decoder: StreamDecoder, deadline: float
    ) -> AsyncGenerator[Event, None]:
        """Send one request and read its answer to the end; a server that has sent nothing by `deadline` is given up."""
        loop = asyncio.get_running_loop()
        silence = deadline - loop.time()
        idle = self.settings.idle_timeout
        async with self._open(body, deadline) as response:
            latest = loop.time() + self.settings.request_timeout
            if "text/event-stream" not in response.headers.get("content-type", "text/event-stream"):
                deadline = latest  # a server that answers in one piece
            while not decoder.finished:
                try:
                    async with asyncio.timeout_at(deadline):
                        chunk = await response.content.readany()
                except TimeoutError:
                    events = decoder.end()
                    if not decoder.finished:  # an answer that said it is done is, whoever keeps the connection open
                        decoder.error = _too_slow(decoder)
                except Exception as exc:  # anything the HTTP library raises; cancellation is not an Exception
                    events = decoder.end()
                    if not decoder.finished:
                        decoder.error = classify_exception(exc, has_started=True)
                else:
                    events = decoder.feed(chunk) if chunk else decoder.end()
                    if not (chunk or decoder.finished or decoder.error):
                        decoder.error = InterruptedAnswer()
                    if not decoder.started:  # comments and pings: it is at work, but not without end
                        deadline = max(deadline, min(latest, loop.time() + silence))
                if events or decoder.pop_progress():
                    # Before the first text the longer of the two limits applies.
                    wait = TAIL if decoder.is_ending else idle
                    deadline = loop.time() + wait if decoder.started else max(deadline, loop.time() + wait)
                    for event in events:
                        yield event
                if decoder.error is not None:
                    raise decoder.error
            # Reading the few bytes after the end mark lets the connection be reused, which saves a handshake.
            with suppress(Exception):
                async with asyncio.timeout(_DRAIN):
                    while await response.content.readany():
                        pass

    @asynccontextmanager
    async def _open(self, body: dict[str, Any], deadline: float) -> AsyncIterator[ClientResponse]:
        """Yield the streaming response, requested again without anything the server refuses by name."""
        base_url, key = self.settings.endpoint()
        headers, session = stream_headers(self.settings), self._session()
        if "response_format" in body:
            body = with_format(body, self.capabilities.structured_mode(base_url, body["model"]) or STRUCTURED_MODES[0])
        while True:
            request = adapt_body(body, base_url, self.capabilities)
            try:
                async with asyncio.timeout_at(deadline):
                    response = await _send(session, f"{base_url}/chat/completions", headers, request)
                break
            except Exception as exc:
                if learn_rejection(exc, request, base_url, self.capabilities):
                    continue
                error = classify_exception(exc, has_key=bool(key))
                if "response_format" not in body or not rejects_format(exc, error):
                    raise error from None
                kind = body["response_format"]["type"]
                log.info("model server refuses response_format %s", kind)
                body = with_format(body, STRUCTURED_MODES[STRUCTURED_MODES.index(kind) + 1])
        try:
            yield response
        finally:
            response.close()

    def _session(self) -> ClientSession:
        loop = asyncio.get_running_loop()
        session = self._sessions.get(loop)
        if session is None:
            session = self._sessions[loop] = open_session(self.settings)
        return session

    @staticmethod
    def _body(
        messages: Sequence[Message], model: str, tools: Sequence[dict[str, Any]] | None, max_tokens: int | None
    ) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": model,
            "messages": list(messages),
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if tools:
            body["tools"] = list(tools)
        if max_tokens is not None:
            body["max_tokens"] = max_tokens
        return body


async def _send(session: ClientSession, url: str, headers: dict[str, str], body: dict[str, Any]) -> ClientResponse:
    """POST a request, past the SDK, which is five times the work for the same bytes. Raises Refusal."""
    data = join_surrogates(json.dumps(body, ensure_ascii=False, separators=(",", ":"))).encode()
    response = await session.post(url, data=data, headers=headers, allow_redirects=False)
    if response.status < 300:  # noqa: PLR2004
        return response
    async with response:
        text = bytearray()
        async for chunk in response.content.iter_any():
            text += chunk
            if len(text) >= ERROR_BYTES:
                break
        raise Refusal(response, text[:ERROR_BYTES].decode("utf-8", "replace"))


def _too_slow(decoder: StreamDecoder) -> ModelError:
    if decoder.started:
        return InterruptedAnswer("The model stopped sending in the middle of the answer. Try again.")
    return ModelSilent()
