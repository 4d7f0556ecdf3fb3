"""Requests of OpenAI's Responses API, read into the same form as `wire` reads a chat completion into; pure."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, PlainValidator, ValidationError

from webapp.gateway import wire
from webapp.gateway.functions import UnsupportedRequest, read_flat_format, read_tools
from webapp.gateway.wire import MAX_MESSAGES, Completion, GatewayRequest, WireMessage
from webapp.http.validation import Integer, Line, OptionalAmount, OptionalInteger, SearchText, check_storable, parse_id
from webapp.parameters import Effort

PREFIX, ITEM = "resp_", "msg_"
MAX_METADATA = 16
CONVERSATION = "conv_"
_ROLES = ("user", "assistant", "system", "developer")
_LEFT_OUT = ("reasoning", "compaction")
"""Kinds of items that clients send back and that are ignored here."""

MetadataName = Annotated[Line, Field(max_length=64)]
MetadataValue = Annotated[SearchText, Field(max_length=512)]


def _text_or_items(value: Any) -> Any:
    if isinstance(value, str):
        return check_storable(value)
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise ValueError("input must be a text or a list of items")
    if len(value) > MAX_MESSAGES:
        raise ValueError(f"input can have at most {MAX_MESSAGES:,} items")
    return value


Input = Annotated[str | list[dict[str, Any]], PlainValidator(_text_or_items)]


class Reasoning(BaseModel):
    effort: Effort | None = None


class ResponseQuery(BaseModel):
    stream: bool = False
    starting_after: Any = None


class ItemQuery(BaseModel):
    limit: Integer = Field(20, ge=1, le=100)
    order: Literal["asc", "desc"] = "desc"
    after: str | None = Field(None, max_length=200)


def item_message(name: str | None) -> int | None:
    """Return the id of the message that an item is, by the item's id; None for anything else."""
    return parse_id(name.removeprefix(ITEM)) if name and name.startswith(ITEM) else None


class ResponseRequest(BaseModel):
    """A request for a response. What is not named here is taken and has no effect."""

    model: Line = Field("default", max_length=240)
    input: Input
    instructions: SearchText | None = None
    previous_response_id: str | None = Field(None, max_length=200)
    store: bool | None = None
    stream: bool | None = False
    metadata: Annotated[dict[MetadataName, MetadataValue], Field(max_length=MAX_METADATA)] | None = None
    tools: list[Any] | None = None
    tool_choice: Any = None
    parallel_tool_calls: bool | None = None
    text: dict[str, Any] | None = None
    background: bool | None = None
    conversation: Any = None
    prompt: Any = None
    temperature: OptionalAmount = Field(None, ge=0, le=2)
    top_p: OptionalAmount = Field(None, ge=0, le=1)
    max_output_tokens: OptionalInteger = Field(None, ge=1, le=1_000_000)
    reasoning: Reasoning | None = None

    @property
    def parameters(self) -> dict[str, Any]:
        """Return what the request sets for the reply, under the names of chat completions."""
        values = {
            "temperature": self.temperature,
            "top_p": self.top_p,
            "max_completion_tokens": self.max_output_tokens,
            "reasoning_effort": self.reasoning.effort if self.reasoning else None,
            "verbosity": (self.text or {}).get("verbosity"),
        }
        return {name: value for name, value in values.items() if value is not None}

    @property
    def conversation_id(self) -> int | None:
        """Return the conversation named by `conv_34`, `34`, or an object with such an id. Raises UnsupportedRequest."""
        if self.conversation is None:
            return None
        reference = self.conversation.get("id") if isinstance(self.conversation, dict) else self.conversation
        number = parse_id(reference.removeprefix(CONVERSATION)) if isinstance(reference, str) else None
        if number is None:
            raise UnsupportedRequest("conversation", "A conversation is named by its id, such as conv_34.")
        return number

    @property
    def form(self) -> dict[str, Any] | None:
        """Return the format of the answer, as chat completions express it. Raises UnsupportedRequest."""
        return read_flat_format((self.text or {}).get("format"))

    @property
    def note(self) -> dict[str, Any]:
        """Return what is kept with the reply, for whoever asks for it later."""
        previous = f"{PREFIX}{self.previous}" if self.previous else None
        values = {"metadata": self.metadata, "previous": previous, "background": self.background, "form": self.form}
        return {name: value for name, value in values.items() if value} | (
            {"store": False} if self.store is False else {}
        )

    @property
    def previous(self) -> int | None:
        """Return the id of the reply that it continues from; 0 for an id that is not one of ours, None without any."""
        return reply_id(self.previous_response_id) if self.previous_response_id else None


def reply_id(name: str) -> int:
    """Return the reply that a response's id names; 0 for any other id."""
    return (parse_id(name.removeprefix(PREFIX)) if name.startswith(PREFIX) else None) or 0


def read(request: ResponseRequest) -> GatewayRequest:
    """Return the question of a request that contains the whole history. Raises UnsupportedRequest."""
    _check(request)
    messages = _messages(request)
    _check_calls(messages)
    return _as_input(messages, request)


