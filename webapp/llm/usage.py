"""Token counts as model servers report them; pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_MOST_TOKENS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts as the server reports them; None if it does not."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    requests: int = 1
    cached_tokens: int | None = None

    def plus(self, other: Usage) -> Usage:
        """The sum of two calls."""
        return Usage(
            _add(self.prompt_tokens, other.prompt_tokens),
            _add(self.completion_tokens, other.completion_tokens),
            self.requests + other.requests,
            _add(self.cached_tokens, other.cached_tokens),
        )


def usage_of(usage: object) -> Usage:
    """Token counts of a `usage` object, whatever else it contains."""
    if not isinstance(usage, Mapping):
        return Usage()
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, Mapping) else usage.get("prompt_cache_hit_tokens")
    return Usage(
        _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens")), cached_tokens=_count(cached)
    )


def _count(value: object) -> int | None:
    """A number of tokens; None for what cannot be one."""
    return value if isinstance(value, int) and 0 <= value <= _MOST_TOKENS else None


def _add(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else a + b
