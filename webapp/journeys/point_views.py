"""What the pages, the API and the prompt are told of a journey: its points, their state and evidence; plain values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from webapp.journeys.guidance import PointGuide
from webapp.journeys.merging import PointState, is_settled, merge_data, merge_texts, next_point
from webapp.journeys.models import ConversationPoint, Journey


@dataclass(frozen=True, slots=True)
class Quote:
    """The user's words in a message, or what they confirmed of a memory (`message_id` is None without a message)."""

    evidence_id: int
    message_id: int | None
    conversation_id: int | None
    memory_id: int | None
    quote: str
    said_at: datetime
    elsewhere: bool
    start: int | None = None
    end: int | None = None
    extracted_points: Sequence[str] = ()
    structured_data: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Prefilled:
    """A memory from another conversation that bears on a point, until the user says whether it still holds."""

    memory_id: int
    content: str
    quote: str | None
    message_id: int | None
    conversation_id: int | None
    said_at: datetime | None


@dataclass(frozen=True, slots=True)
class PointView:
    """A point for one user; `reopened` when evidence has gone since it was addressed."""

    point: ConversationPoint
    state: PointState
    evidence: list[Quote]
    manually_initiated: bool = False
    confirmed_at: datetime | None = None
    reopened: bool = False
    prefilled: list[Prefilled] = field(default_factory=list)

    @property
    def is_settled(self) -> bool:
        """Whether it needs no further talk."""
        return is_settled(self.state, self.point.confidence_threshold)

    @property
    def extracted_points(self) -> list[str]:
        """What was understood, each once."""
        return merge_texts((), (text for item in self.evidence for text in item.extracted_points))

    @property
    def statements(self) -> list[str]:
        """What was understood beyond the quotes: a statement that is no more than one would be shown twice."""
        said = self.quotes
        return merge_texts(said, self.extracted_points)[len(said) :]

    @property
    def quotes(self) -> list[str]:
        """The user's words, each once."""
        return merge_texts((), (item.quote for item in self.evidence))

    @property
    def structured_data(self) -> dict[str, Any]:
        """Named values; the later said counts."""
        merged: dict[str, Any] = {}
        for item in self.evidence:
            merged = merge_data(merged, item.structured_data)
        return merged

    @property
    def to_check(self) -> bool:
        """Whether it rests on other conversations only, and the user has not said that it still holds."""
        return bool(self.evidence) and self.confirmed_at is None and all(item.elsewhere for item in self.evidence)

    @property
    def guide(self) -> PointGuide:
        """What the assistant is told about it."""
        point = self.point
        known = self.extracted_points
        return PointGuide(
            point.title,
            point.description,
            point.system_message_template,
            point.elicitation_goals,
            point.example_questions,
            point.completion_criteria,
            () if self.to_check else known,
            self.quotes,
            [*(known if self.to_check else ()), *(item.content for item in self.prefilled)],
        )


@dataclass(frozen=True, slots=True)
class JourneyView:
    """A journey for one user, as a conversation shows it."""

    journey: Journey
    points: list[PointView]

    @property
    def addressed(self) -> int:
        """How many points are."""
        return sum(view.is_settled for view in self.points)

    @property
    def is_complete(self) -> bool:
        """Whether every point is addressed."""
        return bool(self.points) and self.addressed == len(self.points)

    @property
    def next_slug(self) -> str | None:
        """The point to talk about next."""
        return next_point([(view.point.slug, view.is_settled, view.state.confidence) for view in self.points])

    def view(self, slug: str) -> PointView | None:
        """The point of that slug."""
        return next((view for view in self.points if view.point.slug == slug), None)
