"""The protocol as a client speaks it, in both its ages: requests, answers, tools and their results; pure.

Written by hand and tested against the official server: `mcp-types` takes 17 MB and 330 ms to load.
"""

import base64
import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from webapp.llm.chunks import LineSplitter
from webapp.tools.calls import clean_record
from webapp.tools.mcp_client.tool_schemas import clean_schema
from webapp.tools.toolset import ToolFailed

STATELESS = "2026-07-28"
"""The revision in which every request stands alone."""
HANDSHAKE = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Revisions that begin with `initialize`, the newest first."""
IDENTITY = {"name": "commonplace", "title": "Commonplace", "version": "1.0.0"}
META = "io.modelcontextprotocol/"
ENDPOINT = "endpoint"
"""The event of the first revision's transport that says where requests go."""
ACCEPT = "application/json, text/event-stream"
MAX_TOOLS = 100
MAX_DESCRIPTION_LENGTH = 600
MAX_NAME_LENGTH = 128
_ENVELOPE = ("content", "isError", "resultType", "_meta")
"""The fields of a result that are not what it says."""
_MAX_SEARCH = 10**8
"""The most characters read to find what is structured in a text, a tenth of a second's work."""
_SCHEMA = ("inputSchema", "input_schema", "parameters")


@dataclass(frozen=True, slots=True)
class ListedTool:
    """A tool as its server describes it, with a schema for models; `reads_only` if the server says so."""

    name: str
    title: str
    description: str
    schema: dict[str, Any]
    reads_only: bool


def request(number: int | None, method: str, params: Mapping[str, Any], age: str) -> dict[str, Any]:
    """Return the body of a request, or of a notification without a number."""
    parameters = dict(params)
    if age == STATELESS:
        parameters["_meta"] = {
            f"{META}protocolVersion": age,
            f"{META}clientCapabilities": {},
            f"{META}clientInfo": IDENTITY,
        }
    body: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": parameters}
    return body if number is None else {**body, "id": number}


def headers(method: str, params: Mapping[str, Any], age: str, token: str, session: str = "") -> dict[str, str]:
    """Return the headers of a request."""
    result = {"Accept": ACCEPT, "Content-Type": "application/json"}
    if token:
        result["Authorization"] = f"Bearer {token}"
    if method != "initialize":
        result["MCP-Protocol-Version"] = age
    if session:
        result["Mcp-Session-Id"] = session
    if age == STATELESS:
        result["Mcp-Method"] = method
        if "name" in params:
            result["Mcp-Name"] = _header(str(params["name"]))
    return result


class Messages:
    """The bytes of a response in, its messages out: of a stream or JSON, in batches or not; the rest is skipped."""

    def __init__(self) -> None:
        self._lines = LineSplitter()
        self._event: list[bytes] = []
        self._name = b""
        self._rest: list[bytes] = []

    def feed(self, piece: bytes) -> Iterator[Any]:
        """Yield the messages that a piece of the response completes."""
        for line in self._lines.feed(piece):
            if line.startswith(b"data:"):
                self._event.append(line[5:])
            elif not line:
                yield from self._complete()
            elif line.startswith(b"event:"):
                self._name = line[6:].strip()
            elif not line.startswith((b":", b"id:", b"retry:")):
                self._rest.append(line)

    def end(self) -> list[Any]:
        """Return what is left at the end of the response."""
        last = [*self.feed(self._lines.rest() + b"\n\n")]
        rest = [*_messages(b"\n".join(self._rest).removeprefix(b"\xef\xbb\xbf"))]
        return [*last, *(rest or (message for line in self._rest for message in _messages(line)))]

    def _complete(self) -> Iterator[Any]:
        event, self._event = b"\n".join(self._event), []
        name, self._name = self._name, b""
        if name == ENDPOINT.encode():
            yield {ENDPOINT: event.decode("utf-8", "replace").strip()}
        else:
            yield from _messages(event)


def _messages(data: bytes) -> Iterator[Any]:
    with suppress(ValueError, RecursionError):
        message = json.loads(data.decode("utf-8", "replace"))
        yield from message if isinstance(message, list) else [message]


def result_of(answer: Mapping[str, Any], server: str) -> dict[str, Any]:
    """Return the result in an answer. Raises ToolFailed with the server's reason."""
    error = answer.get("error")
    if error is not None:
        words = [error.get("message"), error.get("data")] if isinstance(error, Mapping) else [error]
        reason = ": ".join(dict.fromkeys(filter(None, (_line(word, 300) for word in words))))
        raise ToolFailed(f"{server} refused: {reason or 'it does not say why'}")
    result = answer.get("result")
    if result and isinstance(result, str | list):
        return {"content": result}
    if not isinstance(result, dict):
        raise ToolFailed(f"{server} answered in a way that is not understood.")
    if result.get("resultType") not in (None, "complete"):
        raise ToolFailed(f"{server} asked a question back, which cannot be answered here.")
    return result


