"""The plain data on which the memory engine decides, and the effects that it decides on.

References are database ids, or -1, -2 … for memories that a plan creates. `Close` precedes the `Insert` that succeeds
it, so that the database never sees two facts with one key; its `superseded_by` is set after the last insert.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from functools import cached_property
from typing import Literal

import numpy as np

from webapp.memories.rules.kinds import canonical_fact_key, canonical_value
from webapp.text.canonical import canonical_statement
from webapp.text.provenance import spans_of_others
from webapp.text.quotes import Span

MemoryRef = int
Origin = Literal["user", "extraction", "tool", "import"]
Moment = tuple[datetime, int, int]
_LAST = 2**63


@dataclass(frozen=True)
class SourceMessage:
    """A message as numbered in the model call. Only those of role `user` can be evidence."""

    number: int
    message_id: int
    role: str
    content: str
    said_at: datetime
    spans: tuple[tuple[int, int, str], ...] = ()
    """What the composer or a program said of its parts: start, end, origin."""
    previous: tuple[tuple[int, str], ...] = ()
    """The ids and the words of the versions whose place it took, latest first, if its author edited it."""

    @property
    def versions(self) -> tuple[int, ...]:
        """Return the message's id, and those of the versions whose place it took."""
        return (self.message_id, *(number for number, _ in self.previous))

    @property
    def others(self) -> tuple[Span, ...]:
        """Return the parts that its author did not type."""
        return spans_of_others(self.content, self.spans)


@dataclass(frozen=True)
class Evidence:
    """A verbatim quote: characters `start` to `end` (exclusive) of a user's message."""

    message_id: int
    quote: str
    start: int
    end: int
    said_at: datetime

    @property
    def moment(self) -> Moment:
        """Return when the quote was said, precisely enough to order two statements in one message."""
        return (self.said_at, self.message_id, self.start)

    def overlaps(self, other: "Evidence") -> bool:
        """Return whether both quote the same words of the same message, at least partly."""
        return self.message_id == other.message_id and self.start < other.end and other.start < self.end


@dataclass(frozen=True)
class Draft:
    """The content of a memory before it is stored."""

    memory_type: str
    content: str
    category: str | None = None
    fact_key: str | None = None
    fact_value: str | None = None
    until: date | None = None
    confidence: float = 1.0
    importance: float = 0.5
    origin: Origin = "extraction"

    @property
    def slot(self) -> str | None:
        """Return the slot, which at most one current memory can have; None without a key."""
        return canonical_fact_key(self.fact_key, self.category)

    @property
    def value(self) -> str:
        """Return the comparable value of the slot."""
        return canonical_value(self.fact_value, self.content)


def latest(moments: Iterable[Moment], asserted_at: datetime | None) -> Moment | None:
    """Return when something was last said, or written by hand at `asserted_at`; None if neither is known."""
    moments_of = [] if asserted_at is None else [(asserted_at, _LAST, 0)]
    return max([*moments, *moments_of], default=None)


@dataclass(frozen=True)
class KnownMemory(Draft):
    """A stored memory, closed ones included, with what decisions need to know.

    `asserted_at` is when the user last wrote or edited it by hand; `settled_with` names memories that the user said are
    true as well; `said_before` holds the canonical statements of earlier revisions; `embedding` is a float32 vector.
    """

    ref: MemoryRef = 0
    is_pinned: bool = False
    is_archived: bool = False
    needs_review: bool = False
    edited_by_user: bool = False
    valid_to: datetime | None = None
    superseded_by: MemoryRef | None = None
    contradicts: MemoryRef | None = None
    settled_with: frozenset[MemoryRef] = frozenset()
    said_before: frozenset[str] = frozenset()
    evidence: tuple[Evidence, ...] = ()
    asserted_at: datetime | None = None
    embedding: np.ndarray | None = field(default=None, compare=False, repr=False)

    @property
    def is_open(self) -> bool:
        """Return whether the memory is neither replaced nor retracted."""
        return self.valid_to is None

    @property
    def is_current(self) -> bool:
        """In use: open, not set aside, not waiting for the user. At most one per slot."""
        return self.is_open and not self.is_archived and not self.needs_review

    @property
    def is_protected(self) -> bool:
        """Made, edited or pinned by the user: an extraction may propose against it, never change it."""
        return self.origin == "user" or self.edited_by_user or self.is_pinned

    @property
    def last_moment(self) -> Moment | None:
        """Return when the memory was last said or written."""
        return latest((item.moment for item in self.evidence), self.asserted_at)

    @cached_property
    def form(self) -> str:
        """Return the statement as statements are compared."""
        return canonical_statement(self.content)

    def has_wording(self, form: str) -> bool:
        """Return whether this is its statement, in canonical form, or was before it was reworded."""
        return form == self.form or form in self.said_before

    def rests_on(self, evidence: Evidence) -> bool:
        """Return whether these words are already among its evidence."""
        return any(evidence.overlaps(item) for item in self.evidence)


