"""The fixtures of the model's clients: they talk to the fake model."""

from tests.llm.conftest import capabilities, completions, running_server, server, settings

__all__ = ["capabilities", "completions", "running_server", "server", "settings"]
