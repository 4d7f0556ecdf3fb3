"""Making a request acceptable to servers that refuse parts of the protocol."""

import logging
import re
from collections.abc import Mapping, Sequence
from typing import Any

from .capabilities import STRUCTURED_MODES, Capabilities
from .error_bodies import error_fields
from .errors import ContextTooLong, ModelError, classify_exception
from .partial_calls import RETURNED_FIELDS

log = logging.getLogger(__name__)

Message = dict[str, Any]

OPENING_NOTE = "[The assistant begins this conversation.]"
"""Stands in for the user's message before a first message of the assistant's."""
GAP = "\n\n"


def merge_turns(messages: Sequence[Message]) -> list[Message]:
    """Return the same text with system messages as one at the top, neighbours of one role joined, and the user's first.

    Calls and results stay in place. The result's beginning depends only on the input's beginning.
    """
    system = [message for message in messages if message["role"] == "system"]
    turns: list[Message] = []
    for message in messages:
        if message["role"] == "system":
            continue
        if not turns and message["role"] != "user":
            turns.append({"role": "user", "content": OPENING_NOTE})
        if turns and _joins(turns[-1], message):
            turns[-1] = _join_messages(turns[-1], message)
        else:
            turns.append(message)
    if not system:
        return turns
    head = system[0]
    for message in system[1:]:
        head = _join_messages(head, message)
    return [head, *turns]


def without_system(messages: Sequence[Message]) -> list[Message]:
    """Put the system message before the text of the first user message, for templates without such a role."""
    if len(messages) < 2 or messages[0]["role"] != "system" or messages[1]["role"] != "user":
        return [{**message, "role": "user"} if message["role"] == "system" else message for message in messages]
    first = {**messages[1], "content": _join_contents(messages[0]["content"], messages[1]["content"])}
    return [first, *messages[2:]]


def _joins(first: Message, other: Message) -> bool:
    return first["role"] == other["role"] and first["role"] != "tool" and not first.get("tool_calls")


def _join_messages(first: Message, other: Message) -> Message:
    return {**first, **other, "content": _join_contents(first.get("content"), other.get("content"))}


def _join_contents(first: Any, other: Any) -> Any:
    """Return two contents as one: texts with an empty line between them, or lists of parts one after the other."""
    if not first or not other:
        return first or other
    if isinstance(first, str) and isinstance(other, str):
        return first + GAP + other
    return [*_parts(first), *_parts(other)]


