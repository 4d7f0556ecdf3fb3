"""Listening to streams, and settings for the scripted server."""

import asyncio
from typing import Any

from fakemodel.testing import ServerHandle
from webapp.llm.capabilities import Capabilities
from webapp.llm.chat import ChatClient
from webapp.llm.errors import ModelError
from webapp.llm.events import Event, Finish, TextDelta
from webapp.llm.partial_calls import ToolCall
from webapp.llm.settings import ModelSettings

ASK = [{"role": "user", "content": "hello"}]


def settings_for(server: ServerHandle, **changes: Any) -> ModelSettings:
    """Settings for the scripted server; retries come at once."""
    values = {
        "base_url": server.base_url,
        "api_key": "sk-secret-1234",
        "chat_model": "test-chat",
        "background_model": "test-background",
        "embedding_model": "all-minilm-l6-v2",
        "retry_base": 0.01,
    }
    return ModelSettings(**{**values, **changes})


class Heard:
    """What one stream gave: events, and the error it ended with."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.error: ModelError | None = None

    @property
    def text(self) -> str:
        return "".join(event.text for event in self.events if isinstance(event, TextDelta))

    @property
    def calls(self) -> list[ToolCall]:
        return [event for event in self.events if isinstance(event, ToolCall)]

    @property
    def finish(self) -> Finish:
        last = self.events[-1]
        assert isinstance(last, Finish)
        return last


def listen(settings: ModelSettings, capabilities: Capabilities | None = None, times: int = 1, **options: Any) -> Heard:
    """Read `times` streams one after the other to their end; returns the last."""

    async def run() -> Heard:
        client = ChatClient(settings, capabilities)
        heard = Heard()
        try:
            for _ in range(times):
                heard = Heard()
                try:
                    async for event in client.stream(ASK, **options):
                        heard.events.append(event)
                except ModelError as error:
                    heard.error = error
        finally:
            await client.aclose()
        return heard

    return asyncio.run(run())
