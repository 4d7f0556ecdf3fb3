"""Journeys and their points, what is known about each point for each user, and the summaries made from it."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, Boolean, Double, Index, LargeBinary, String, Text, UniqueConstraint, text
from sqlalchemy.dialects import mysql
from sqlalchemy.orm import Mapped, mapped_column

from webapp.db.base import Base, now
from webapp.db.columns import Key, Timestamp, belongs_to, current_timestamp, set_at

PDF = LargeBinary().with_variant(mysql.MEDIUMBLOB(), "mysql", "mariadb")
"""Up to 16 MB; a summary takes a few dozen kilobytes."""


class Journey(Base):
    """A guided conversation, as defined by its file or by its author's last published version; archived, not deleted.

    `source` says which of the two; a journey with an owner is theirs alone. `draft` has not been published yet.
    """

    __tablename__ = "journeys"

    journey_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    slug: Mapped[str] = mapped_column(Key(100), unique=True)
    title: Mapped[str] = mapped_column(String(255))
    description: Mapped[str] = mapped_column(Text)
    system_prompt: Mapped[str] = mapped_column(Text)
    position: Mapped[int] = mapped_column(default=0, server_default=text("0"))
    source_hash: Mapped[str] = mapped_column(Key(64))
    is_archived: Mapped[bool] = mapped_column(Boolean, default=False, server_default=text("0"))
    owner_id: Mapped[int | None]
    source: Mapped[str] = mapped_column(String(10), default="file", server_default="file")
    front_page: Mapped[str | None] = mapped_column(String(255))
    published_version: Mapped[int | None]
    draft: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    created_at: Mapped[datetime] = set_at()
    updated_at: Mapped[datetime] = set_at()


class JourneyVersion(Base):
    """A published version: a whole definition, in the form of a journey's file."""

    __tablename__ = "journey_versions"
    __table_args__ = (UniqueConstraint("journey_id", "number", name="uq_journey_versions_number"),)

    version_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    journey_id: Mapped[int] = belongs_to("journeys.journey_id")
    number: Mapped[int]
    definition: Mapped[dict[str, Any]] = mapped_column(JSON)
    author_id: Mapped[int | None]
    created_at: Mapped[datetime] = mapped_column(Timestamp, default=now)


class ConversationPoint(Base):
    """A topic that a journey should cover, with the guidance for the assistant. Removed ones are archived."""

    __tablename__ = "conversation_points"
    __table_args__ = (UniqueConstraint("journey_id", "slug"),)

    point_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    journey_id: Mapped[int] = belongs_to("journeys.journey_id")
    slug: Mapped[str] = mapped_column(Key(100))
    title: Mapped[str] = mapped_column(String(255))
    description: Mapped[str] = mapped_column(Text)
    curiosity_prompt: Mapped[str] = mapped_column(Text)
    system_message_template: Mapped[str] = mapped_column(Text)
    elicitation_goals: Mapped[list[str]] = mapped_column(JSON)
    example_questions: Mapped[list[str]] = mapped_column(JSON)
    completion_criteria: Mapped[list[str]] = mapped_column(JSON)
    suggested_questions: Mapped[list[str]] = mapped_column(JSON)
    semantic_keywords: Mapped[list[str]] = mapped_column(JSON)
    confidence_threshold: Mapped[float] = mapped_column(Double, default=0.7, server_default=text("0.7"))
    keeps: Mapped[str | None] = mapped_column(String(10))
    position: Mapped[int] = mapped_column(default=0, server_default=text("0"))
    is_archived: Mapped[bool] = mapped_column(Boolean, default=False, server_default=text("0"))
    created_at: Mapped[datetime] = set_at()
    updated_at: Mapped[datetime] = set_at()


