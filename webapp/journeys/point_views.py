"""Views of a journey for pages, the API and the prompt: its points, their state and evidence; plain values."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from statistics import fmean
from typing import Any

from webapp.http.validation import Instant
from webapp.journeys.assessment_merge import (
    Disagreement,
    PointState,
    Quote,
    disagreements,
    is_settled,
    merge_data,
    merge_texts,
)
from webapp.journeys.models import ConversationPoint, Journey

HALF_LIFE_DAYS: dict[str, float | None] = {"days": 10, "weeks": 45, "months": 200, "years": 1500, "always": None}
"""Days after which what was said is only half as certain."""
STALE = 0.5
"""Below this certainty a fact is asked about again."""
DEFAULT_LIFETIME = "years"
"""How long what was said of a point stays valid if its journey does not say (`keeps`)."""


def freshness(said_at: datetime, moment: datetime, lifetime: str = DEFAULT_LIFETIME) -> float:
    """Return how much of its certainty is left: 1 for what was just said, 0.5 after the half-life."""
    half = HALF_LIFE_DAYS[lifetime]
    if half is None:
        return 1.0
    days = max(0.0, (moment - said_at).total_seconds() / 86_400)
    return float(0.5 ** (days / half))


@dataclass(frozen=True, slots=True)
class PastAnswer:
    """Something that was said but is no longer true."""

    text: str
    quote: str
    said_at: datetime
    retired_at: datetime | None
    why: str


@dataclass(frozen=True, slots=True)
class PrefilledMemory:
    """A memory from another conversation that is relevant to a point, until the user says whether it is still true."""

    memory_id: int
    content: str
    quote: str | None
    message_id: int | None
    conversation_id: int | None
    said_at: Instant | None


@dataclass(frozen=True, slots=True)
class PointView:
    """A point for one user; `was_reopened` after lost evidence, `set_aside` (skip or later) by the user.

    `history` is what was replaced; `at` is the time of the view, on which fading depends.
    """

    point: ConversationPoint
    state: PointState
    evidence: list[Quote]
    at: datetime
    manually_initiated: bool = False
    confirmed_at: datetime | None = None
    was_reopened: bool = False
    prefilled: list[PrefilledMemory] = field(default_factory=list)
    history: list[PastAnswer] = field(default_factory=list)
    set_aside: str | None = None
    settled_for: Sequence[str] | None = None
    settled_conflicts: Sequence[Sequence[int]] = ()
    can_undo: bool = False

    @property
    def is_settled(self) -> bool:
        """Return whether the point needs no more discussion: addressed with confidence, and no goal added since."""
        return is_settled(self.state, self.point.confidence_threshold) and not self.new_goals

    @property
    def is_skipped(self) -> bool:
        """Return whether the user does not want to be asked about it; what they say about it anyway still counts."""
        return self.set_aside == "skip" and not self.is_settled

    @property
    def stage(self) -> str:
        """Return how far the point is: covered, aside (the user does not want it), begun or open."""
        return "covered" if self.is_settled else "aside" if self.is_skipped else "begun" if self.evidence else "open"

    @property
    def new_goals(self) -> list[str]:
        """Return goals and criteria that were added after the point was settled."""
        if self.settled_for is None or not self.state.is_addressed:
            return []
        return [text for text in aims_of(self.point) if text not in self.settled_for]

    @property
    def criteria_met(self) -> list[str]:
        """Return the criteria that the evidence is known to settle."""
        criteria = self.point.completion_criteria
        if self.state.is_addressed and not self.new_goals:
            return list(criteria)
        texts = {text for item in self.evidence for text in item.criteria}
        return [text for text in criteria if text in texts]

    @property
    def conflicts(self) -> list[Disagreement]:
        """Return answers that disagree, until the user says which one is right."""
        return disagreements(self.evidence, self.settled_conflicts)

    @property
    def faded(self) -> list[str]:
        """Return what was said so long ago that it is asked about again."""
        stale = (item for item in self.evidence if self._certainty_of(item) < STALE)
        return merge_texts((), (text for item in stale for text in item.findings))

    @property
    def confidence(self) -> float:
        """Return the current confidence, which decreases with the age of the evidence at the point's rate."""
        certainties = [*map(self._certainty_of, self.evidence)]
        return self.state.confidence * (fmean(certainties) if certainties else 1.0)

    def _certainty_of(self, item: Quote) -> float:
        """Return how much of the certainty of a piece of evidence is left."""
        since = max(item.said_at, self.confirmed_at) if self.confirmed_at else item.said_at
        return freshness(since, self.at, self.point.keeps or DEFAULT_LIFETIME)

    @property
    def extracted_points(self) -> list[str]:
        """Return what was understood, each statement once."""
        return merge_texts((), (text for item in self.evidence for text in item.extracted_points))

    @property
    def statements(self) -> list[str]:
        """Return what was understood, except statements that only repeat a quote, which would be shown twice."""
        quotes = self.relevant_quotes
        return merge_texts(quotes, self.extracted_points)[len(quotes) :]

    @property
    def relevant_quotes(self) -> list[str]:
        """Return the user's words, each once."""
        return merge_texts((), (item.quote for item in self.evidence))

    @property
    def structured_data(self) -> dict[str, Any]:
        """Return named values; the later one counts."""
        merged: dict[str, Any] = {}
        for item in self.evidence:
            merged = merge_data(merged, item.structured_data)
        return merged

    @property
    def needs_confirmation(self) -> bool:
        """Return whether the point rests only on other conversations, or is old, and the user has not confirmed it."""
        return self.is_from_elsewhere or bool(self.faded)

    @property
    def is_from_elsewhere(self) -> bool:
        """Return whether the point rests only on other conversations, and the user has not confirmed it."""
        is_elsewhere = [item.from_other_conversation for item in self.evidence]
        return bool(is_elsewhere) and all(is_elsewhere) and self.confirmed_at is None


@dataclass(frozen=True, slots=True)
class JourneyView:
    """A journey for one user, as a conversation shows it."""

    journey: Journey
    points: list[PointView]

    @property
    def addressed(self) -> int:
        """Return how many points are addressed."""
        return sum(view.is_settled for view in self.points)

    @property
    def progress(self) -> float:
        """Return how much is known, 0..1: the average over the points the user wants; a settled one counts 1."""
        points = [view for view in self.points if not view.is_skipped]
        return sum(1.0 if view.is_settled else view.confidence for view in points) / len(points) if points else 0.0

    @property
    def is_complete(self) -> bool:
        """Return whether some points are addressed and the user does not want to talk about any of the others."""
        count = sum(view.is_settled or view.is_skipped for view in self.points)
        return self.addressed > 0 and count == len(self.points)

    @property
    def next_slug(self) -> str | None:
        """Return the slug of the point to talk about next."""
        view = self.next_point()
        return view.point.slug if view else None

    def next_point(self, but: str | None = None) -> PointView | None:
        """Return the open point to talk about next, except `but`: unknown ones first, those for later last."""
        points = (view for view in self.points if view.point.slug != but and not (view.is_settled or view.is_skipped))
        return min(points, key=lambda view: (view.set_aside == "later", view.state.confidence > 0), default=None)

    def view(self, slug: str) -> PointView | None:
        return next((view for view in self.points if view.point.slug == slug), None)


def aims_of(point: ConversationPoint) -> list[str]:
    """Return a point's goals and completion criteria."""
    return [*point.elicitation_goals, *point.completion_criteria]
