"""Chat over any number of servers, each with a client, the next model where one fails before its first word."""

import logging
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from .capabilities import Capabilities
from .chat import ChatClient, Message
from .errors import ModelError, ModelUnavailable, RateLimited
from .events import Event, Pause, ReasoningDelta
from .request_format import without_pictures
from .settings import ModelSettings, Target

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ModelSwitched:
    """A model other than the one asked first answers."""

    target: Target
    because: str


class ChatPool:
    """Streams replies from whatever server a target names; used like a `ChatClient`, in one event loop."""

    def __init__(self, settings: ModelSettings, capabilities: Capabilities | None = None) -> None:
        self.settings = settings
        self.capabilities = capabilities or Capabilities()
        self._clients: dict[ModelSettings, ChatClient] = {}

    async def stream(
        self,
        messages: Sequence[Message],
        *,
        targets: Sequence[Target] = (),
        tools: Sequence[dict[str, Any]] | None = None,
        max_tokens: int | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> AsyncGenerator[Event | ModelSwitched, None]:
        """Like `ChatClient.stream`, from the first target that answers, after `ModelSwitched`; without targets, from
        home.

        All share the time for the first word: each half of what is left, the last the rest, one of known speed at least
        what it needs to read the prompt. `parameters` are added to the target's.
        """
        queue: list[Target | None] = [*targets] or [None]
        start = time.monotonic()
        size = prompt_tokens(messages, tools) if any(target and target.prompt_speed for target in queue) else 0
        for number, target in enumerate(queue):
            client = self._client(target)
            following = queue[number + 1] if number + 1 < len(queue) else None
            patience = client.settings.first_token_timeout - (time.monotonic() - start)
            if following:
                patience /= 2
            if target is not None and target.prompt_speed:
                patience = first_token_seconds(size, target.prompt_speed, patience)
            delivered = False
            try:
                events = client.stream(
                    without_pictures(messages) if target is not None and target.sees is False else messages,
                    model=target.model if target else None,
                    tools=tools,
                    max_tokens=max_tokens,
                    parameters={**(target.parameters if target else {}), **(parameters or {})},
                    patience=patience,
                )
                async with aclosing(events):
                    async for event in events:
                        delivered = delivered or not isinstance(event, Pause | ReasoningDelta)
                        yield event
                return
            except ModelError as error:
                if delivered or following is None or not isinstance(error, (ModelUnavailable, RateLimited)):
                    raise
                log.info("model gives way to the next", extra={"code": error.code})
                yield ModelSwitched(following, error.code)

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        for client in self._clients.values():
            await client.aclose()

    def _client(self, target: Target | None) -> ChatClient:
        settings = target.settings if target else self.settings
        if settings not in self._clients:
            self._clients[settings] = ChatClient(settings, self.capabilities)
        return self._clients[settings]


CHARACTERS = 4.0
"""Characters of a token of English prose, by which the speed is measured and a prompt is estimated."""
SLACK = 2.0
"""A prompt may take so many times as long as the measured speed says: the machine does other things, too."""


def prompt_tokens(messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]] | None = None) -> int:
    """Return about how many tokens a request is; pictures do not count."""
    size = sum(_length(message.get("content")) for message in messages) + len(str(list(tools or ())))
    return round(size / CHARACTERS)


def first_token_seconds(tokens: int, speed: float, least: float) -> float:
    """Return how long to wait for a reply's first token to so many, read at `speed` a second; at least `least`."""
    return max(least, SLACK * tokens / speed)


def _length(content: object) -> int:
    if isinstance(content, list):
        return sum(len(str(part.get("text") or "")) for part in content if isinstance(part, dict))
    return len(str(content or ""))