def read_next(request: ResponseRequest) -> tuple[GatewayRequest, Mapping[str, str]]:
    """Return what follows an earlier response: a question, and results by call id. Raises UnsupportedRequest."""
    _check(request)
    messages = _messages(request)
    if any(message.role == "assistant" for message in messages):
        raise UnsupportedRequest("input", "After previous_response_id, input must contain only what is new.")
    results = {message.tool_call_id or "": wire.text_of(message) for message in messages if message.role == "tool"}
    rest = [message for message in messages if message.role != "tool"]
    if any(message.role == "user" for message in rest):
        return _as_input(rest, request), results
    if not results:
        raise UnsupportedRequest("input", "There has to be a user's message or the output of function calls.")
    return replace(_as_input([*rest, WireMessage(role="user", content="-")], request), question=""), results


def _check(request: ResponseRequest) -> None:
    if request.background and request.stream:
        raise UnsupportedRequest(
            "background", "A response created in the background cannot be streamed: ask for it by id."
        )
    if request.background and request.store is False:
        raise UnsupportedRequest("background", "A response created in the background has to be stored.")
    if request.conversation_id and request.previous_response_id:
        raise UnsupportedRequest("conversation", "conversation and previous_response_id cannot be used together.")
    if request.prompt is not None:
        raise UnsupportedRequest("prompt", "There are no stored prompts here.")
    if (request.text or {}).get("verbosity") not in (None, "low", "medium", "high"):
        raise UnsupportedRequest("text.verbosity", "must be one of low, medium, high")


def _as_input(messages: Sequence[WireMessage], request: ResponseRequest) -> GatewayRequest:
    """Return the messages read like those of a completion; errors name the fields of this protocol."""
    try:
        tools = read_tools(
            [_nest(tool) for tool in request.tools or ()], request.tool_choice, request.parallel_tool_calls
        )
        gateway_request = wire.read(Completion.model_construct(messages=list(messages)))
        form = request.form
    except UnsupportedRequest as error:
        raise UnsupportedRequest(
            error.param.replace("messages", "input").replace(".function", ""), str(error)
        ) from None
    return wire.with_response_format(
        replace(gateway_request, tools=tools, place="input", parameters=request.parameters), form
    )


def _nest(tool: Any) -> Any:
    """Return a tool as chat completions define it: the fields are one level deeper there."""
    if not isinstance(tool, dict) or tool.get("type") != "function":
        return tool
    return {"type": "function", "function": {name: value for name, value in tool.items() if name != "type"}}


def _messages(request: ResponseRequest) -> list[WireMessage]:
    """Return the items as messages: consecutive ones from the same side become one."""
    result: list[WireMessage] = []
    if request.instructions:
        result.append(WireMessage(role="system", content=request.instructions))
    if isinstance(request.input, str):
        return [*result, WireMessage(role="user", content=request.input)]
    for number, item in enumerate(request.input):
        try:
            message = _message(item, f"input[{number}]")
        except ValidationError as error:
            field = ".".join(str(part) for part in error.errors()[0]["loc"][:1])
            raise UnsupportedRequest(f"input[{number}].{field}", error.errors()[0]["msg"]) from None
        if message is None:
            continue
        if result and result[-1].role == message.role and message.role in ("user", "assistant"):
            message = _join_messages(result.pop(), message)
        result.append(message)
    return result


def _message(item: Mapping[str, Any], param: str) -> WireMessage | None:
    kind = item.get("type") or ("message" if "role" in item else None)
    if kind == "message":
        if item.get("role") not in _ROLES:
            raise UnsupportedRequest(f"{param}.role", f"A role must be one of {', '.join(_ROLES)}.")
        return WireMessage.model_validate({"role": item["role"], "content": item.get("content")})
    if kind == "function_call":
        function = {"name": item.get("name"), "arguments": item.get("arguments")}
        call = {"id": item.get("call_id"), "function": function}
        if not (call["id"] and all(isinstance(part, str) for part in (call["id"], *function.values()))):
            raise UnsupportedRequest(param, "A function_call must have a call_id, a name and arguments.")
        return WireMessage(role="assistant", content="", tool_calls=[call])
    if kind == "function_call_output":
        if not isinstance(item.get("call_id"), str) or not isinstance(item.get("output"), str | list):
            raise UnsupportedRequest(param, "A function_call_output must have a call_id and an output.")
        return WireMessage.model_validate({"role": "tool", "tool_call_id": item["call_id"], "content": item["output"]})
    if kind in _LEFT_OUT:
        return None
    raise UnsupportedRequest(f"{param}.type", f"Items of the type {str(kind)[:40]!r} cannot be read here.")


def _join_messages(first: WireMessage, second: WireMessage) -> WireMessage:
    calls = [*(first.tool_calls or ()), *(second.tool_calls or ())]
    return WireMessage(role=first.role, content=[*_parts(first), *_parts(second)], tool_calls=calls or None)


def _parts(message: WireMessage) -> list[dict[str, Any]]:
    if isinstance(message.content, list):
        return message.content
    return [{"type": "input_text", "text": message.content}] if message.content else []


def _check_calls(messages: Sequence[WireMessage]) -> None:
    """Raise UnsupportedRequest for a call without a result, or a result without a call."""
    called = [call["id"] for message in messages for call in message.tool_calls or ()]
    answer_ids = [message.tool_call_id for message in messages if message.role == "tool"]
    if missing := [name for name in called if name not in set(answer_ids)]:
        raise UnsupportedRequest("input", f"No tool output found for function call {missing[0][:200]}.")
    if strange := [name for name in answer_ids if name not in set(called)]:
        raise UnsupportedRequest("input", f"No tool call found for function call output with call_id {strange[0]}.")