class PointMemory(Base):
    """A user's knowledge about a point; if fewer than `evidence_count` evidence rows are left, it is open again."""

    __tablename__ = "point_memories"
    __table_args__ = (
        UniqueConstraint("user_id", "point_id"),
        Index("ix_point_memories_journey", "journey_id", "user_id"),
    )

    point_memory_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    user_id: Mapped[int] = belongs_to("users.user_id")
    journey_id: Mapped[int] = belongs_to("journeys.journey_id")
    point_id: Mapped[int] = belongs_to("conversation_points.point_id", index=True)
    is_addressed: Mapped[bool] = mapped_column(Boolean, default=False, server_default=text("0"))
    confidence_score: Mapped[float] = mapped_column(Double, default=0.0, server_default=text("0"))
    evidence_count: Mapped[int] = mapped_column(default=0, server_default=text("0"))
    first_addressed_at: Mapped[datetime | None] = mapped_column(Timestamp)
    last_analyzed_at: Mapped[datetime | None] = mapped_column(Timestamp)
    message_count_analyzed: Mapped[int] = mapped_column(default=0, server_default=text("0"))
    manually_initiated: Mapped[bool] = mapped_column(Boolean, default=False, server_default=text("0"))
    confirmed_at: Mapped[datetime | None] = mapped_column(Timestamp)
    # Memories the user said do not answer this point.
    dismissed_memory_ids: Mapped[list[int] | None] = mapped_column(JSON(none_as_null=True))
    # What the user asked for: not to be asked about it (`skip`), or only after all others (`later`).
    set_aside: Mapped[str | None] = mapped_column(String(10))
    set_aside_at: Mapped[datetime | None] = mapped_column(Timestamp)
    # The goals and criteria of the point when it was settled: anything added since is still to be asked.
    settled_for: Mapped[list[str] | None] = mapped_column(JSON(none_as_null=True))
    # Pairs of evidence that disagree but that the user said are both right.
    settled_conflicts: Mapped[list[list[int]] | None] = mapped_column(JSON(none_as_null=True))
    # The state and the evidence before the user's last change, for its undo.
    before_change: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    updated_at: Mapped[datetime] = set_at()


class PointEvidence(Base):
    """The user's words that a point rests on, understood; deleted with their message or confirmed memory."""

    __tablename__ = "point_evidence"
    __table_args__ = (UniqueConstraint("point_memory_id", "message_id", "start", "end", name="uq_point_evidence_span"),)

    evidence_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    point_memory_id: Mapped[int] = belongs_to("point_memories.point_memory_id")
    message_id: Mapped[int | None] = belongs_to("messages.message_id", index=True)
    memory_id: Mapped[int | None] = belongs_to("memories.memory_id", index=True)
    quote: Mapped[str] = mapped_column(Text)
    start: Mapped[int | None]
    end: Mapped[int | None]
    said_at: Mapped[datetime] = mapped_column(Timestamp, server_default=current_timestamp())
    extracted_points: Mapped[list[str]] = mapped_column(JSON, default=list)
    structured_data: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    # The assistant's question that a short answer answers.
    question: Mapped[str | None] = mapped_column(Text)
    criteria: Mapped[list[str] | None] = mapped_column(JSON(none_as_null=True))
    # Its replaced statements and values, with when and why; below, when all of it was replaced.
    retired: Mapped[list[dict[str, Any]] | None] = mapped_column(JSON(none_as_null=True))
    retired_at: Mapped[datetime | None] = mapped_column(Timestamp)
    retired_why: Mapped[str | None] = mapped_column(String(20))


class PointVectors(Base):
    """The vectors of a point's goals and criteria, to compare memories with; `digest` is of the text and the model."""

    __tablename__ = "point_vectors"

    point_id: Mapped[int] = belongs_to("conversation_points.point_id", primary_key=True)
    model: Mapped[str] = mapped_column(String(200))
    digest: Mapped[str] = mapped_column(String(64))
    vectors: Mapped[bytes] = mapped_column(PDF)


class JourneyGuide(Base):
    """The state of a conversation's guide: the point opened last, whether to stop asking, a `report_due`."""

    __tablename__ = "journey_guides"
    __table_args__ = (Index("ix_journey_guides_report", "report_due"),)

    conversation_id: Mapped[int] = belongs_to("conversations.conversation_id", primary_key=True)
    point_id: Mapped[int | None]
    is_paused: Mapped[bool] = mapped_column(Boolean, default=False, server_default=text("0"))
    report_due: Mapped[bool] = mapped_column(Boolean, default=False, server_default=text("0"))


class ConversationReport(Base):
    """A journey's PDF summary; `source_hash` is of its sources, `evidence_count` the number of its evidence rows."""

    __tablename__ = "conversation_reports"

    report_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    conversation_id: Mapped[int] = belongs_to("conversations.conversation_id", unique=True)
    source_hash: Mapped[str] = mapped_column(Key(64), default="", server_default="")
    evidence_count: Mapped[int] = mapped_column(default=0, server_default=text("0"))
    pdf: Mapped[bytes] = mapped_column(PDF, deferred=True)
    created_at: Mapped[datetime] = set_at()
    updated_at: Mapped[datetime] = set_at()


class ReportEvidence(Base):
    """An evidence row that a report quotes."""

    __tablename__ = "report_evidence"

    report_id: Mapped[int] = belongs_to("conversation_reports.report_id", primary_key=True)
    evidence_id: Mapped[int] = belongs_to("point_evidence.evidence_id", primary_key=True, index=True)
