"""The process's model clients, created from the settings; what a server accepts is shared through Redis."""

from collections.abc import Callable

from flask import Flask

from webapp.config import Settings
from webapp.extensions import Part, redis
from webapp.llm.background import BackgroundClient, Note, Observe
from webapp.llm.capabilities import Capabilities
from webapp.llm.embeddings import Embedder, OpenAIEmbedder
from webapp.llm.packaged_models import Embeddings, packaged_embedder
from webapp.llm.pool import ChatPool
from webapp.providers.catalogue import (
    background_target,
    cached_embeddings,
    catalogue,
    chosen_embeddings,
    environment_sets_embeddings,
    servers_of,
)
from webapp.providers.priority import Priority
from webapp.telemetry.spans import TracedChat, TracedCompletions

# The client for background work.
completions: Part[BackgroundClient] = Part("completions")
# Makes a client for the calling event loop.
chat_client: Part[Callable[[], ChatPool]] = Part("chat_client")
# What makes vectors: the model server, a connection chosen by an admin, or this process.
embeddings: Part[Embeddings] = Part("embedder")


def embedder() -> Embedder:
    """Return what makes vectors now; callers that store them call this once, as the choice may change."""
    return embeddings().now()


def init_models(
    app: Flask, settings: Settings, *, observe: Observe, note: Note, models_answering: Callable[[], set[str | None]]
) -> None:
    """Create the clients: `observe` gets each answer to background work, `note` its error or None; `models_answering`
    returns the ids of the models that write replies now."""
    capabilities = Capabilities(redis.of(app))
    priority = Priority(redis.of(app), capabilities, lambda: servers_of(models_answering()))
    client = TracedCompletions(settings.model, capabilities, background_target, observe, note, priority.after_replies)
    completions.put(app, client)
    chat_client.put(app, lambda: TracedChat(settings.model, capabilities))
    # Until a model is connected nobody has said where vectors come from.
    name = "local" if settings.offline_model and settings.embedder == "server" else settings.embedder
    home = packaged_embedder(name, settings.embedder_socket) or OpenAIEmbedder(settings.model, capabilities)
    stand_in = None if environment_sets_embeddings(settings) else packaged_embedder("local", settings.embedder_socket)
    embeddings.put(
        app,
        Embeddings(
            home, capabilities, chosen_embeddings, cached_embeddings, lambda: catalogue.last_read.servers, stand_in
        ),
    )
