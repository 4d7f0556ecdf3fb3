"""Responses of OpenAI's Responses API as they are sent, whole and as typed events; pure."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from webapp.gateway.functions import flatten_format
from webapp.gateway.responses_input import CONVERSATION, ITEM, PREFIX, ResponseRequest
from webapp.gateway.wire import ARGUMENTS_PIECE
from webapp.tools.client_tools import arguments_of

_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}
_ERRORS = {"rate_limited": "rate_limit_exceeded", "context_too_long": "invalid_prompt", "refused": "invalid_prompt"}

Item = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ResponseHeader:
    """The constant fields of a response; `created` in seconds, `note` as the request says (`ResponseRequest.note`)."""

    turn_id: int
    created: int
    model: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    note: Mapping[str, Any] = field(default_factory=dict)
    conversation_id: int | None = None
    request: ResponseRequest | None = None
    """Only the answer to it repeats the rest of a request."""


def response(
    header: ResponseHeader,
    status: str,
    output: Sequence[Item] = (),
    *,
    finish: str = "stop",
    usage: Mapping[str, Any] | None = None,
    error: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the object; a reply that was cut short (`finish`) is incomplete. `usage` is as in chat completions."""
    reason, request = _INCOMPLETE.get(finish) if status == "completed" else None, header.request
    return {
        "id": f"{PREFIX}{header.turn_id}",
        "object": "response",
        "created_at": header.created,
        "status": "incomplete" if reason else status,
        "background": header.note.get("background", False),
        "conversation": {"id": f"{CONVERSATION}{header.conversation_id}"} if header.conversation_id else None,
        "error": {"code": _ERRORS.get(error["code"], "server_error"), "message": error["message"]} if error else None,
        "incomplete_details": {"reason": reason} if reason else None,
        "instructions": request and request.instructions,
        "max_output_tokens": header.parameters.get("max_completion_tokens"),
        "model": header.model,
        "output": list(output),
        "parallel_tool_calls": request is None or request.parallel_tool_calls is not False,
        "previous_response_id": header.note.get("previous"),
        "reasoning": {"effort": header.parameters.get("reasoning_effort"), "summary": None},
        "store": header.note.get("store", True),
        "temperature": header.parameters.get("temperature"),
        "text": _text(header),
        "tool_choice": _choice(request and request.tool_choice),
        "tools": [_tool(tool) for tool in (request and request.tools) or ()],
        "top_p": header.parameters.get("top_p"),
        "truncation": "disabled",
        "usage": _usage(usage) if usage is not None else None,
        "user": None,
        "metadata": header.note.get("metadata", {}),
    }


def output_of(
    turn_id: int, text: str, calls: Sequence[Mapping[str, Any]], *, finish: str = "stop", is_open: bool = False
) -> list[Item]:
    """Return the output: the message, unless there are only calls, and the calls to be answered."""
    items = [_call(record) for record in calls]
    if text or is_open or not items:
        items.insert(0, _message(turn_id, "incomplete" if finish in _INCOMPLETE else "completed", text))
    return items


def input_item(message_id: int, role: str, text: str) -> Item:
    """Return a message as an item of what a response was made from."""
    if role == "assistant":
        return _message(message_id, "completed", text)
    part = {"type": "input_text", "text": text}
    return {"id": f"{ITEM}{message_id}", "type": "message", "status": "completed", "role": "user", "content": [part]}


def item_page(items: Sequence[Item], *, has_more: bool) -> Item:
    """Return a page of a list of items."""
    first, last = (items[0]["id"], items[-1]["id"]) if items else (None, None)
    return {"object": "list", "data": list(items), "first_id": first, "last_id": last, "has_more": has_more}


