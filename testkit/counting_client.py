"""Counting the model calls of background work."""

from typing import Any

from webapp.llm.complete import Completion, CompletionClient


class CountingClient:
    """A client for background work that counts its calls."""

    def __init__(self, client: CompletionClient) -> None:
        self._client = client
        self.calls: list[tuple[str, int, int]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def complete_structured(self, messages: Any, schema: Any, name: str, **wishes: Any) -> tuple[Any, Completion]:
        """Ask, and note the request's name and tokens."""
        answer, completion = self._client.complete_structured(messages, schema, name, **wishes)
        self._note(name, completion)
        return answer, completion

    def complete_text(self, messages: Any, **wishes: Any) -> Completion:
        """Ask, and note the tokens."""
        completion = self._client.complete_text(messages, **wishes)
        self._note("text", completion)
        return completion

    def _note(self, name: str, completion: Completion) -> None:
        usage = completion.usage
        # A malformed answer is requested again: that is one more request.
        self.calls += [(name, usage.prompt_tokens or 0, usage.completion_tokens or 0)]
        self.calls += [(f"{name}, repaired", 0, 0)] * (usage.requests - 1)
