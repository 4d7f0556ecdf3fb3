"""Journeys, their versions, and what conversations on them came to."""

import sqlalchemy as sa
from sqlalchemy.dialects import mysql

from migrations.columns import Key, Timestamp, current_timestamp
from migrations.tables.first import belongs_to, table

table(
    "journeys",
    sa.Column("journey_id", sa.Integer, primary_key=True),
    sa.Column("slug", Key(100), nullable=False),
    sa.Column("title", sa.String(255), nullable=False),
    sa.Column("description", sa.Text, nullable=False),
    sa.Column("system_prompt", sa.Text, nullable=False),
    sa.Column("position", sa.Integer, nullable=False, server_default=sa.text("0")),
    sa.Column("source_hash", Key(64), nullable=False),
    sa.Column("is_archived", sa.Boolean, nullable=False, server_default=sa.text("0")),
    sa.Column("owner_id", sa.Integer),
    sa.Column("source", sa.String(10), nullable=False, server_default="file"),
    sa.Column("front_page", sa.String(255)),
    sa.Column("published_version", sa.Integer),
    sa.Column("draft", sa.JSON),
    sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.Column("updated_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.UniqueConstraint("slug"),
)

table(
    "conversation_points",
    sa.Column("point_id", sa.Integer, primary_key=True),
    belongs_to("journey_id", "journeys.journey_id"),
    sa.Column("slug", Key(100), nullable=False),
    sa.Column("title", sa.String(255), nullable=False),
    sa.Column("description", sa.Text, nullable=False),
    sa.Column("curiosity_prompt", sa.Text, nullable=False),
    sa.Column("system_message_template", sa.Text, nullable=False),
    sa.Column("elicitation_goals", sa.JSON, nullable=False),
    sa.Column("example_questions", sa.JSON, nullable=False),
    sa.Column("completion_criteria", sa.JSON, nullable=False),
    sa.Column("suggested_questions", sa.JSON, nullable=False),
    sa.Column("semantic_keywords", sa.JSON, nullable=False),
    sa.Column("confidence_threshold", sa.Double, nullable=False, server_default=sa.text("0.7")),
    sa.Column("keeps", sa.String(10)),
    sa.Column("position", sa.Integer, nullable=False, server_default=sa.text("0")),
    sa.Column("is_archived", sa.Boolean, nullable=False, server_default=sa.text("0")),
    sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.Column("updated_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.UniqueConstraint("journey_id", "slug"),
)

table(
    "journey_versions",
    sa.Column("version_id", sa.Integer, primary_key=True),
    belongs_to("journey_id", "journeys.journey_id"),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("definition", sa.JSON, nullable=False),
    sa.Column("author_id", sa.Integer),
    sa.Column("created_at", Timestamp, nullable=False),
    sa.UniqueConstraint("journey_id", "number", name="uq_journey_versions_number"),
)

table(
    "conversation_reports",
    sa.Column("report_id", sa.Integer, primary_key=True),
    belongs_to("conversation_id", "conversations.conversation_id"),
    sa.Column("source_hash", Key(64), nullable=False, server_default=""),
    sa.Column("evidence_count", sa.Integer, nullable=False, server_default=sa.text("0")),
    sa.Column("pdf", sa.LargeBinary().with_variant(mysql.MEDIUMBLOB(), "mysql", "mariadb"), nullable=False),
    sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.Column("updated_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.UniqueConstraint("conversation_id"),
)

table(
    "journey_guides",
    belongs_to("conversation_id", "conversations.conversation_id", is_key=True),
    sa.Column("point_id", sa.Integer),
    sa.Column("is_paused", sa.Boolean, nullable=False, server_default=sa.text("0")),
    sa.Column("report_due", sa.Boolean, nullable=False, server_default=sa.text("0")),
    sa.Index("ix_journey_guides_report", "report_due"),
)

table(
    "point_memories",
    sa.Column("point_memory_id", sa.Integer, primary_key=True),
    belongs_to("user_id", "users.user_id"),
    belongs_to("journey_id", "journeys.journey_id"),
    belongs_to("point_id", "conversation_points.point_id"),
    sa.Column("is_addressed", sa.Boolean, nullable=False, server_default=sa.text("0")),
    sa.Column("confidence_score", sa.Double, nullable=False, server_default=sa.text("0")),
    sa.Column("evidence_count", sa.Integer, nullable=False, server_default=sa.text("0")),
    sa.Column("first_addressed_at", Timestamp),
    sa.Column("last_analyzed_at", Timestamp),
    sa.Column("message_count_analyzed", sa.Integer, nullable=False, server_default=sa.text("0")),
    sa.Column("manually_initiated", sa.Boolean, nullable=False, server_default=sa.text("0")),
    sa.Column("confirmed_at", Timestamp),
    sa.Column("dismissed_memory_ids", sa.JSON),
    sa.Column("set_aside", sa.String(10)),
    sa.Column("set_aside_at", Timestamp),
    sa.Column("settled_for", sa.JSON),
    sa.Column("settled_conflicts", sa.JSON),
    sa.Column("before_change", sa.JSON),
    sa.Column("updated_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.UniqueConstraint("user_id", "point_id"),
    sa.Index("ix_point_memories_journey", "journey_id", "user_id"),
    sa.Index("ix_point_memories_point_id", "point_id"),
)

table(
    "point_vectors",
    belongs_to("point_id", "conversation_points.point_id", is_key=True),
    sa.Column("model", sa.String(100), nullable=False),
    sa.Column("digest", sa.String(64), nullable=False),
    sa.Column("vectors", sa.LargeBinary().with_variant(mysql.MEDIUMBLOB(), "mysql", "mariadb"), nullable=False),
)

table(
    "point_evidence",
    sa.Column("evidence_id", sa.Integer, primary_key=True),
    belongs_to("point_memory_id", "point_memories.point_memory_id"),
    sa.Column("message_id", sa.Integer, sa.ForeignKey("messages.message_id", ondelete="CASCADE")),
    sa.Column("memory_id", sa.Integer, sa.ForeignKey("memories.memory_id", ondelete="CASCADE")),
    sa.Column("quote", sa.Text, nullable=False),
    sa.Column("start", sa.Integer),
    sa.Column("end", sa.Integer),
    sa.Column("said_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.Column("extracted_points", sa.JSON, nullable=False),
    sa.Column("structured_data", sa.JSON, nullable=False),
    sa.Column("question", sa.Text),
    sa.Column("criteria", sa.JSON),
    sa.Column("retired", sa.JSON),
    sa.Column("retired_at", Timestamp),
    sa.Column("retired_why", sa.String(20)),
    sa.UniqueConstraint("point_memory_id", "message_id", "start", "end", name="uq_point_evidence_span"),
    sa.Index("ix_point_evidence_memory_id", "memory_id"),
    sa.Index("ix_point_evidence_message_id", "message_id"),
)

table(
    "report_evidence",
    belongs_to("report_id", "conversation_reports.report_id"),
    belongs_to("evidence_id", "point_evidence.evidence_id"),
    sa.PrimaryKeyConstraint("report_id", "evidence_id", name="pk_report_evidence"),
    sa.Index("ix_report_evidence_evidence_id", "evidence_id"),
)
