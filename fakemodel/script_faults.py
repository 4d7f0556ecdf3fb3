"""Faults of scripted answers, and the requests that a fault refuses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


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

    def applies_only_to(self, body: dict[str, Any]) -> bool | None:
        """None for faults that always apply; otherwise whether the request contains what this fault refuses."""
        wanted = body.get("response_format") or {}
        kinds = self.refuse_response_format
        found = [present for asked, present in _pairs(self, body) if asked]
        if kinds:
            found.append(bool(wanted) and (kinds is True or wanted.get("type") in kinds))
        return any(found) if found else None


def _pairs(fault: Fault, body: dict[str, Any]) -> list[tuple[bool, bool]]:
    return [
        (fault.refuse_tools, "tools" in body),
        (fault.refuse_stream_options, "stream_options" in body),
        (fault.refuse_max_tokens, "max_tokens" in body),
        (bool(fault.refuse_parameters), refused_parameter(fault, body) is not None),
        (fault.refuse_base64, body.get("encoding_format") == "base64"),
        (fault.refuse_system, "system" in _roles(body)),
        (fault.strict_roles, not alternates(body)),
        (fault.refuse_images, has_images(body)),
        (fault.refuse_bare_calls, has_bare_calls(body)),
    ]


def refused_parameter(fault: Fault, body: dict[str, Any]) -> str | None:
    """The first parameter of a request that a fault refuses."""
    return next((name for name in fault.refuse_parameters if name in body), None)


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


def has_bare_calls(body: dict[str, Any]) -> bool:
    """Return whether a tool call comes back without the reasoning before it."""
    asked = [message for message in body.get("messages") or () if message.get("tool_calls")]
    return any(not message.get("reasoning_content") for message in asked)


def _roles(body: dict[str, Any]) -> list[str]:
    return [message["role"] for message in body.get("messages") or ()]
