"""Hidden tokens: models that think before they answer spend their limit on text nobody sees; pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

ROOM = 4_096
"""Tokens added to an answer's limit, for a model that thinks first."""
_FIELDS = ("reasoning_content", "reasoning", "thinking")
_TAGS = ("think", "thinking", "reasoning")
_OPEN = re.compile(rf"\A\s*<({'|'.join(_TAGS)})>", re.IGNORECASE)


def has_thought(payload: Any) -> bool:
    """Return whether a completion object shows that its model thought before answering."""
    details = _map(_map(_map(payload).get("usage")).get("completion_tokens_details"))
    message = _map(_choice(payload).get("message"))
    content = message.get("content")
    is_told = any(isinstance(message.get(name), str) and message[name].strip() for name in _FIELDS)
    return bool(details.get("reasoning_tokens")) or is_told or (isinstance(content, str) and bool(_OPEN.match(content)))


def ran_out(payload: Any) -> bool:
    """Return whether reasoning used up the limit, so that the answer is empty or only reasoning."""
    choice = _choice(payload)
    content = _map(choice.get("message")).get("content")
    text = content if isinstance(content, str) else ""
    return (
        has_thought(payload) and choice.get("finish_reason") == "length" and (not text.strip() or is_only_thought(text))
    )


def is_only_thought(text: str) -> bool:
    """Return whether a text begins with reasoning that has no end."""
    opened = _OPEN.match(text)
    return opened is not None and f"</{opened[1].lower()}>" not in text.lower()


def _choice(payload: Any) -> Mapping[str, Any]:
    choices = _map(payload).get("choices")
    return _map(choices[0]) if isinstance(choices, list) and choices else {}


def _map(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
