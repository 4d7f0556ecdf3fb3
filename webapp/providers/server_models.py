"""Providers that can be connected by name (`providers.json`), and the models a server lists: which come first; pure."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from webapp.llm.pool import SLACK

_DATA = json.loads(Path(__file__).with_name("providers.json").read_text(encoding="utf-8"))
NOT_CHAT_MODELS: tuple[str, ...] = tuple(_DATA["cannot_chat"])
"""Parts of the names of models that neither chat nor make vectors."""
EMBEDDING_MODELS: tuple[str, ...] = tuple(_DATA["makes_vectors"])
"""Parts of the names of models that make vectors."""


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider: its server, the place where its keys are made, the headers it wants (`{key}` stands for the key), and
    what the names of its best models begin with, the best first."""

    id: str
    name: str
    base_url: str
    keys: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    prefers: tuple[str, ...] = ()

    def headers_with(self, api_key: str) -> dict[str, str]:
        return {name: value.replace("{key}", api_key) for name, value in self.headers.items()}


PROVIDERS: dict[str, Provider] = {
    row["id"]: Provider(**{**row, "prefers": tuple(row.get("prefers", ()))}) for row in _DATA["providers"]
}


def provider_at(base_url: str) -> Provider | None:
    """Return the provider whose server has this URL."""
    return next((provider for provider in PROVIDERS.values() if provider.base_url == base_url.rstrip("/")), None)


def prefers_at(base_url: str) -> tuple[str, ...]:
    """Return what the best names at a URL begin with: the provider's, or, behind a gateway, everybody's."""
    match = provider_at(base_url)
    return match.prefers if match else tuple(start for provider in PROVIDERS.values() for start in provider.prefers)


MAX_FIRST_OFFERED = 12
"""All of so many models are offered; of more, the MAX_OFFERED most capable."""
MAX_OFFERED = 8
_BILLIONS = re.compile(r"(?<![\d.])(\d+(?:\.\d+)?)b(?![a-z])")
_DATED = re.compile(r"(.+?)[-@](?:20\d\d-?\d\d-?\d\d|\d{4})")


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A model in a server's list, with its context window and the Unix time it was made, where the server tells."""

    name: str
    window: int | None = None
    created: int = 0


@dataclass(frozen=True, slots=True)
class Choice:
    """A chat model that can be offered, and whether it is to begin with."""

    name: str
    is_offered: bool
    is_default: bool = False


def can_chat(name: str) -> bool:
    """Return whether a model chats, as far as its name tells."""
    return not any(part in name.lower() for part in (*NOT_CHAT_MODELS, *EMBEDDING_MODELS))


def makes_vectors(name: str) -> bool:
    """Return whether a model makes vectors, as far as its name tells."""
    return any(part in name.lower() for part in EMBEDDING_MODELS)


def choices_of(rows: Iterable[ListedModel], prefers: Sequence[str] = ()) -> list[Choice]:
    """Return the chat models of a list, the most capable, and default, first; no dated copies.

    `prefers` are the beginnings of the best names; then the larger, the newer and the wider counts.
    """
    choices = sorted((row for row in rows if can_chat(row.name)), key=lambda row: _rank(row, prefers))
    names = {row.name for row in choices}
    plain = [row.name for row in choices if not _is_copy(row.name, names)]
    top = set(plain if len(plain) <= MAX_FIRST_OFFERED else plain[:MAX_OFFERED])
    ordered = sorted((row.name for row in choices), key=lambda name: name not in top)
    return [Choice(name, name in top, place == 0) for place, name in enumerate(ordered)]


def _rank(row: ListedModel, prefers: Sequence[str]) -> tuple[int, bool, float, int, int, str]:
    name = row.name.lower()
    place = next((number for number, start in enumerate(prefers) if name.startswith(start)), len(prefers))
    size = _BILLIONS.search(name)
    billions = float(size[1]) if size else 0.0
    return (place, _DATED.fullmatch(name) is not None, -billions, -row.created, -(row.window or 0), name)


def _is_copy(name: str, names: set[str]) -> bool:
    dated = _DATED.fullmatch(name)
    return dated is not None and bool({dated[1], f"{dated[1]}-latest"} & names)


_NAMES = ("max_model_len", "context_length", "context_window", "max_context_length", "n_ctx", "max_input_tokens")
"""vLLM, OpenRouter and LiteLLM, Groq, LM Studio and Mistral, llama.cpp, GitHub."""
_NESTED_FIELDS = ("meta", "top_provider", "model_info", "limits")
"""Nested objects in which some servers put it."""
MIN_WINDOW, MAX_WINDOW = 512, 100_000_000
READING_SECONDS = 60.0
"""How long a slow model may read a prompt: what it cannot read in that time is left out of prompts."""
SMALLEST_BUDGET, LARGEST_BUDGET = 2_048, 16_000
"""A slow model's window is never cut below the first; one that reads the second in time is not slow."""


