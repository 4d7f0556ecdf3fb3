"""The window of a model, as its server's list of models reports it; pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_NAMES = ("max_model_len", "context_length", "context_window", "max_context_length", "n_ctx")
"""vLLM, OpenRouter and LiteLLM, Groq, LM Studio and Mistral, llama.cpp."""
_WITHIN = ("meta", "top_provider", "model_info")
"""Nested objects in which some servers put it."""
LEAST, MOST = 512, 100_000_000
READING_SECONDS = 60.0
"""How long a slow model may read a prompt: what it cannot read in that time is left out of prompts."""
SMALLEST_BUDGET, LARGEST_BUDGET = 2_048, 16_000
"""A slow model's window is never cut below the first; one that reads the second in time is not slow."""


def window_told(row: Mapping[str, Any]) -> int | None:
    """The most tokens a model of the list can read; None if its server does not say. The smallest number counts: some
    servers report the model's window and, beside it, how much of that they serve."""
    places = [row, *(row[name] for name in _WITHIN if isinstance(row.get(name), Mapping))]
    found = [place.get(name) for place in places for name in _NAMES]
    sizes = [value for value in found if isinstance(value, int) and not isinstance(value, bool) and value >= LEAST]
    return min(*sizes, MOST) if sizes else None


def window_found(result: Mapping[str, Any] | None, model: str) -> int | None:
    """The same, as a test of its connection found it."""
    windows = (result or {}).get("windows")
    found = windows.get(model) if isinstance(windows, Mapping) else None
    return found if isinstance(found, int) else None


def speed_found(result: Mapping[str, Any] | None, kind: str) -> float | None:
    """Return how many tokens a second the server read (`prompt`) or wrote (`generation`) when it was tested."""
    speed = (result or {}).get("speed")
    found = speed.get(kind) if isinstance(speed, Mapping) else None
    return float(found) if isinstance(found, (int, float)) and found > 0 else None


def is_slow(prompt_speed: float | None) -> bool:
    """Return whether a model that reads so many tokens a second, if known, cannot read a usual prompt in time."""
    return prompt_speed is not None and prompt_speed * READING_SECONDS < LARGEST_BUDGET


def budget(window: int | None, prompt_speed: float | None) -> int | None:
    """The most tokens of a window to use with a model that reads so many a second; None for the usual number."""
    if prompt_speed is None or not is_slow(prompt_speed):
        return window
    readable = max(SMALLEST_BUDGET, round(prompt_speed * READING_SECONDS))
    return min(window, readable) if window else readable
