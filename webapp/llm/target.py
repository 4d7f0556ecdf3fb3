"""The model and server that write a reply."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .settings import ModelSettings


@dataclass(frozen=True, slots=True)
class Target:
    """A model, its server, and what is sent along; `id` is the name under which people chose it.

    `builtin_tools` tells whether arithmetic and dates are offered to it, `sees` whether it accepts pictures, if a test
    found out; `system` is added to the instructions of its conversations.
    """

    id: str
    model: str
    settings: ModelSettings
    parameters: Mapping[str, Any] = field(default_factory=dict)
    context_window: int | None = None
    builtin_tools: bool = True
    sees: bool | None = None
    system: str = ""
    prompt_speed: float | None = None

    @property
    def server(self) -> tuple[object, ...]:
        """Return what identifies the server: targets with the same value share a client."""
        return (self.settings.base_url, self.settings.api_key, self.settings.headers)
