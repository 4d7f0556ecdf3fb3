"""Journeys, points, what is known of them, and their summaries; the journey of a conversation

Revision ID: 0006
Revises: 0005
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

from migrations.columns import Key, Timestamp, current_timestamp

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

OPTIONS = {"mysql_charset": "utf8mb4", "mysql_engine": "InnoDB"}
NEVER_TWICE = {"sqlite_autoincrement": True}
GUIDANCE = ("elicitation_goals", "example_questions", "completion_criteria", "suggested_questions", "semantic_keywords")


def _cascade(table: str, column: str, to: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [f"{to}.{column}"], name=f"fk_{table}_{column}", ondelete="CASCADE")


def _times() -> list[sa.Column]:
    return [
        sa.Column(name, Timestamp, nullable=False, server_default=current_timestamp())
        for name in ("created_at", "updated_at")
    ]


def upgrade() -> None:
    op.create_table(
        "journeys",
        sa.Column("journey_id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("slug", Key(100), nullable=False),
        sa.Column("title", sa.String(255), nullable=False),
        sa.Column("description", sa.Text, nullable=False),
        sa.Column("system_prompt", sa.Text, nullable=False),
        sa.Column("position", sa.Integer, nullable=False, server_default=sa.text("0")),
        sa.Column("source_hash", Key(64), nullable=False),
        sa.Column("is_archived", sa.Boolean, nullable=False, server_default=sa.text("0")),
        *_times(),
        sa.UniqueConstraint("slug", name="uq_journeys_slug"),
        **OPTIONS,
        **NEVER_TWICE,
    )
    op.create_table(
        "conversation_points",
        sa.Column("point_id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("journey_id", sa.Integer, nullable=False),
        sa.Column("slug", Key(100), nullable=False),
        sa.Column("title", sa.String(255), nullable=False),
        sa.Column("description", sa.Text, nullable=False),
        sa.Column("curiosity_prompt", sa.Text, nullable=False),
        sa.Column("system_message_template", sa.Text, nullable=False),
        *(sa.Column(name, sa.JSON, nullable=False) for name in GUIDANCE),
        sa.Column("confidence_threshold", sa.Double, nullable=False, server_default=sa.text("0.7")),
        sa.Column("position", sa.Integer, nullable=False, server_default=sa.text("0")),
        sa.Column("is_archived", sa.Boolean, nullable=False, server_default=sa.text("0")),
        *_times(),
        _cascade("conversation_points", "journey_id", "journeys"),
        sa.UniqueConstraint("journey_id", "slug", name="uq_conversation_points_journey_id_slug"),
        **OPTIONS,
        **NEVER_TWICE,
    )
    op.create_table(
        "point_memories",
        sa.Column("point_memory_id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("user_id", sa.Integer, nullable=False),
        sa.Column("journey_id", sa.Integer, nullable=False),
        sa.Column("point_id", sa.Integer, nullable=False),
        sa.Column("is_addressed", sa.Boolean, nullable=False, server_default=sa.text("0")),
        sa.Column("confidence_score", sa.Double, nullable=False, server_default=sa.text("0")),
        sa.Column("evidence_count", sa.Integer, nullable=False, server_default=sa.text("0")),
        sa.Column("first_addressed_at", Timestamp),
        sa.Column("last_analyzed_at", Timestamp),
        sa.Column("message_count_analyzed", sa.Integer, nullable=False, server_default=sa.text("0")),
        sa.Column("manually_initiated", sa.Boolean, nullable=False, server_default=sa.text("0")),
        sa.Column("confirmed_at", Timestamp),
        sa.Column("dismissed_memory_ids", sa.JSON),
        sa.Column("updated_at", Timestamp, nullable=False, server_default=current_timestamp()),
        _cascade("point_memories", "user_id", "users"),
        _cascade("point_memories", "journey_id", "journeys"),
        _cascade("point_memories", "point_id", "conversation_points"),
        sa.UniqueConstraint("user_id", "point_id", name="uq_point_memories_user_id_point_id"),
        **OPTIONS,
        **NEVER_TWICE,
    )
    op.create_index("ix_point_memories_journey", "point_memories", ["journey_id", "user_id"])
    op.create_index("ix_point_memories_point_id", "point_memories", ["point_id"])
    op.create_table(
        "point_evidence",
        sa.Column("evidence_id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("point_memory_id", sa.Integer, nullable=False),
        sa.Column("message_id", sa.Integer),
        sa.Column("memory_id", sa.Integer),
        sa.Column("quote", sa.Text, nullable=False),
        sa.Column("start", sa.Integer),
        sa.Column("end", sa.Integer),
        sa.Column("said_at", Timestamp, nullable=False, server_default=current_timestamp()),
        sa.Column("extracted_points", sa.JSON, nullable=False),
        sa.Column("structured_data", sa.JSON, nullable=False),
        _cascade("point_evidence", "point_memory_id", "point_memories"),
        _cascade("point_evidence", "message_id", "messages"),
        _cascade("point_evidence", "memory_id", "memories"),
        sa.UniqueConstraint("point_memory_id", "message_id", "start", "end", name="uq_point_evidence_span"),
        **OPTIONS,
        **NEVER_TWICE,
    )
    op.create_index("ix_point_evidence_message_id", "point_evidence", ["message_id"])
    op.create_index("ix_point_evidence_memory_id", "point_evidence", ["memory_id"])
    op.create_table(
        "conversation_reports",
        sa.Column("report_id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("conversation_id", sa.Integer, nullable=False),
        sa.Column("source_hash", Key(64), nullable=False, server_default=""),
        sa.Column("evidence_count", sa.Integer, nullable=False, server_default=sa.text("0")),
        sa.Column("pdf", sa.LargeBinary().with_variant(mysql.MEDIUMBLOB(), "mysql", "mariadb"), nullable=False),
        *_times(),
        _cascade("conversation_reports", "conversation_id", "conversations"),
        sa.UniqueConstraint("conversation_id", name="uq_conversation_reports_conversation_id"),
        **OPTIONS,
        **NEVER_TWICE,
    )
    op.create_table(
        "report_evidence",
        sa.Column("report_id", sa.Integer, nullable=False),
        sa.Column("evidence_id", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("report_id", "evidence_id", name="pk_report_evidence"),
        _cascade("report_evidence", "report_id", "conversation_reports"),
        _cascade("report_evidence", "evidence_id", "point_evidence"),
        **OPTIONS,
    )
    op.create_index("ix_report_evidence_evidence_id", "report_evidence", ["evidence_id"])
    with op.batch_alter_table("conversations") as batch:
        batch.add_column(sa.Column("journey_id", sa.Integer))
        batch.create_foreign_key(
            "fk_conversations_journey_id", "journeys", ["journey_id"], ["journey_id"], ondelete="SET NULL"
        )
        batch.create_index("ix_conversations_journey_id", ["journey_id"])


def downgrade() -> None:
    with op.batch_alter_table("conversations") as batch:
        batch.drop_constraint("fk_conversations_journey_id", type_="foreignkey")
        batch.drop_index("ix_conversations_journey_id")
        batch.drop_column("journey_id")
    for table in (
        "report_evidence",
        "conversation_reports",
        "point_evidence",
        "point_memories",
        "conversation_points",
        "journeys",
    ):
        op.drop_table(table)