def window_from_listing(row: Mapping[str, Any]) -> int | None:
    """Return the smallest number of tokens that the list gives as a model's window; None if it gives none."""
    places = [row, *(row[name] for name in _NESTED_FIELDS if isinstance(row.get(name), Mapping))]
    values = [str(place.get(name)).removesuffix(".0")[:12] for place in places for name in _NAMES]
    sizes = [int(value) for value in values if value.isdecimal() and int(value) >= MIN_WINDOW]
    return min(*sizes, MAX_WINDOW) if sizes else None


def models_from_listing(payload: Any) -> list[ListedModel]:
    """Return the models in a server's answer: a list, bare or in an object, of objects or names. Raises TypeError."""
    items = _list_in(payload)
    if items is None:
        if not (isinstance(payload, Mapping) and payload.get("object") == "list"):  # Ollama without models
            raise TypeError("this is no list of models")
        items = []
    models: dict[str, ListedModel] = {}
    for item in items:
        row = item if isinstance(item, Mapping) else {"id": item}
        name = _name_of(row)
        created = row.get("created")
        if name and name not in models:
            created_at = created if isinstance(created, int) else 0
            models[name] = ListedModel(name, window_from_listing(row), created_at)
    return list(models.values())


def _list_in(payload: Any) -> list[Any] | None:
    """Return the list of models in an answer: under its usual names, or under another in which something is named."""
    if isinstance(payload, list):
        return payload
    if not isinstance(payload, Mapping) or payload.get("error"):
        return None
    for name in ("data", "models"):
        if isinstance(rows := payload.get(name), list):
            return rows
        if isinstance(rows, Mapping) and rows and all(isinstance(row, Mapping) for row in rows.values()):
            return [{"id": key, **row} for key, row in rows.items()]
    inner = filter(None, map(_list_in, payload.values()))
    return next((rows for rows in inner if any(isinstance(row, Mapping) and _name_of(row) for row in rows)), None)


def _name_of(row: Mapping[str, Any]) -> str | None:
    names = (row.get(field) for field in ("id", "model", "name", "model_name", "key", "slug"))
    return next((name.strip() for name in names if isinstance(name, str) and name.strip()), None)


def next_page(payload: Any) -> str:
    """Return the id that the next page follows; empty on the last page."""
    more = isinstance(payload, Mapping) and payload.get("has_more") is True
    return str(payload.get("last_id") or "") if more else ""


def stored_window(result: Mapping[str, Any] | None, model: str) -> int | None:
    """Return a model's window as the last test found it: listed, or what the server loads this model or others with."""
    listed, loaded = ((result or {}).get(name) or {} for name in ("windows", "loaded"))
    windows = [listed.get(model), loaded.get(model) or min(loaded.values(), default=None)]
    return min((window for window in windows if isinstance(window, int)), default=None)


def stored_speed(result: Mapping[str, Any] | None, kind: str) -> float | None:
    """Return how many tokens a second the server read (`prompt`) or wrote (`generation`) when it was tested."""
    speed = (result or {}).get("speed")
    value = speed.get(kind) if isinstance(speed, Mapping) else None
    return float(value) if isinstance(value, (int, float)) and value > 0 else None


ANSWER_TOKENS, LONGEST_ANSWER = 2_000, 3_600.0
"""What a slow model may write for background work, about, and the seconds it may take for that at most."""


def answer_seconds(result: Mapping[str, Any] | None) -> float:
    """Return how long a server that a test found to be so fast may take for background work; 0 if it did not tell."""
    reads, writes = stored_speed(result, "prompt"), stored_speed(result, "generation")
    if not (reads and writes):
        return 0.0
    return min(LONGEST_ANSWER, SLACK * (SMALLEST_BUDGET / reads + ANSWER_TOKENS / writes))


def is_slow(prompt_speed: float | None) -> bool:
    """Return whether a model that reads so many tokens a second, if known, cannot read a usual prompt in time."""
    return prompt_speed is not None and prompt_speed * READING_SECONDS < LARGEST_BUDGET


def budget(window: int | None, prompt_speed: float | None) -> int | None:
    """Return the most tokens of a window to use with a model that reads so many a second; None for the usual number."""
    if prompt_speed is None or not is_slow(prompt_speed):
        return window
    readable = max(SMALLEST_BUDGET, round(prompt_speed * READING_SECONDS))
    return min(window, readable) if window else readable
