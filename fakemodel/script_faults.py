"""Faults of scripted answers, and the requests that a fault refuses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .wire import error


@dataclass(slots=True)
class Fault:
    """A fault of a scripted answer; counts are in frames."""

    http_status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    body: Any = None
    cut_after: int | None = None  # the connection is dropped
    hang_after: int | None = None  # nothing more is sent, the connection stays open
    error: dict[str, Any] | None = None  # an error object in the stream ...
    error_after: int = 0  # ... after that many frames
    no_done: bool = False  # the stream ends properly but without its end mark
    split_bytes: int | None = None  # the stream's bytes are sent that many at a time
    raw: str | None = None  # sent as the entire body
    refuse_tools: bool = False
    refuse_stream_options: bool = False
    refuse_response_format: bool | list[str] = False  # or the types refused
    refuse_max_tokens: bool = False
    refuse_parameters: list[str] = field(default_factory=list)  # by name
    refuse_base64: bool = False
    refuse_system: bool = False  # like Gemma's template
    strict_roles: bool = False  # like Gemma's and Mistral's: user and assistant alternate, the user first
    refuse_images: bool = False
    refuse_bare_calls: bool = False  # like DeepSeek: tool calls must come back with the reasoning before them

    def concerns(self, body: dict[str, Any]) -> bool:
        """Return whether a request contains something that this fault refuses, or whether it refuses nothing."""
        found = [is_present for is_present, _ in refusals(self, body)]
        return any(found) or not found


def refusals(fault: Fault, body: dict[str, Any]) -> list[tuple[bool, dict[str, Any]]]:
    """Return, for all that a fault refuses, whether a request contains it, and the body of the error if it does."""
    wanted = body.get("response_format") or {}
    form, kinds = wanted.get("type"), fault.refuse_response_format
    parameter = next((name for name in fault.refuse_parameters if name in body), "")
    rows: list[tuple[object, object, dict[str, Any]]] = [
        (fault.refuse_tools, "tools" in body, error("This model does not support tools.", param="tools")),
        (
            fault.refuse_stream_options,
            "stream_options" in body,
            error("Unrecognized request argument supplied: stream_options"),
        ),
        (fault.refuse_max_tokens, "max_tokens" in body, _unsupported("max_tokens", "max_completion_tokens")),
        (fault.refuse_parameters, parameter, _unsupported(parameter)),
        (
            fault.refuse_base64,
            body.get("encoding_format") == "base64",
            error("encoding_format 'base64' is not supported", param="encoding_format"),
        ),
        (fault.refuse_system, "system" in _roles(body), error("System role not supported")),
        (
            fault.strict_roles,
            not alternates(body),
            error("Conversation roles must alternate user/assistant/user/assistant/..."),
        ),
        (fault.refuse_images, has_images(body), error("image input is not supported by this model")),
        (
            fault.refuse_bare_calls,
            _has_bare_calls(body),
            error("Missing `reasoning_content` field in the assistant message at message index 2."),
        ),
        (
            kinds,
            wanted and (kinds is True or form in (kinds or ())),
            error(f"response_format type '{form}' is unavailable now"),
        ),
    ]
    return [(bool(is_present), refusal) for is_refused, is_present, refusal in rows if is_refused]


def _unsupported(name: str, replacement: str = "") -> dict[str, Any]:
    text = f"Unsupported parameter: '{name}' is not supported with this model."
    text += f" Use '{replacement}' instead." if replacement else ""
    return error(text, code="unsupported_parameter", param=name)


def alternates(body: dict[str, Any]) -> bool:
    """Return whether user and assistant alternate, the user first, after at most one system message."""
    spoken = [role for role in _roles(body) if role != "tool"]
    spoken = spoken[1:] if spoken[:1] == ["system"] else spoken
    has_tools = "tool" in _roles(body)
    return has_tools or spoken == [("user", "assistant")[place % 2] for place in range(len(spoken))]


def has_images(body: dict[str, Any]) -> bool:
    """Return whether a message contains a picture."""
    contents = [message.get("content") for message in body.get("messages") or ()]
    return any(part.get("type") == "image_url" for parts in contents if isinstance(parts, list) for part in parts)


def _has_bare_calls(body: dict[str, Any]) -> bool:
    """Return whether a tool call comes back without the reasoning before it."""
    asked = [message for message in body.get("messages") or () if message.get("tool_calls")]
    return any(not message.get("reasoning_content") for message in asked)


def _roles(body: dict[str, Any]) -> list[str]:
    return [message["role"] for message in body.get("messages") or ()]
