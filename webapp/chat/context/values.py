"""Plain values of a prompt: budgets of its sections within the model's window, and what they are filled from; pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, NamedTuple

from webapp.chat.context.segments import Line, PromptMessage, Segment
from webapp.files.picture import Picture
from webapp.legacies.fact_list import KnownFact
from webapp.memories.schemas import KnownItem
from webapp.retrieval.passages import ReceiptItem

MESSAGE_OVERHEAD = 4
"""Tokens that chat templates spend on a message's role and delimiters."""
MINIMUM_BUDGET = 256
"""Prompt tokens below which no sensible prompt can be made."""
SECTIONS: dict[str, tuple[float, int | None]] = {
    "instructions": (0.30, None),
    "standing": (0.06, 600),
    "known": (0.10, 1_500),
    "facts": (0.15, 6_000),
    "summaries": (0.20, 3_000),
    "retrieved": (0.15, None),
}
"""The share of a prompt that each section may take, and the most tokens; those for what is retrieved are a setting."""


class BudgetTooSmall(ValueError):
    """The model's window leaves fewer than MINIMUM_BUDGET tokens for the prompt."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Tokens a prompt and each of its sections may take: the smaller of the section's cap and its share of the prompt.

    What a section leaves goes to the messages, except what is kept for retrieved items, so that the history stays put.
    """

    window: int = 8192
    reply: int = 1024
    tools: int = 0
    retrieved: int = 1500

    def __post_init__(self) -> None:
        """Raise BudgetTooSmall when too few tokens are left for the prompt."""
        if self.prompt < MINIMUM_BUDGET:
            raise BudgetTooSmall(f"{self.prompt} tokens are left for the prompt, at least {MINIMUM_BUDGET} are needed")

    @property
    def prompt(self) -> int:
        """Return the tokens left for the prompt."""
        return self.window - min(self.reply, self.window // 3) - self.tools

    @property
    def step(self) -> int:
        """Return the tokens by whose multiples a history that does not fit is cut, to begin alike for a while."""
        return max(1, self.prompt // 4)

    def of(self, section: str) -> int:
        """Return the token budget of `instructions`, `standing`, `known`, `facts`, `summaries` or `retrieved`."""
        share, most = SECTIONS[section]
        tokens = int(self.prompt * share)
        most = self.retrieved if section == "retrieved" else most
        return tokens if most is None else min(tokens, most)


@dataclass(frozen=True, slots=True)
class Message:
    """A stored message; `id` orders the conversation, `pictures` came with it."""

    id: int
    role: str
    content: str
    status: str = "complete"
    pictures: tuple[Picture, ...] = ()
    is_tainted: bool = False


@dataclass(frozen=True, slots=True)
class Chunk:
    """The valid summary of messages `start` to `end` (ids, inclusive); a `level` above 0 stands for several below."""

    id: int
    content: str
    start: int
    end: int
    made_at: datetime | None = None
    level: int = 0


@dataclass(slots=True)  # not frozen, like FoundPassage
class RetrievedPassage:
    """A passage found for this turn; `kind` is memory, chunk, message or document, `source` is shown to the model.

    For a message, `content` is its piece from `start` to `end` of `length` characters, `core` finds the most telling
    range within the piece, `group` is its conversation and day, and `speaker` who said it.
    """

    kind: str
    id: int
    content: str
    score: float = 0.0
    reason: str = ""
    revision: int | None = None
    source: str = ""
    start: int = 0
    end: int = 0
    length: int = 0
    core: Callable[[], tuple[int, int] | None] | None = field(default=None, compare=False)
    group: int = 0
    speaker: str = ""

    @property
    def is_cut(self) -> bool:
        """Return whether the text is less than the whole passage."""
        return self.start > 0 or self.end < self.length

    @property
    def reduced_to_core(self) -> "RetrievedPassage":
        """Return the passage reduced to its core if it has one."""
        core = self.core() if self.core else None
        if core is None:
            return self
        first, last = core
        return replace(
            self, content=self.content[first:last], start=self.start + first, end=self.start + last, core=None
        )


@dataclass(frozen=True, slots=True)
class ContextInput:
    """Everything a prompt is made of; `retrieved` best first, `directive` the task of a turn the assistant starts.

    `directive_record` is stored in its stead. `files` is in the stable part, `file_pages` with the question.
    """

    prompt: str | Line
    messages: Sequence[Message] = ()
    space_instructions: str = ""
    custom_instructions: str = ""
    standing: Sequence[KnownItem] = ()
    known: Sequence[KnownItem] = ()
    facts: Sequence[KnownFact] = ()
    facts_heading: str = ""
    chunks: Sequence[Chunk] = ()
    retrieved: Sequence[RetrievedPassage] = ()
    directive: str = ""
    directive_record: str | None = None
    files: Segment = Segment("")
    file_pages: Segment = Segment("")
    limits: Limits = field(default_factory=Limits)


class SectionSize(NamedTuple):
    """A part of the prompt with the tokens it took and its budget; `items` is how many it holds."""

    name: str
    tokens: int
    budget: int
    items: int


class Omission(NamedTuple):
    """Something that is not in the prompt in full, and why."""

    kind: str
    id: int
    section: str
    tokens: int
    reason: str


@dataclass(frozen=True, slots=True)
class Context:
    """A prompt and the account of it: `messages` as they are sent, `record()` as they are stored.

    `verbatim` are the ids of messages shown in full, `words` the texts whose URLs a tool may be given; `spare` is how
    many more tokens the conversation may have before its beginning should be summarised.
    """

    made_of: list[PromptMessage]
    sections: list[SectionSize]
    left_out: list[Omission]
    receipt: list[ReceiptItem]
    verbatim: list[int]
    words: list[str]
    tokens: int
    budget: int
    spare: int

    @property
    def messages(self) -> list[dict[str, Any]]:
        """Return the messages as they go to the model."""
        return [message.request_message() for message in self.made_of]

    def record(self) -> list[dict[str, Any]]:
        """Return the messages with a mark in place of each text that is stored elsewhere."""
        return [message.record() for message in self.made_of]


@dataclass(frozen=True, slots=True)
class Step:
    """A pipeline step to be stored, with milliseconds; slow data may be a function, called when it is stored."""

    name: str
    data: dict[str, Any] | Callable[[], dict[str, Any]]
    model: str | None = None
    duration_ms: int | None = None

    @property
    def record(self) -> dict[str, Any]:
        """Return the data, written down."""
        return self.data() if callable(self.data) else self.data
