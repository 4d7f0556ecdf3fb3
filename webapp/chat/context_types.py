"""What goes into the context of a reply and what comes out: plain values, no behaviour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from webapp.chat.budget import Limits


@dataclass(frozen=True, slots=True)
class Message:
    """A stored message; `id` orders the conversation."""

    id: int
    role: str
    content: str
    status: str = "complete"
    superseded: bool = False


@dataclass(frozen=True, slots=True)
class Chunk:
    """The summary of messages `start` to `end` (message ids, both included). Stale ones are not to be passed."""

    id: int
    content: str
    start: int
    end: int
    made_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Known:
    """A memory that is in every prompt; `group` is one of profile, pinned, fact, space."""

    id: int
    content: str
    revision: int = 1
    group: str = "fact"
    importance: float = 0.5


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact about the person of a legacy: its line in the prompt, and in it what the memory says."""

    id: int
    line: str
    revision: int = 1
    content: str = ""
    is_others: bool = False


@dataclass(frozen=True, slots=True)
class Retrieved:
    """A passage found for this turn; `kind` is memory, chunk, message or document, `source` is shown to the model."""

    kind: str
    id: int
    content: str
    score: float = 0.0
    reason: str = ""
    revision: int | None = None
    source: str = ""


@dataclass(frozen=True, slots=True)
class ContextInput:
    """Everything a prompt is made of; `retrieved` best first, `directive` the task of a turn the assistant starts."""

    prompt: str
    messages: Sequence[Message] = ()
    space_instructions: str = ""
    custom_instructions: str = ""
    known: Sequence[Known] = ()
    facts: Sequence[Fact] = ()
    facts_heading: str = ""
    chunks: Sequence[Chunk] = ()
    retrieved: Sequence[Retrieved] = ()
    directive: str = ""
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the prompt with the tokens it took and might have taken; `items` is how many it holds."""

    name: str
    tokens: int
    budget: int
    items: int


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something that is not in the prompt as it stands, and why."""

    kind: str
    id: int
    section: str
    tokens: int
    reason: str


@dataclass(frozen=True, slots=True)
class ReceiptItem:
    """A memory or passage that was looked at for this prompt; `injected` tells whether the model saw it."""

    kind: str
    id: int
    revision: int | None
    stage: str
    rank: int
    score: float
    reason: str
    injected: bool


@dataclass(frozen=True, slots=True)
class Context:
    """A prompt ready to send, with its account. `verbatim` are the ids of the messages shown in full."""

    messages: list[dict[str, str]]
    sections: list[Section]
    left_out: list[LeftOut]
    receipt: list[ReceiptItem]
    verbatim: list[int]
    tokens: int
    budget: int
