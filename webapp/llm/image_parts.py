"""Pictures in messages, for servers and models that do not accept any; pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

BLIND = "[A picture was attached here. You cannot see it: say so if it matters.]"


def has_pictures(messages: Sequence[dict[str, Any]]) -> bool:
    """Return whether any message contains a picture."""
    return any(
        part.get("type") == "image_url"
        for message in messages
        if isinstance(message.get("content"), list)
        for part in message["content"]
    )


def without_pictures(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same messages as text: a note in place of each picture, after its name."""
    return [
        {**message, "content": _told(message["content"])} if isinstance(message.get("content"), list) else message
        for message in messages
    ]


def _told(parts: list[dict[str, Any]]) -> str:
    return "\n".join(BLIND if part.get("type") == "image_url" else str(part.get("text", "")) for part in parts)
