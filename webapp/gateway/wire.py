"""OpenAI's wire format: reads what comes in as a question and its history, and writes what goes out; pure."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from pydantic import BaseModel, Field

from webapp.chat.schemas import Spans, spans_within
from webapp.files.picture import picture_in
from webapp.gateway.fingerprints import IMAGE, PICTURE, TextLine
from webapp.gateway.functions import (
    Round,
    UnsupportedRequest,
    format_instructions,
    read_calls,
    read_format,
    read_rounds,
    read_tools,
)
from webapp.http.validation import Line, SearchText, check_storable
from webapp.llm.partial_calls import returned_fields
from webapp.parameters import RequestParameters
from webapp.tools.client_tools import ClientTools, arguments_of

MAX_MESSAGES = 1_000
MAX_INSTRUCTIONS = 8_000
"""The most characters of a client's system prompt that the model is shown."""
PREFIX = "chatcmpl-"
MAX_PICTURES = 10
MAX_CALLS = 128
"""The most calls in one message."""
ARGUMENTS_PIECE = 1_000
"""The most characters of a call's arguments in one event."""
MEMORY = ("on", "read", "off")
SUFFIXES: dict[str, dict[str, Any]] = {
    "temporary": {"is_temporary": True},
    "read": {"memory": "read"},
    "off": {"memory": "off"},
}
"""Suffixes of a model's id, after a colon: a temporary conversation; memory read but not made; no memory."""

_TEXT_PARTS = ("text", "input_text", "output_text", "refusal")
_STATUS_OF = {"rate_limited": 429, "context_too_long": 400, "refused": 400, "model_not_found": 404, "gone": 410}
_TYPES = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}


class MessageMetadata(BaseModel):
    """A program's facts about a message besides its words."""

    spans: Spans = []


class WireMessage(BaseModel):
    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: SearchText | list[dict[str, Any]] | None = None
    tool_calls: list[Any] | None = Field(None, max_length=MAX_CALLS)
    tool_call_id: SearchText | None = Field(None, max_length=200)
    metadata: MessageMetadata = MessageMetadata()


class StreamOptions(BaseModel):
    include_usage: bool = False


class Completion(RequestParameters):
    """A request for a reply. What is not named here is taken and has no effect."""

    model: Line = Field("default", max_length=240)
    messages: list[WireMessage] = Field(min_length=1, max_length=MAX_MESSAGES)
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    n: int | None = None
    tools: list[Any] | None = None
    tool_choice: Any = None
    parallel_tool_calls: bool | None = None
    response_format: Any = None
    logprobs: bool | None = None
    modalities: list[Any] | None = None
    functions: list[Any] | None = None


@dataclass(frozen=True, slots=True)
class GatewayRequest:
    """A request as read: the last user message with its pictures, the history before it, the client's system prompt and
    tools, and the calls of those tools since that message, with their results."""

    question: str
    history: list[TextLine]
    instructions: str
    pictures: tuple[bytes, ...] = ()
    tools: ClientTools | None = None
    rounds: tuple[Round, ...] = ()
    place: str = "messages"  # the field it was in
    parameters: Mapping[str, Any] = field(default_factory=dict)  # of the request, as they are sent to the model
    spans: tuple[tuple[int, int, str], ...] = ()  # what of the question was not typed, as the program says

    @property
    def lines(self) -> list[TextLine]:
        """Return the history before the requested reply, from which its fingerprint is made."""
        return [
            *self.history,
            ("user", self.question),
            *(("assistant", item.text) for item in self.rounds if item.text),
        ]


def read(request: Completion) -> GatewayRequest:
    """Return the question of a request. Raises UnsupportedRequest for what this endpoint cannot do."""
    _check(request)
    form = read_format(request.response_format, "response_format")
    tools = read_tools(request.tools, request.tool_choice, request.parallel_tool_calls)
    rounds, messages = _rounds(request.messages)
    text_lines = [(message.role, text_of(message)) for message in messages]
    instructions = "\n\n".join(text for role, text in text_lines if role in ("system", "developer") and text)
    lines: list[tuple[str, str]] = [(role, text) for role, text in text_lines if role in ("user", "assistant") and text]
    if not messages or messages[-1].role != "user" or not lines or lines[-1][0] != "user" or not text_lines[-1][1]:
        raise UnsupportedRequest("messages", "The last message has to be the user's and must not be empty.")
    pictures = _pictures(messages[-1])
    question = text_of(messages[-1], seen=len(pictures)) or PICTURE
    instructions = instructions[:MAX_INSTRUCTIONS]
    spans = tuple(spans_within(question, messages[-1].metadata.spans))
    gateway_request = GatewayRequest(
        question, lines[:-1], instructions, pictures, tools, rounds, parameters=request.non_empty, spans=spans
    )
    return with_response_format(gateway_request, form)


def with_response_format(request: GatewayRequest, form: dict[str, Any] | None) -> GatewayRequest:
    """Return a request with the format in which it is to be answered."""
    if form is None:
        return request
    instructions = "\n\n".join(text for text in (request.instructions, format_instructions(form)) if text)
    return replace(request, instructions=instructions, tools=replace(request.tools or ClientTools(), form=form))


def _check(request: Completion) -> None:
    if request.n not in (None, 1):
        raise UnsupportedRequest("n", "Only one choice can be generated at a time.")
    if request.logprobs:
        raise UnsupportedRequest("logprobs", "Token probabilities are not available here.")
    if set(map(str, request.modalities or ())) - {"text"}:
        raise UnsupportedRequest("modalities", "Only text can be generated here.")
    if request.functions:
        raise UnsupportedRequest("functions", "Send functions as tools: `tools`, each of the type 'function'.")


