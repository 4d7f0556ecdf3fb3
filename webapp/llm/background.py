"""Completions for background work on whatever server does it now."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any

from .capabilities import Capabilities
from .complete import Completion, CompletionClient, SchemaT
from .settings import ModelSettings
from .target import Target

Observe = Callable[[str, Completion], None]


class BackgroundClient:
    """Used like a `CompletionClient`; `choose` names the model for each call, None stands for the server at home.

    A `model` asked for is one of the server at home: another server gets the model that was chosen there.
    """

    def __init__(
        self,
        settings: ModelSettings,
        capabilities: Capabilities | None = None,
        choose: Callable[[], Target | None] = lambda: None,
        observe: Observe | None = None,
    ) -> None:
        self.settings = settings
        self.capabilities = capabilities or Capabilities()
        self._choose, self._observe = choose, observe
        self._clients: dict[tuple[object, ...], CompletionClient] = {}
        self._home = CompletionClient(settings, self.capabilities, observe)
        self._lock = Lock()

    def complete_text(self, messages: Any, **wishes: Any) -> Completion:
        """As `CompletionClient.complete_text`."""
        client, named = self._client()
        return client.complete_text(messages, **(wishes | named))

    def complete_structured(
        self, messages: Any, schema: type[SchemaT], name: str, **wishes: Any
    ) -> tuple[SchemaT, Completion]:
        """As `CompletionClient.complete_structured`."""
        client, named = self._client()
        return client.complete_structured(messages, schema, name, **(wishes | named))

    def close(self) -> None:
        """Close this process's connections."""
        for client in (self._home, *self._clients.values()):
            client.close()

    def _client(self) -> tuple[CompletionClient, dict[str, Any]]:
        target = self._choose()
        if target is None or target.settings == self.settings:
            return self._home, {}
        with self._lock:
            client = self._clients.get(target.server)
            if client is None:
                client = CompletionClient(target.settings, self.capabilities, self._observe)
                self._clients[target.server] = client
        return client, {"model": target.model}
