"""The process's model clients, created from the settings; what a server accepts is shared through Redis."""

import time
from collections.abc import Callable
from functools import partial

from flask import Flask

from webapp.config import Settings
from webapp.extensions import Part, redis
from webapp.llm.background import BackgroundClient, Note, Observe
from webapp.llm.capabilities import Capabilities
from webapp.llm.embeddings import Embedder, OpenAIEmbedder
from webapp.llm.packaged_models import Embeddings, packaged_embedder
from webapp.llm.pool import ChatPool
from webapp.llm.settings import Target
from webapp.providers.catalogue import (
    background_target,
    cached_embeddings,
    catalogue,
    chosen_embeddings,
    environment_embeds,
)
from webapp.providers.server_models import is_slow
from webapp.telemetry.spans import TracedChat, TracedCompletions

IDLE_SECONDS = 60.0
"""How long background work waits for a slow model that writes a reply; then it goes on all the same."""
POLL_SECONDS = 1.0


# The client for background work.
completions: Part[BackgroundClient] = Part("completions")
# Makes a client for the calling event loop.
chat_client: Part[Callable[[], ChatPool]] = Part("chat_client")
# What makes vectors: the model server, a connection chosen by an admin, or this process.
embeddings: Part[Embeddings] = Part("embedder")


def embedder() -> Embedder:
    """Return what makes vectors now; callers that store them call this once, as the choice may change."""
    return embeddings().now()


def idle_target(is_answering: Callable[[], bool]) -> Target | None:
    """Return the model for background work; a slow one once no reply is being written."""
    target = background_target()
    if target is None or not is_slow(target.prompt_speed):
        return target
    until = time.monotonic() + IDLE_SECONDS
    while is_answering() and time.monotonic() < until:
        time.sleep(POLL_SECONDS)
    return target


def init_models(
    app: Flask, settings: Settings, *, observe: Observe, note: Note, is_answering: Callable[[], bool]
) -> None:
    """Create the clients: `observe` gets each answer to background work, `note` its error or None; a slow model waits
    while `is_answering`."""
    capabilities = Capabilities(redis.of(app))
    choose = partial(idle_target, is_answering)
    completions.put(app, TracedCompletions(settings.model, capabilities, choose, observe, note))
    chat_client.put(app, lambda: TracedChat(settings.model, capabilities))
    # Until a model is connected nobody has said where vectors come from.
    name = "local" if settings.offline_model and settings.embedder == "server" else settings.embedder
    home = packaged_embedder(name, settings.embedder_socket) or OpenAIEmbedder(settings.model, capabilities)
    stand_in = None if environment_embeds(settings) else packaged_embedder("local", settings.embedder_socket)
    embeddings.put(
        app,
        Embeddings(
            home, capabilities, chosen_embeddings, cached_embeddings, lambda: catalogue.last_read.servers, stand_in
        ),
    )