def _rounds(messages: Sequence[WireMessage]) -> tuple[tuple[Round, ...], Sequence[WireMessage]]:
    """Return the rounds of tool results at the end of a history, and its other messages. Raises UnsupportedRequest."""
    if not messages or messages[-1].role != "tool":
        return (), messages
    last = max((number for number, message in enumerate(messages) if message.role == "user"), default=-1)
    tail = [message for message in messages[last + 1 :] if message.role in ("assistant", "tool")]
    rounds = read_rounds(
        [
            (message.role, text_of(message), read_calls(message.tool_calls), message.tool_call_id or "")
            for message in tail
        ]
    )
    systems = [message for message in messages[: last + 1] if message.role in ("system", "developer")]
    later = [message for message in messages[last + 1 :] if message.role in ("system", "developer")]
    lines = [message for message in messages[: last + 1] if message not in systems]
    return rounds, [*systems, *later, *lines]


def _pictures(message: WireMessage) -> tuple[bytes, ...]:
    """Return the images in a message. Raises UnsupportedRequest for too many."""
    parts = message.content if isinstance(message.content, list) else []
    pictures = tuple(data for part in parts if (data := picture_in(part)) is not None)
    if len(pictures) > MAX_PICTURES:
        raise UnsupportedRequest("messages", f"No more than {MAX_PICTURES} images can be sent at a time.")
    return pictures


def split_model(model: str) -> tuple[str, dict[str, Any]]:
    """Return a model's id and what its suffixes choose: `default:temporary`, `1/llama3:8b:off`."""
    options: dict[str, Any] = {}
    name, _, suffix = model.rpartition(":")
    while name and suffix in SUFFIXES:
        options = {**SUFFIXES[suffix], **options}
        model = name
        name, _, suffix = model.rpartition(":")
    return model, options


def completion(
    turn_id: int,
    created: int,
    model: str,
    text: str,
    finish: str,
    usage: Mapping[str, Any],
    calls: Sequence[Mapping[str, Any]] = (),
) -> Any:
    """Return a whole reply; `calls` are the records of the calls that the client has to answer."""
    message: dict[str, Any] = {"role": "assistant", "content": text or (None if calls else ""), "refusal": None}
    if calls:
        message["tool_calls"] = [tool_call(call) for call in calls]
    return {
        "id": f"{PREFIX}{turn_id}",
        "object": "chat.completion",
        "created": created,
        "model": model,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish}],
        "usage": usage,
    }


def chunk(turn_id: int, created: int, model: str, choices: Sequence[Mapping[str, Any]], **fields: Any) -> bytes:
    """Return one event of a streamed reply."""
    return event(
        {
            "id": f"{PREFIX}{turn_id}",
            "object": "chat.completion.chunk",
            "created": created,
            "model": model,
            "choices": choices,
            **fields,
        }
    )


def choice(delta: Mapping[str, Any], finish: str | None = None) -> dict[str, Any]:
    """Return a chunk's addition to the reply."""
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}


def tool_call(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a call as OpenAI writes it, from its record."""
    function = {"name": record["tool_name"], "arguments": arguments_of(record)}
    return {"id": record["call_id"], "type": "function", "function": function, **returned_fields(record)}


def call_deltas(records: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the additions to a streamed reply for its calls: first the name of each, then its arguments in pieces."""
    for index, record in enumerate(records):
        call = tool_call(record)
        arguments = call["function"]["arguments"]
        yield {"tool_calls": [{"index": index, **call, "function": {**call["function"], "arguments": ""}}]}
        for start in range(0, len(arguments), ARGUMENTS_PIECE):
            piece = arguments[start : start + ARGUMENTS_PIECE]
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def event(data: Any) -> bytes:
    """Return a server-sent event without a name."""
    return f"data: {json.dumps(data, ensure_ascii=False, separators=(',', ':'))}\n\n".encode()


def error(message: str, status: int, *, param: str | None = None, code: str | None = None) -> dict[str, Any]:
    """Return an error in OpenAI's shape."""
    kind = _TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def finish_of(payload: Mapping[str, Any] | None) -> str:
    """Return OpenAI's word for why a reply ended, from what its message records of it."""
    payload = payload or {}
    return "length" if payload.get("truncated") else "content_filter" if payload.get("filtered") else "stop"


def status_of(code: str) -> int:
    """Return the HTTP status of a failed reply, from the code it failed with."""
    return _STATUS_OF.get(code, 502)


def text_of(message: WireMessage, *, seen: int = 0) -> str:
    """Return the text of a message, with marks for images; with `seen`, none for those the model sees."""
    if message.content is None or isinstance(message.content, str):
        return (message.content or "").strip()
    texts = []
    for part in message.content:
        kind = part.get("type")
        if kind in _TEXT_PARTS:
            texts.append(str(part.get("text") or part.get("refusal") or ""))
        elif kind in ("image_url", "input_image"):
            if not (seen and picture_in(part) is not None):
                texts.append(IMAGE)
        elif kind in ("file", "input_file"):
            raise UnsupportedRequest(
                "messages", "Files cannot be sent here. Attach them to the conversation on its page."
            )
        else:
            raise UnsupportedRequest("messages", f"Parts of the type {str(kind)[:40]!r} cannot be read here.")
    try:
        return check_storable("\n".join(texts).strip())
    except ValueError as error:
        raise UnsupportedRequest("messages", f"A part of a message {error}.") from None
