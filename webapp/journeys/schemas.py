"""Requests and responses for journeys and their points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, field_validator, model_validator

from webapp.http.validation import Id, Input, Instant, Line, Lines, ListOut, Output
from webapp.journeys.assessment_merge import Disagreement
from webapp.journeys.point_views import JourneyView, PointView, PrefilledMemory
from webapp.journeys.reports import ReportState

Slug = Annotated[Line, Field(min_length=1, max_length=100)]


class PointAnswer(Input):
    """A user's answer about a point: on a memory offered for it (`memory_id`), an answer (`evidence_id`) or all."""

    answer: Literal["yes", "no", "both"] | None = Field(
        None,
        description="yes: it still holds, or of two answers this one does; no: not for this point, not right, or ask "
        "again; both: answers that seem to disagree both hold.",
    )
    memory_id: Id | None = Field(None, description="One of `prefilled`.")
    evidence_id: Id | None = Field(None, description="One of `evidence`.")
    text: Annotated[Lines, Field(min_length=1, max_length=2_000)] | None = Field(
        None, description="What is right, in the user's words: replaces `evidence_id`, or is added to the others."
    )

    @field_validator("answer", mode="before")
    @classmethod
    def _yes_or_no(cls, value: Any) -> Any:
        return {True: "yes", False: "no"}[value] if isinstance(value, bool) else value

    @model_validator(mode="after")
    def _require_content(self) -> PointAnswer:
        if (self.answer is None) == (self.text is None):
            raise ValueError("either answer or text is needed")
        if self.memory_id is not None and (self.evidence_id is not None or self.answer not in ("yes", "no")):
            raise ValueError("a memory is answered with yes or no, by itself")
        return self


class SummaryQuery(BaseModel):
    format: Literal["pdf", "md", "json"] = "pdf"


class SkipRequest(Input):
    until: Literal["never", "later"] = Field("never", description="later: asked about after all other points.")


class GuideState(Input):
    paused: bool = Field(description="The assistant asks about no point until it is false again.")


class ReopenRequest(Input):
    undo: bool = Field(False, description="Undo the last manual change instead.")


class PointReset(BaseModel):
    conversations_read_again: int


class JourneyOut(Output):
    slug: str
    title: str
    description: str


class PointDefinition(Output):
    slug: str
    title: str
    description: str
    curiosity_prompt: str
    system_message_template: str
    elicitation_goals: list[str]
    example_questions: list[str]
    completion_criteria: list[str]
    suggested_questions: list[str]
    semantic_keywords: list[str]
    confidence_threshold: float


class JourneyDetail(JourneyOut):
    points: list[PointDefinition]


class JourneyList(ListOut):
    journeys: list[JourneyOut]


class PointEvidenceOut(Output):
    evidence_id: int
    quote: str
    message_id: int | None = Field(description="Null for what was confirmed from a memory without a message.")
    conversation_id: int | None
    memory_id: int | None
    said_at: Instant
    from_other_conversation: bool
    question: str | None = Field(description="The assistant's question that a short answer answers.")
    extracted_points: list[str]


class FormerOut(Output):
    text: str
    quote: str
    said_at: Instant
    why: str = Field(description="replaced, not right, or asked again.")


class ConflictOut(BaseModel):
    name: str
    evidence_ids: list[int]
    values: list[str]

    @classmethod
    def of(cls, item: Disagreement) -> ConflictOut:
        return cls(name=item.name, evidence_ids=[item.one, item.other], values=[item.one_says, item.other_says])


class PointOut(PointDefinition):
    is_addressed: bool
    completion: bool = Field(description="The same as `is_addressed`.")
    confidence_score: float
    confidence: float = Field(description="The same as `confidence_score`.")
    extracted_points: list[str]
    relevant_quotes: list[str]
    structured_data: dict[str, Any]
    evidence: list[PointEvidenceOut]
    prefilled: list[PrefilledMemory] = Field(
        description="Memories from elsewhere that are relevant to it, to be confirmed."
    )
    needs_confirmation: bool = Field(
        description="It rests on other conversations or was said long ago, and nobody has confirmed it since."
    )
    faded: list[str] = Field(description="What was said so long ago, for its kind, that it is asked about again.")
    conflicts: list[ConflictOut] = Field(description="Answers that disagree, until the user says which one is right.")
    criteria_met: list[str]
    new_goals: list[str] = Field(description="Goals and criteria added since it was settled.")
    history: list[FormerOut] = Field(description="What was said and has since been replaced.")
    set_aside: Literal["skip", "later"] | None = Field(description="What the user asked for.")
    can_undo: bool
    was_reopened: bool = Field(description="It was addressed, and evidence for it has since been forgotten.")
    first_addressed_at: Instant | None
    last_analyzed_at: Instant | None
    message_count_analyzed: int
    manually_initiated: bool
    is_next: bool

    @classmethod
    def from_view(cls, view: PointView, next_slug: str | None) -> PointOut:
        state = view.state
        return cls.from_row(
            view,
            **PointDefinition.from_row(view.point).model_dump(),
            is_addressed=view.is_settled,
            completion=view.is_settled,
            confidence_score=round(view.confidence, 4),
            confidence=round(view.confidence, 4),
            evidence=[PointEvidenceOut.from_row(item) for item in view.evidence],
            conflicts=[ConflictOut.of(item) for item in view.conflicts],
            history=[FormerOut.from_row(item) for item in view.history],
            first_addressed_at=state.first_addressed_at,
            last_analyzed_at=state.last_analyzed_at,
            message_count_analyzed=state.messages_analyzed,
            is_next=view.point.slug == next_slug,
        )


class Progress(BaseModel):
    addressed: int
    total: int

    @classmethod
    def of(cls, points: Sequence[PointView]) -> Progress:
        return cls(addressed=sum(point.is_settled for point in points), total=len(points))


class ConversationPoints(BaseModel):
    conversation_id: int
    journey: JourneyOut | None = Field(description="Null for a conversation that follows none.")
    points: list[PointOut]
    progress: Progress
    next_point: str | None = Field(description="The point to talk about next; null when all are addressed.")
    all_addressed: bool

    @classmethod
    def of(cls, conversation_id: int, view: JourneyView | None) -> ConversationPoints:
        points = view.points if view else []
        next_slug = view.next_slug if view else None
        return cls(
            conversation_id=conversation_id,
            journey=JourneyOut.from_row(view.journey) if view else None,
            points=[PointOut.from_view(item, next_slug) for item in points],
            progress=Progress.of(points),
            next_point=next_slug,
            all_addressed=view is not None and view.is_complete,
        )


class SummaryStatus(Output):
    ready: bool = Field(description="There is a summary that reflects what is known now.")
    status: str = Field(
        description="ready, pending (being created), stale (created again when it is asked for) or none."
    )
    progress: Progress
    all_addressed: bool
    created_at: Instant | None
    download_url: str | None

    @classmethod
    def of(cls, state: ReportState, url: str) -> SummaryStatus:
        return cls.from_row(
            state,
            ready=state.status == "ready",
            progress=Progress.of(state.view.points),
            all_addressed=state.view.is_complete,
            download_url=url if state.has_content else None,
        )


class SummaryPending(BaseModel):
    ready: bool = False
    status: str = "pending"
