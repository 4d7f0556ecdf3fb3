"""The time a model takes to read a prompt, by the speed that a test measured; pure."""

from collections.abc import Sequence
from typing import Any

CHARACTERS = 4.0
"""Characters of a token of English prose, by which the speed is measured and a prompt is estimated."""
SLACK = 2.0
"""A prompt may take so many times as long as the measured speed says: the machine does other things, too."""


def prompt_tokens(messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]] | None = None) -> int:
    """Return about how many tokens a request is; pictures do not count."""
    size = sum(_length(message.get("content")) for message in messages) + len(str(list(tools or ())))
    return round(size / CHARACTERS)


def first_token_seconds(tokens: int, speed: float, least: float) -> float:
    """Return how long to wait for the first token of a reply to so many, read at `speed` a second; never under
    `least`."""
    return max(least, SLACK * tokens / speed)


def _length(content: object) -> int:
    if isinstance(content, list):
        return sum(len(str(part.get("text") or "")) for part in content if isinstance(part, dict))
    return len(str(content or ""))
