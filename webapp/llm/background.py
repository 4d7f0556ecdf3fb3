"""Completions for background work on whichever server does it now."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from copy import copy
from threading import Lock
from typing import Any, Self

from .capabilities import Capabilities
from .complete import Completion, CompletionClient, SchemaT
from .errors import ModelError
from .settings import ModelSettings, Target

Observe = Callable[[str, Completion, str | None], None]
"""Called with the name and the complete answer of a call, and the id of the model that was chosen for it, if any."""

Note = Callable[[ModelError | None], None]
"""Called with the error of each call, or with None if it was answered."""

Room = Callable[[ModelSettings, float | None], AbstractContextManager[None]]
"""Called with the server of each call, and the tokens it reads a second, if known; the call is made within."""


class BackgroundClient:
    """Used like a `CompletionClient`; `choose` names the model for each call, None the home server with its `model`."""

    def __init__(
        self,
        settings: ModelSettings,
        capabilities: Capabilities | None = None,
        choose: Callable[[], Target | None] = lambda: None,
        observe: Observe | None = None,
        note: Note = lambda _error: None,
        room: Room = lambda _server, _speed: nullcontext(),
    ) -> None:
        self.settings = settings
        self.capabilities = capabilities or Capabilities()
        self._choose, self._observe = choose, observe or (lambda _name, _completion, _target: None)
        self._note, self._room = note, room
        self._clients: dict[ModelSettings, CompletionClient] = {}
        self._lock = Lock()

    def complete_text(self, messages: Any, **options: Any) -> Completion:
        target = self._choose()
        with self._report_outcome(target):
            completion = self._client(target).complete_text(messages, **(options | _model_argument(target)))
        self._observe("text", completion, target.id if target else None)
        return completion

    def complete_structured(
        self, messages: Any, schema: type[SchemaT], name: str, **options: Any
    ) -> tuple[SchemaT, Completion]:
        target = self._choose()
        target_id = target.id if target else None
        try:
            with self._report_outcome(target):
                parsed, completion = self._client(target).complete_structured(
                    messages, schema, name, **(options | _model_argument(target))
                )
        except ModelError as error:
            if error.answer is not None:
                self._observe(name, error.answer, target_id)
            raise
        self._observe(name, completion, target_id)
        return parsed, completion

    def bound_to(self, target: Target) -> Self:
        """Return a client that asks this model, whichever does the background work; the connections are shared."""
        bound = copy(self)
        bound._choose, bound._note = lambda: target, lambda _error: None
        return bound

    def close(self) -> None:
        """Close this process's connections."""
        for client in self._clients.values():
            client.close()

    @contextmanager
    def _report_outcome(self, target: Target | None) -> Iterator[None]:
        server, speed = (target.settings, target.prompt_speed) if target else (self.settings, None)
        try:
            with self._room(server, speed):
                yield
        except ModelError as error:
            self._note(error)
            raise
        self._note(None)

    def _client(self, target: Target | None) -> CompletionClient:
        settings = target.settings if target else self.settings
        with self._lock:
            if settings not in self._clients:
                self._clients[settings] = CompletionClient(settings, self.capabilities)
            return self._clients[settings]


def _model_argument(target: Target | None) -> dict[str, Any]:
    return {"model": target.model} if target else {}
