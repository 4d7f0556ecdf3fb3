"""The result of an extraction, and the parts of later domains in it, which these put into the application."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from webapp.conversations.models import Conversation
from webapp.extensions import Part
from webapp.memories.learning.journey_points import GroundedAssessment
from webapp.memories.learning.prompt import OpenPoint

COUNTS = ("added", "updated", "superseded", "retracted", "merged", "in_review", "overruled", "rejected", "malformed")


@dataclass(frozen=True)
class Result:
    """The result of a run: what it changed, whether it `has_more` to read, and how many `unreadable` messages it
    skipped."""

    change_set_id: int | None = None
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTS, 0))
    reasons: dict[str, int] = field(default_factory=dict)
    title: str | None = None
    has_more: bool = False
    last_id: int = 0
    summary_due: bool = False  # a guided conversation has covered its points
    unreadable: int = 0

    def plus(self, later: "Result") -> "Result":
        """Return both together; the change set is the last one."""
        return Result(
            later.change_set_id or self.change_set_id,
            {name: self.counts.get(name, 0) + later.counts.get(name, 0) for name in self.counts | later.counts},
            {name: self.reasons.get(name, 0) + later.reasons.get(name, 0) for name in self.reasons | later.reasons},
            later.title or self.title,
            later.has_more,
            max(self.last_id, later.last_id),
            self.summary_due or later.summary_due,
            self.unreadable + later.unreadable,
        )


@dataclass(frozen=True)
class Guide:
    """Reports a conversation's open points and, in the same transaction, stores grounded assessments by their keys.

    `store` also gets the number of user messages read, and says whether the journey is complete.
    """

    open_points: Callable[[Conversation], Sequence[OpenPoint]]
    store: Callable[[Conversation, Sequence[int], Sequence[GroundedAssessment], int], bool]


guide: Part[Guide] = Part("guide")


@dataclass(frozen=True)
class Reader:
    """The steps in which a conversation is read, each with one answer of the model.

    `batches` yields what to ask about next, after a message, and, while answers are cut off at once, less of it; `read`
    asks, and stores what was found; `skip` passes over what cannot be asked about. `has_more` and `last_id` of their
    results say whether and where to continue.
    """

    batches: Callable[[int, int | None], Iterator[Any]]
    read: Callable[[Any], Result]
    skip: Callable[[Any], Result]


reader_of: Part[Callable[[Conversation], Reader | None]] = Part("subject_reader")
"""Returns the reader of a conversation that is not about its user; None for one that is."""