def _parts(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


_PARAMETERS = {
    "parallel_tool_calls": ("parallel_tool_calls",),
    "temperature": ("temperature",),
    "top_p": ("top_p",),
    "reasoning_effort": ("reasoning_effort", "reasoning effort", "reasoning.effort"),
    "verbosity": ("verbosity",),
    "frequency_penalty": ("frequency_penalty", "penalty is not enabled"),
    "presence_penalty": ("presence_penalty", "penalty is not enabled"),
    "seed": ("seed",),
    "stop": ("'stop'", '"stop"', "`stop`", "stop sequence", "stop parameter", "parameter: stop", "parameter stop"),
}
"""The words with which servers name a parameter they refuse, in their `param` or message; it is then left out."""
_NAMES = {
    "images": (
        *("image", "vision", "multimodal", "multi-modal", "content must be a string", "expected a string"),
        *("concatenate str", "should be 'text'", "str type expected", "valid string"),
    ),
    "stream_options": ("stream_options", "include_usage"),
    "max_tokens": ("max_tokens",),
    "base64": ("encoding_format", "base64"),
    "bare_calls": ("reasoning_content",),
    "returned": ("reasoning_details", *RETURNED_FIELDS),
    "system": (
        *("system role", "role system", "role 'system'", "support 'system'", "system message", "system prompt"),
        *("developer instruction", "user and assistant roles", "roles must alternate", "messages[0].role"),
    ),
    "stream": ("'stream'", "stream this model", "streaming"),
    **_PARAMETERS,
}
"""With those of other parts of a request, for which `adapt_body` knows another way."""
# A complaint about a value (a tool's schema, too large a number) also names the part, but does not refuse it.
_REFUSAL = re.compile(
    r"support|unrecogni[sz]ed|unknown|unexpected|extra |not permitted|not allowed"
    r"|additional propert|not implemented|requires? -"
    r"|not enabled|only user and assistant|must alternate"
    r"|not (?:a )?multi-?modal|must be a string|expected a string|str type expected|valid string|can only concatenate"
    r"|deprecated|cannot both|at most 0 |only allowed when|should be '(?:text|float|user)|must be float"
    r"|missing data required|missing.{0,200}?reasoning_content|reasoning_content.{0,200}?(?:must|missing)"
)
_VALUE = re.compile(r"tools[\[.]\d|invalid schema")
_SENT_AS = {"base64": "encoding_format"} | dict.fromkeys(("system", "bare_calls", "returned", "images"), "messages")


def learn_rejection(exc: BaseException, body: Mapping[str, Any], base_url: str, capabilities: Capabilities) -> bool:
    """Remember what a server refused of a request by name; returns whether to send the request again without it."""
    feature = _rejected_feature(exc, body)
    if feature is None or not capabilities.accepts(base_url, body["model"], feature):
        return False
    log.info("model server refuses %s: going on without", feature)
    capabilities.refuse(base_url, body["model"], feature)
    return True


def _rejected_feature(exc: BaseException, body: Mapping[str, Any]) -> str | None:
    """Return the feature of `body`, never `tools`, that an answer (400, 404, 422, 500, 501) blames, or None."""
    if getattr(exc, "status_code", None) not in (400, 404, 422, 500, 501):
        return None
    payload = getattr(exc, "body", None)
    message, codes, _ = error_fields(payload)
    text = " ".join((message or str(payload or getattr(exc, "message", "")), *codes)).lower()
    if not _REFUSAL.search(text) or _VALUE.search(text) or isinstance(classify_exception(exc), ContextTooLong):
        return None
    for feature, names in _NAMES.items():
        messages = body.get("messages", ())
        if feature == "images" and not has_pictures(messages):
            continue
        if feature == "system" and all(message["role"] != "system" for message in messages):
            continue
        if _SENT_AS.get(feature, feature) in body and any(name in text for name in names):
            return feature
    return None


def rejects_format(exc: BaseException, error: ModelError) -> bool:
    """Return whether `response_format` may be to blame for an error: any refusal without a better reason."""
    status = getattr(exc, "status_code", None)
    if error.code != "model_unavailable" or status is None:
        return False
    if status in (400, 415, 422, 501):
        return True
    message, codes, _ = error_fields(getattr(exc, "body", None))
    text = " ".join((message, *codes)).lower()
    return status == 500 and any(word in text for word in ("response_format", "json_schema", "json_object", "grammar"))


def with_format(body: dict[str, Any], mode: str) -> dict[str, Any]:
    """`body` with a response format no stronger than `mode` (one of STRUCTURED_MODES); for `text`, without one."""
    kind = (body.get("response_format") or {}).get("type", "text")
    if STRUCTURED_MODES.index(kind) >= STRUCTURED_MODES.index(mode):
        return body
    rest = {name: value for name, value in body.items() if name != "response_format"}
    return rest if mode == "text" else rest | {"response_format": {"type": mode}}


def adapt_body(body: dict[str, Any], base_url: str, capabilities: Capabilities) -> dict[str, Any]:
    """`body` with messages in an order that every model takes, without what this server and model refuse."""
    model = body["model"]

    def drops(feature: str) -> bool:
        return _SENT_AS.get(feature, feature) in body and not capabilities.accepts(base_url, model, feature)

    result = dict(body)
    if "messages" in result:
        result["messages"] = merge_turns(result["messages"])
        if drops("images"):
            result["messages"] = without_pictures(result["messages"])
        if not drops("bare_calls"):
            result["messages"] = [_without(message, "reasoning_content") for message in result["messages"]]
        if drops("returned"):
            result["messages"] = [_without_returned(message) for message in result["messages"]]
    if drops("tools"):
        result = with_tools(result, [])
    if drops("stream"):  # the answer comes in one piece
        result.pop("stream")
    if drops("stream_options") or "stream" not in result:
        result.pop("stream_options", None)
    for parameter in _PARAMETERS:
        if drops(parameter):
            result.pop(parameter)
    if drops("base64"):
        result.pop("encoding_format")
    if drops("max_tokens"):  # newer models want the other name
        result["max_completion_tokens"] = result.pop("max_tokens")
    if drops("system"):
        result["messages"] = without_system(result["messages"])
    return result


def with_tools(body: dict[str, Any], tools: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """`body` with these tools in place of its own, and no choice among tools that are not there."""
    result = {name: value for name, value in body.items() if name != "tools"}
    if tools:
        result["tools"] = list(tools)
    choice = result.get("tool_choice")
    names = {tool["function"]["name"] for tool in tools}
    if not tools or (isinstance(choice, dict) and choice.get("function", {}).get("name") not in names):
        result.pop("tool_choice", None)
    if not tools:
        result.pop("parallel_tool_calls", None)
    return result


def _without(message: Message, *fields: str) -> Message:
    """Return a message without some fields: reasoning, which only servers that insist on it get back."""
    return {name: value for name, value in message.items() if name not in fields}


def _without_returned(message: Message) -> Message:
    """Return a message without what another server sent with it."""
    result = _without(message, "reasoning_details")
    calls = result.get("tool_calls")
    return result | {"tool_calls": [_without(call, *RETURNED_FIELDS) for call in calls]} if calls else result


UNSEEN = "[A picture was attached here. You cannot see it: say so if it matters.]"


def has_pictures(messages: Sequence[dict[str, Any]]) -> bool:
    return any(
        part.get("type") == "image_url"
        for message in messages
        if isinstance(message.get("content"), list)
        for part in message["content"]
    )


def without_pictures(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the same messages as text: a note in place of each picture, after its name."""
    return [
        {**message, "content": _text_of(message["content"])} if isinstance(message.get("content"), list) else message
        for message in messages
    ]


def _text_of(parts: list[dict[str, Any]]) -> str:
    return "\n".join(UNSEEN if part.get("type") == "image_url" else str(part.get("text", "")) for part in parts)