def tools_of(result: Mapping[str, Any]) -> list[ListedTool]:
    """Return the tools in an answer to tools/list, without those that a model cannot be told about."""
    rows = result.get("tools")
    tools = [_tool(row) for row in rows[: 2 * MAX_TOOLS] if isinstance(row, dict)] if isinstance(rows, list) else []
    return [tool for tool in tools if tool is not None]


def output_of(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result of a call, as text."""
    content = result.get("content")
    parts = content if isinstance(content, list) else [content]
    texts = [_text(part) or _mark(part) for part in parts]
    data = {name: value for name, value in result.items() if name not in _ENVELOPE and value is not None}
    named = next((data[name] for name in ("structuredContent", "toolResult") if name in data), data or None)
    if not any(map(_text, parts)) or not _is_said(data.get("structuredContent"), "\n".join(texts)):
        texts.append(_plain(named))
    output = {"text": "\n\n".join(filter(None, texts)) or "It answered without a text."}
    is_error = str(result.get("isError", result.get("is_error"))).lower() in ("true", "1")
    return {"status": "error", **output} if is_error else output


def _is_said(data: Any, text: str) -> bool:
    """Return whether each value in structured data stands in the text beside it, which may be the same as JSON."""
    with suppress(ValueError, RecursionError):
        if json.loads(text) == data:
            return True
    values, said = [data], f"{text}\n{_plain([text])}"
    for value in values:  # and what is found in these
        values += value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    sought = [_plain([value])[1:-1].strip('"') for value in values if type(value) in (str, int, float)]
    return len(sought) * len(said) <= _MAX_SEARCH and all(words in said for words in sought)


def _tool(row: Mapping[str, Any]) -> ListedTool | None:
    name = row.get("name")
    if not isinstance(name, str) or not 0 < len(name) <= MAX_NAME_LENGTH or not name.isprintable():
        return None
    try:
        schema = clean_schema(clean_record(next(filter(None, map(row.get, _SCHEMA)), {})))
    except RecursionError:
        return None
    hints = row.get("annotations")
    hints = hints if isinstance(hints, Mapping) else {}
    title = row.get("title") or hints.get("title")
    return ListedTool(
        name,
        _line(title, 80) or name,
        _line(row.get("description"), MAX_DESCRIPTION_LENGTH),
        schema,
        hints.get("readOnlyHint") is True,
    )


def _text(part: Any) -> str:
    if isinstance(part, list):
        return "\n\n".join(filter(None, map(_text, part)))
    if not isinstance(part, Mapping):
        return _plain(part)
    kind, inner = part.get("type"), part.get("resource")
    if "text" in part:
        return _plain(part["text"])
    if kind == "resource" and isinstance(inner, Mapping):
        return _plain(inner.get("text")) or _text(inner.get("contents")) or _line(inner.get("uri"), 500)
    if kind == "resource_link":
        return f"{_line(part.get('name'), 200)}: {_line(part.get('uri'), 500)}"
    data = part.get("json", part.get("data"))
    return _plain(data) if isinstance(data, dict | list) else ""


def _mark(part: Any) -> str:
    """Return what stands for a part that is no text."""
    kind = _line(part.get("type"), 30) if isinstance(part, Mapping) else ""
    return f"[{kind}]" if kind and kind != "text" else ""


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)


def is_answer(message: Any, number: int) -> bool:
    """Return whether a message answers the request of this number; some servers give that back as text, or not."""
    return (
        isinstance(message, dict)
        and message.get("id") in (number, str(number), None)
        and ("result" in message or "error" in message)
    )


def refuses_version(answer: Mapping[str, Any]) -> bool:
    """Return whether an answer says that the request's revision is not spoken."""
    error = answer.get("error")
    return isinstance(error, Mapping) and error.get("code") == -32022


def refusal_of(message: Any) -> dict[str, Any] | None:
    """Return what a server's own request is answered with; None for another message."""
    if not isinstance(message, dict) or message.get("id") is None or not isinstance(message.get("method"), str):
        return None
    answer = {"result": {}} if message["method"] == "ping" else {"error": {"code": -32601, "message": "Not supported"}}
    return {"jsonrpc": "2.0", "id": message["id"], **answer}


def _header(value: str) -> str:
    return (
        value if value.isascii() and value.isprintable() else f"=?base64?{base64.b64encode(value.encode()).decode()}?="
    )


def _line(value: Any, limit: int) -> str:
    words = " ".join(str(value).split()) if isinstance(value, str) else ""
    return "".join(sign for sign in words if sign.isprintable())[:limit]
