"""The process's model clients, made from the settings; what a server accepts is shared through Redis."""

from __future__ import annotations

from flask import Flask, current_app
from redis import Redis

from webapp.config import Settings
from webapp.llm.capabilities import Capabilities
from webapp.llm.chat import ChatClient
from webapp.llm.complete import CompletionClient
from webapp.llm.embeddings import Embedder, OpenAIEmbedder
from webapp.llm.local import LocalEmbedder

_CAPABILITY_SECONDS = 86_400


class RedisCapabilities:
    """Capabilities found out by one process, for all of them."""

    def __init__(self, client: Redis):
        self._client = client

    def get(self, key: str) -> str | None:
        """What is known under a key."""
        value = self._client.get(f"capability:{key}")
        return value.decode() if value else None

    def set(self, key: str, value: str) -> None:
        """Remember it for a day."""
        self._client.set(f"capability:{key}", value, ex=_CAPABILITY_SECONDS)


def init_models(app: Flask, settings: Settings) -> None:
    """Make the clients; none connects before it is used."""
    capabilities = Capabilities(RedisCapabilities(app.extensions["redis"]))
    app.extensions["completions"] = CompletionClient(settings.model, capabilities)
    app.extensions["chat_client"] = lambda: ChatClient(settings.model, capabilities)
    local = settings.embedder == "local"
    app.extensions["embedder"] = LocalEmbedder() if local else OpenAIEmbedder(settings.model, capabilities)


def completions() -> CompletionClient:
    """The client for background work."""
    return current_app.extensions["completions"]


def embedder() -> Embedder:
    """What makes vectors: the model server, or this process."""
    return current_app.extensions["embedder"]