@dataclass(frozen=True)
class Insert:
    """A new memory. With `overruled_by` it is history from the start: heard, but weaker than what was known."""

    ref: MemoryRef
    draft: Draft
    evidence: tuple[Evidence, ...]
    needs_review: bool = False
    contradicts: MemoryRef | None = None
    overruled_by: MemoryRef | None = None
    embedding: np.ndarray | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class AddEvidence:
    """More evidence for a memory, with its new confidence and last day; `clears_review` ends its wait for the user, and
    brings back one that was set aside unanswered, or for another, or ended."""

    ref: MemoryRef
    evidence: tuple[Evidence, ...]
    confidence: float
    until: date | None = None
    clears_review: bool = False


@dataclass(frozen=True)
class Revise:
    """A new wording of the same memory, as a new revision."""

    ref: MemoryRef
    draft: Draft
    evidence: tuple[Evidence, ...]
    embedding: np.ndarray | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Close:
    """The end of a memory's validity: `superseded_by` another, or retracted by the user in `evidence`."""

    ref: MemoryRef
    at: datetime
    superseded_by: MemoryRef | None = None
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True)
class Flag:
    """A stored memory that waits in review: `contradicts` stays in use, or the user took out what it rests on."""

    ref: MemoryRef
    contradicts: MemoryRef | None = None


Effect = Insert | AddEvidence | Revise | Close | Flag


@dataclass(frozen=True)
class State:
    """The state that `decide` considers: one user, one scope (personal, or one space).

    `memories` must contain, including closed and archived ones: those numbered in the call, those of every slot and
    canonical statement named by an operation, those resting on one of `messages`, and the nearest by embedding.
    `numbered` maps the numbers of the call to references; `embeddings` maps an operation's content to its vector;
    `context` is what the call showed that is not evidence (assistant's replies, memories, documents), `foreign` what of
    it came from outside; `secrets` are quotes that the model calls secrets; `subject` is the name of the person that a
    legacy is about, which a statement may have without being told; `is_trusted`: the model that words the statements
    has passed the exam, so its rewordings count and its changes replace; `is_tainted`: others' words may explain any of
    it, so that all of it waits for the user; `is_forgotten` is `TombstoneSet.forbids`.
    """

    messages: tuple[SourceMessage, ...]
    memories: tuple[KnownMemory, ...] = ()
    numbered: Mapping[int, MemoryRef] = field(default_factory=dict)
    embeddings: Mapping[str, np.ndarray] = field(default_factory=dict)
    context: tuple[str, ...] = ()
    foreign: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    subject: str = ""
    is_trusted: bool = False
    is_tainted: bool = False
    is_forgotten: Callable[[str, str | None, str | None, str | None], bool] = lambda *_: False


def apply_effect(memories: dict[MemoryRef, KnownMemory], effect: Effect) -> None:
    """Carry out one effect on memories by reference, as the service does on rows."""
    if isinstance(effect, Insert):
        memories[effect.ref] = KnownMemory(
            **vars(effect.draft),
            ref=effect.ref,
            needs_review=effect.needs_review,
            contradicts=effect.contradicts,
            valid_to=effect.evidence[0].said_at if effect.overruled_by is not None else None,
            superseded_by=effect.overruled_by,
            evidence=effect.evidence,
            embedding=effect.embedding,
        )
        return
    memory = memories[effect.ref]
    if isinstance(effect, AddEvidence):
        memory = replace(memory, confidence=effect.confidence, until=effect.until)
        if effect.clears_review:
            memory = replace(memory, needs_review=False, contradicts=None)
            memory = replace(memory, is_archived=False, superseded_by=None, valid_to=None)
    elif isinstance(effect, Revise):
        # A rewording does not change the author: what was imported or made by a tool keeps its origin.
        moments = {**vars(effect.draft), "origin": memory.origin}
        memory = replace(memory, **moments, said_before=memory.said_before | {memory.form}, embedding=effect.embedding)
    elif isinstance(effect, Close):
        memory = replace(memory, valid_to=effect.at, superseded_by=effect.superseded_by)
    else:
        memory = replace(memory, needs_review=True, contradicts=effect.contradicts)
    if not isinstance(effect, Flag):
        memory = replace(memory, evidence=memory.evidence + effect.evidence)
    memories[effect.ref] = memory
