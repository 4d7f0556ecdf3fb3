"""A memory in a prompt: plain values."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KnownItem:
    """A memory for the prompt; `group` is profile, pinned, fact or recent, or how else it got there.

    `author` names the member of the space who shares it; empty for the user's own.
    """

    id: int
    content: str
    revision: int = 1
    group: str = "fact"
    importance: float = 0.5
    author: str = ""
