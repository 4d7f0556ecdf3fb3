"""Providers that can be connected by name, as `providers.json` lists them; pure."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

_DATA = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
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
