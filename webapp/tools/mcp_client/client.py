"""Asks an MCP server over HTTP which tools it has, and calls them. No connection outlives a call."""

import asyncio
import hashlib
import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, aclosing, suppress
from dataclasses import dataclass, field
from typing import Any

from webapp.tools.mcp_client import wire
from webapp.tools.mcp_client.wire import HANDSHAKE, STATELESS, ListedTool
from webapp.tools.remote_calls import RemoteRequest, follow, keys_in, mask, send_request
from webapp.tools.toolset import Output, ToolFailed

MAX_REDIRECTS = 2
MAX_REFUSALS = 10
"""How many requests of a server are answered while it works on one of ours."""
LIST_SECONDS = 20.0
_OTHER_TRANSPORT_STATUSES = (400, 404, 405, 406, 415, 501)
"""The answers to a request of those who speak the first revision's transport (HTTP with server-sent events)."""
_FOREIGN = re.compile(r"[^A-Za-z0-9]+")
_MAX_NAME_LENGTH = 56
_DATED = re.compile(r"20\d\d-\d\d-\d\d")


@dataclass(frozen=True, slots=True)
class Server:
    """An MCP server: its name for messages, its URL, and the revision it is known to speak, if any."""

    name: str
    url: str
    token: str = field(default="", repr=False)
    is_internal: bool = False
    age: str = ""


class _HandshakeNeeded(Exception):
    """The server lists its tools only after a handshake."""


class _OtherTransport(ToolFailed):
    """There is something at the URL, but it takes no requests: perhaps it speaks the first transport."""


class _Refusal(ToolFailed):
    """The server answered, but not with a result."""


class _SessionLost(ToolFailed):
    """The server refuses a request as one of a session it has forgotten, or as one without a session."""


@dataclass(slots=True)
class _McpSession:
    """The agreement with a server for one call."""

    server: Server
    age: str
    session: str = ""
    number: int = 0
    url: str = ""
    stream: AsyncIterator[Any] | None = None
    """Where answers come, in the transport of the first revision: not with the responses to what is sent to `url`."""
    opened: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Return the result of a request. Raises ToolFailed, and _HandshakeNeeded."""
        self.number += 1
        body = wire.request(self.number, method, params, self.age)
        headers = wire.headers(method, params, self.age, self.server.token, self.session)
        async with send_request(self._request("POST", headers, body)) as response:
            if response.status == 401 and not self.server.token:
                raise ToolFailed(f"{self.server.name} needs a token.")
            if response.status in (401, 403):
                raise ToolFailed(f"{self.server.name} did not accept the token.")
            session = response.headers.get("mcp-session-id", "")
            if session.isascii() and session.isprintable() and len(session) <= 500:
                self.session = session or self.session
            is_error = response.status >= 300
            is_lost = bool(self.session or self.age == STATELESS) and response.status in (400, 404)
            try:
                async with aclosing(response.pieces) as pieces:
                    answers = self.stream if self.stream and not is_error else _messages(pieces)
                    answer = await self._answer(answers, keys_in(headers))
            except ToolFailed:
                if not is_error:
                    raise
                answer = {}
            if self.age == STATELESS and method == "tools/list" and (is_error or "error" in answer):
                raise _HandshakeNeeded
            if is_error and "error" not in answer:
                kind = (
                    _SessionLost
                    if is_lost
                    else _OtherTransport
                    if response.status in _OTHER_TRANSPORT_STATUSES
                    else ToolFailed
                )
                raise kind(f"{self.server.name} answered with an error ({response.status}).")
            # With its number it was taken up, and may have had effects.
            is_lost = is_lost and (answer.get("id") is None or wire.refuses_version(answer))
        try:
            return wire.result_of(answer, self.server.name)
        except ToolFailed as error:
            raise (_SessionLost if is_lost else _Refusal)(str(error)) from None

    async def notify(self, method: str) -> None:
        """Send a notification; what the server answers does not matter."""
        await self._send(wire.request(None, method, {}, self.age))

    async def _send(self, body: dict[str, Any]) -> None:
        headers = wire.headers("", {}, self.age, self.server.token, self.session)
        async with send_request(self._request("POST", headers, body)):
            pass

    async def open_stream(self) -> bool:
        """Open the stream on which the server answers; returns whether it has one. Raises ToolFailed."""
        headers = wire.headers("", {}, self.age, self.server.token) | {"Accept": "text/event-stream"}
        response = await self.opened.enter_async_context(send_request(self._request("GET", headers, None)))
        if response.status >= 300 or response.kind != "text/event-stream":
            return False
        self.stream = _messages(response.pieces)
        async for message in self.stream:
            if isinstance(message, dict) and wire.ENDPOINT in message:
                self.url, is_same_server = follow(response.url, message[wire.ENDPOINT])
                if not is_same_server:  # requests have a token
                    raise ToolFailed(f"{self.server.name} redirects to another URL.")
                return True
        return False

    async def leave(self) -> None:
        """End a session, if there is one; what the server answers does not matter."""
        await self.opened.aclose()
        if not self.session:
            return
        headers = wire.headers("", {}, self.age, self.server.token, self.session)
        with suppress(ToolFailed, TimeoutError):
            async with asyncio.timeout(2), send_request(self._request("DELETE", headers, None)):
                pass

    def _request(self, method: str, headers: dict[str, str], body: Any) -> RemoteRequest:
        return RemoteRequest(self.url or self.server.url, method, headers, body, self.server.is_internal, MAX_REDIRECTS)

    async def _answer(self, messages: AsyncIterator[Any], keys: tuple[str, ...]) -> dict[str, Any]:
        """Return the answer without `keys`, as soon as it is there: a stream may stay open after it.

        What the server asks for meanwhile is refused: it may wait for that.
        """
        refusals = 0
        with suppress(RecursionError):
            async for message in messages:
                if wire.is_answer(message, self.number):
                    return dict(mask(message, keys))
                if self.age != STATELESS and refusals < MAX_REFUSALS and (refusal := wire.refusal_of(message)):
                    refusals += 1
                    with suppress(ToolFailed):
                        await self._send(refusal)
        raise ToolFailed(f"{self.server.name} answered in a way that is not understood.")


async def _messages(pieces: AsyncGenerator[bytes, None]) -> AsyncGenerator[Any, None]:
    reader = wire.Messages()
    async for piece in pieces:
        for message in reader.feed(piece):
            yield message
    for message in await asyncio.to_thread(reader.end):
        yield message


async def tools(server: Server) -> tuple[str, list[ListedTool]]:
    """Return the revision that a server speaks, and its tools. Raises ToolFailed."""
    try:
        async with asyncio.timeout(LIST_SECONDS):
            mcp = _McpSession(server, STATELESS)
            try:
                return STATELESS, await _list_tools(mcp)
            except _HandshakeNeeded:
                mcp = await _start_session(server)
            try:
                return mcp.age, await _list_tools(mcp)
            finally:
                await mcp.leave()
    except TimeoutError:
        raise ToolFailed(f"{server.name} did not answer in time.") from None


async def call(server: Server, name: str, arguments: dict[str, Any]) -> Output:
    """Return a tool's result. Raises ToolFailed, and TimeoutError if the caller limits the time."""
    if server.age == STATELESS:
        try:
            mcp = _McpSession(server, STATELESS)
            return wire.output_of(await mcp.ask("tools/call", name=name, arguments=arguments))
        except (_SessionLost, _OtherTransport):
            raise ToolFailed(
                f"{server.name} now speaks another version of the protocol. Test it again in the settings."
            ) from None
    for is_last in (False, True):
        mcp = await _start_session(server)
        try:
            return wire.output_of(await mcp.ask("tools/call", name=name, arguments=arguments))
        except _SessionLost:
            if is_last:
                raise
        finally:
            await mcp.leave()
    raise AssertionError("unreachable: the last returns or raises")


