"""How much a model can read, as its server's list of models reports it; pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_NAMES = ("max_model_len", "context_length", "context_window", "max_context_length", "n_ctx")
"""vLLM, OpenRouter and LiteLLM, Groq, LM Studio and Mistral, llama.cpp."""
_WITHIN = ("meta", "top_provider", "model_info")
"""Nested objects in which some servers put it."""
LEAST, MOST = 512, 100_000_000


def window_told(row: Mapping[str, Any]) -> int | None:
    """The most tokens a model of the list can read; None if its server does not say. The smallest number counts: some
    servers report the model's window and, beside it, how much of that they serve."""
    places = [row, *(row[name] for name in _WITHIN if isinstance(row.get(name), Mapping))]
    found = [place.get(name) for place in places for name in _NAMES]
    told = [value for value in found if isinstance(value, int) and not isinstance(value, bool) and value >= LEAST]
    return min(*told, MOST) if told else None


def window_found(result: Mapping[str, Any] | None, model: str) -> int | None:
    """The same, as a test of its connection found it."""
    windows = (result or {}).get("windows")
    found = windows.get(model) if isinstance(windows, Mapping) else None
    return found if isinstance(found, int) else None
