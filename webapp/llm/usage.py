"""Token counts as model servers report them, and hidden tokens, which models spend on thinking; pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .dialects import THOUGHTS, plain

_MAX_TOKENS = 1_000_000_000
_COUNTS = (("prompt_tokens", "input_tokens", "prompt_eval_count"), ("completion_tokens", "output_tokens", "eval_count"))


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts as the server reports them; None if it does not."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    requests: int = 1
    cached_tokens: int | None = None

    def plus(self, other: "Usage") -> "Usage":
        """Return the sum of two calls."""
        return Usage(
            _add(self.prompt_tokens, other.prompt_tokens),
            _add(self.completion_tokens, other.completion_tokens),
            self.requests + other.requests,
            _add(self.cached_tokens, other.cached_tokens),
        )


def later_usage(usage: Usage | None, source: Mapping[str, Any]) -> Usage | None:
    """Return the token counts in a completion or a chunk, or in an object in it, or else those that came before."""
    for part in (source, *source.values()):
        if isinstance(part, dict) and (counts := part.get("usage") or ("eval_count" in part and part)):
            found = usage_of(counts)
            if usage is None or found.prompt_tokens or found.completion_tokens:
                usage = found
    return usage


def usage_of(usage: object) -> Usage:
    """Return the token counts of a `usage` object; ignore other fields."""
    if not isinstance(usage, dict):
        return Usage()
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else usage.get("prompt_cache_hit_tokens")
    sent, answered = (next((_count(usage[name]) for name in names if name in usage), None) for names in _COUNTS)
    return Usage(sent, answered, cached_tokens=_count(cached))


def _count(value: object) -> int | None:
    """Return a number of tokens; None for what cannot be one."""
    return int(value) if isinstance(value, (int, float)) and 0 <= value <= _MAX_TOKENS else None


def _add(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else a + b


ROOM = 4_096
"""Tokens added to an answer's limit, for a model that thinks first."""
THOUGHT_FIELDS = (
    *("reasoning_content", "reasoning", "thinking", "reasoning_text"),
    *("reasoning_details", "thinking_blocks"),
)
"""The fields in which servers send a model's reasoning: DeepSeek, vLLM, llama.cpp; OpenRouter, Ollama; others."""


def has_thought(payload: Any) -> bool:
    """Return whether a completion object shows that its model thought before answering."""
    details = _map(_map(_map(payload).get("usage")).get("completion_tokens_details"))
    message = _map(_choice(payload).get("message"))
    content = message.get("content")
    is_told = any(isinstance(message.get(name), str) and message[name].strip() for name in THOUGHT_FIELDS)
    begins_with_it = isinstance(content, str) and plain(content).lstrip().startswith(tuple(THOUGHTS))
    return bool(details.get("reasoning_tokens")) or is_told or begins_with_it


def is_limit_used_up(payload: Any) -> bool:
    """Return whether reasoning used up the limit, so that the answer is empty or only reasoning."""
    choice = _choice(payload)
    content = _map(choice.get("message")).get("content")
    text = content if isinstance(content, str) else ""
    return (
        has_thought(payload) and choice.get("finish_reason") == "length" and (not text.strip() or is_only_thought(text))
    )


def is_only_thought(text: str) -> bool:
    """Return whether a text begins with reasoning that has no end."""
    low = plain(text).lstrip()
    closings = next((closings for opening, closings in THOUGHTS.items() if low.startswith(opening)), None)
    return closings is not None and not any(mark in low for mark in closings)


def _choice(payload: Any) -> Mapping[str, Any]:
    choices = _map(payload).get("choices")
    return _map(choices[0]) if isinstance(choices, list) and choices else {}


def _map(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
