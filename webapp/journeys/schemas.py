"""What comes in and goes out about journeys and their points."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field

from webapp.journeys.models import ConversationPoint, Journey
from webapp.journeys.point_views import JourneyView, PointView, Prefilled, Quote
from webapp.journeys.reports import ReportState
from webapp.validation import Id, Instant, Line

Slug = Annotated[Line, Field(min_length=1, max_length=100)]


class JourneyPath(BaseModel):
    slug: Slug


class GuidedPath(BaseModel):
    conversation_id: Id


class PointPath(BaseModel):
    conversation_id: Id
    point_slug: Slug


class JourneyOut(BaseModel):
    slug: str
    title: str
    description: str

    @classmethod
    def of(cls, row: Journey) -> JourneyOut:
        return cls(slug=row.slug, title=row.title, description=row.description)


class PointDefinition(BaseModel):
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

    @classmethod
    def of(cls, row: ConversationPoint) -> PointDefinition:
        return cls(**{name: getattr(row, name) for name in cls.model_fields})


class JourneyDetail(JourneyOut):
    points: list[PointDefinition]


class JourneyList(BaseModel):
    journeys: list[JourneyOut]


class PointEvidenceOut(BaseModel):
    evidence_id: int
    quote: str
    message_id: int | None = Field(description="Null for what was confirmed from a memory without a message.")
    conversation_id: int | None
    memory_id: int | None
    said_at: Instant
    from_other_conversation: bool

    @classmethod
    def of(cls, item: Quote) -> PointEvidenceOut:
        return cls(
            evidence_id=item.evidence_id,
            quote=item.quote,
            message_id=item.message_id,
            conversation_id=item.conversation_id,
            memory_id=item.memory_id,
            said_at=item.said_at,
            from_other_conversation=item.elsewhere,
        )


class PrefilledOut(BaseModel):
    memory_id: int
    content: str
    quote: str | None
    message_id: int | None
    conversation_id: int | None
    said_at: Instant | None

    @classmethod
    def of(cls, item: Prefilled) -> PrefilledOut:
        return cls(**{name: getattr(item, name) for name in cls.model_fields})


class PointOut(PointDefinition):
    is_addressed: bool
    confidence_score: float
    extracted_points: list[str]
    relevant_quotes: list[str]
    structured_data: dict[str, Any]
    evidence: list[PointEvidenceOut]
    prefilled: list[PrefilledOut] = Field(description="Memories from elsewhere that bear on it, to be confirmed.")
    needs_confirmation: bool = Field(description="It rests on other conversations, and nobody said it still holds.")
    was_reopened: bool = Field(description="It was addressed, and evidence of it was forgotten since.")
    first_addressed_at: Instant | None
    last_analyzed_at: Instant | None
    message_count_analyzed: int
    manually_initiated: bool
    is_next: bool

    @classmethod
    def from_view(cls, view: PointView, next_slug: str | None) -> PointOut:
        state = view.state
        return cls(
            **PointDefinition.of(view.point).model_dump(),
            is_addressed=view.is_settled,
            confidence_score=round(state.confidence, 4),
            extracted_points=view.extracted_points,
            relevant_quotes=view.quotes,
            structured_data=view.structured_data,
            evidence=[PointEvidenceOut.of(item) for item in view.evidence],
            prefilled=[PrefilledOut.of(item) for item in view.prefilled],
            needs_confirmation=view.to_check,
            was_reopened=view.reopened,
            first_addressed_at=state.first_addressed_at,
            last_analyzed_at=state.last_analyzed_at,
            message_count_analyzed=state.messages_analyzed,
            manually_initiated=view.manually_initiated,
            is_next=view.point.slug == next_slug,
        )


class Progress(BaseModel):
    addressed: int
    total: int


class ConversationPoints(BaseModel):
    conversation_id: int
    journey: JourneyOut | None = Field(description="Null for a conversation that follows none.")
    points: list[PointOut]
    progress: Progress
    next_point: str | None = Field(description="The point to talk about next; null when all are addressed.")
    all_addressed: bool

    @classmethod
    def of(cls, conversation_id: int, view: JourneyView | None) -> ConversationPoints:
        if view is None:
            return cls(
                conversation_id=conversation_id,
                journey=None,
                points=[],
                progress=Progress(addressed=0, total=0),
                next_point=None,
                all_addressed=False,
            )
        return cls(
            conversation_id=conversation_id,
            journey=JourneyOut.of(view.journey),
            points=[PointOut.from_view(item, view.next_slug) for item in view.points],
            progress=Progress(addressed=view.addressed, total=len(view.points)),
            next_point=view.next_slug,
            all_addressed=view.is_complete,
        )


class SummaryStatus(BaseModel):
    ready: bool = Field(description="A summary is there that says what is known now.")
    status: str = Field(description="ready, pending (being made), stale (asking for it makes it anew) or none.")
    progress: Progress
    all_addressed: bool
    created_at: Instant | None
    download_url: str | None

    @classmethod
    def of(cls, state: ReportState, url: str) -> SummaryStatus:
        return cls(
            ready=state.ready,
            status=state.status,
            progress=Progress(addressed=state.addressed, total=state.total),
            all_addressed=state.is_complete,
            created_at=state.created_at,
            download_url=url if state.has_content else None,
        )


class SummaryPending(BaseModel):
    ready: bool = False
    status: str = "pending"