class Stream:
    """The events of one response, numbered."""

    def __init__(self, header: ResponseHeader) -> None:
        self.about = header
        self._number = 0
        self._is_open = False

    def begin(self) -> Iterator[bytes]:
        """Yield the events before any text."""
        for kind in ("created", "in_progress"):
            yield self._event(f"response.{kind}", response=response(self.about, "in_progress"))

    def text(self, piece: str) -> Iterator[bytes]:
        """Yield the events for the next piece of text."""
        if not self._is_open:
            yield from self._open()
        yield self._event("response.output_text.delta", **self._place(), delta=piece, logprobs=[])

    def end(
        self, text: str, calls: Sequence[Mapping[str, Any]], finish: str, usage: Mapping[str, Any]
    ) -> Iterator[bytes]:
        """Yield the events after the last piece; `text` is the whole text as stored."""
        items = output_of(self.about.turn_id, text, calls, finish=finish, is_open=self._is_open)
        for index, item in enumerate(items):
            yield from self._close(item) if item["type"] == "message" else self._call_events(index, item)
        document = response(self.about, "completed", items, finish=finish, usage=usage)
        yield self._event(f"response.{document['status']}", response=document)

    def fail(self, error: Mapping[str, Any]) -> Iterator[bytes]:
        """Yield the events that end a failed reply; `error` has a `code` of ours and a `message`."""
        yield self._event("response.failed", response=response(self.about, "failed", error=error))

    def _open(self) -> Iterator[bytes]:
        self._is_open = True
        item = _message(self.about.turn_id, "in_progress", None)
        yield self._event("response.output_item.added", output_index=0, item=item)
        yield self._event("response.content_part.added", **self._place(), part=_part(""))

    def _close(self, item: Item) -> Iterator[bytes]:
        if not self._is_open:
            yield from self._open()
        part = item["content"][0]
        yield self._event("response.output_text.done", **self._place(), text=part["text"], logprobs=[])
        yield self._event("response.content_part.done", **self._place(), part=part)
        yield self._event("response.output_item.done", output_index=0, item=item)

    def _call_events(self, index: int, item: Item) -> Iterator[bytes]:
        place = {"item_id": item["id"], "output_index": index}
        item_start = {**item, "status": "in_progress", "arguments": ""}
        yield self._event("response.output_item.added", output_index=index, item=item_start)
        arguments = item["arguments"]
        for start in range(0, len(arguments), ARGUMENTS_PIECE):
            piece = arguments[start : start + ARGUMENTS_PIECE]
            yield self._event("response.function_call_arguments.delta", **place, delta=piece)
        yield self._event("response.function_call_arguments.done", **place, name=item["name"], arguments=arguments)
        yield self._event("response.output_item.done", output_index=index, item=item)

    def _place(self) -> dict[str, Any]:
        return {"item_id": f"{ITEM}{self.about.turn_id}", "output_index": 0, "content_index": 0}

    def _event(self, kind: str, **data: Any) -> bytes:
        body = {"type": kind, "sequence_number": self._number, **data}
        self._number += 1
        return f"event: {kind}\ndata: {json.dumps(body, ensure_ascii=False, separators=(',', ':'))}\n\n".encode()


def _text(header: ResponseHeader) -> Item:
    options = {"verbosity": header.parameters["verbosity"]} if "verbosity" in header.parameters else {}
    return {"format": flatten_format(header.note.get("form")), **options}


def _tool(tool: Mapping[str, Any]) -> Item:
    """Return a tool as it was sent, with the fields that were read."""
    return {name: tool.get(name) for name in ("type", "name", "description", "parameters", "strict")}


def _choice(choice: Any) -> Any:
    if not isinstance(choice, dict):
        return choice or "auto"
    if choice.get("type") == "allowed_tools":
        tools = [{"type": "function", "name": tool["name"]} for tool in choice.get("tools") or () if "name" in tool]
        return {"type": "allowed_tools", "mode": choice.get("mode", "auto"), "tools": tools}
    return {"type": "function", "name": choice.get("name")}


def _message(turn_id: int, status: str, text: str | None) -> Item:
    content = [] if text is None else [_part(text)]
    return {"id": f"{ITEM}{turn_id}", "type": "message", "status": status, "role": "assistant", "content": content}


def _part(text: str) -> Item:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _call(record: Mapping[str, Any]) -> Item:
    return {
        "id": f"fc_{record['call_id']}",
        "type": "function_call",
        "status": "completed",
        "call_id": record["call_id"],
        "name": record["tool_name"],
        "arguments": arguments_of(record),
    }


def _usage(usage: Mapping[str, Any]) -> dict[str, Any]:
    cached = usage["prompt_tokens_details"]["cached_tokens"]
    return {
        "input_tokens": usage["prompt_tokens"],
        "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": 0},
        "output_tokens": usage["completion_tokens"],
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage["total_tokens"],
    }