def name_for(server: str, tool: str, names: set[str]) -> str:
    """Return the unused name, valid for every model server, by which a model calls a server's tool."""
    plain, tool_name = ("_".join(filter(None, _FOREIGN.split(part))) for part in (server, tool))
    name = "_".join(filter(None, (plain, tool_name)))
    is_cut = not tool_name or len(name) > _MAX_NAME_LENGTH
    name = (name if name[:1].isalpha() else f"tool_{name}")[:_MAX_NAME_LENGTH]
    candidate, number = name, 0
    # What is left of two names may be the same; of one in another script nothing is left.
    while candidate in names or (is_cut and number == 0):
        number += 1
        candidate = f"{name}_{hashlib.sha256(f'{number}/{server}/{tool}'.encode()).hexdigest()[:6]}"
    names.add(candidate)
    return candidate


async def _start_session(server: Server) -> _McpSession:
    """Return a session with a server of an older revision, after the handshake."""
    mcp = _McpSession(server, HANDSHAKE[0])
    try:
        return await _initialize(mcp)
    except _Refusal:  # some refuse a revision instead of naming theirs
        return await _initialize(_McpSession(server, HANDSHAKE[-1]))
    except _OtherTransport:
        mcp = _McpSession(server, HANDSHAKE[-1])
        try:
            if not await mcp.open_stream():
                raise
            return await _initialize(mcp)
        except BaseException:
            await mcp.leave()
            raise


async def _initialize(mcp: _McpSession) -> _McpSession:
    """Return the session after the handshake. Raises ToolFailed."""
    result = await mcp.ask("initialize", protocolVersion=mcp.age, capabilities={}, clientInfo=wire.IDENTITY)
    version = str(result.get("protocolVersion"))
    if not _DATED.fullmatch(version) or version >= STATELESS:
        raise ToolFailed(f"{mcp.server.name} does not speak any version of the protocol that is known here.")
    mcp.age = version  # lists and calls of tools are the same in all with a handshake
    await mcp.notify("notifications/initialized")
    return mcp


async def _list_tools(mcp: _McpSession) -> list[ListedTool]:
    tools: dict[str, ListedTool] = {}
    cursor: str | int | None = None
    seen: set[str | int | None] = set()
    while cursor not in seen and len(seen) < wire.MAX_TOOLS:
        seen.add(cursor)
        try:
            result = await mcp.ask("tools/list", **({"cursor": cursor} if cursor else {}))
        except _Refusal:
            if not tools:
                raise
            break  # those of the pages before are there
        for tool in wire.tools_of(result):
            tools.setdefault(tool.name, tool)
        cursor = result.get("nextCursor")
        if not isinstance(cursor, str | int) or not cursor or len(tools) >= wire.MAX_TOOLS:
            break
    return list(tools.values())[: wire.MAX_TOOLS]
