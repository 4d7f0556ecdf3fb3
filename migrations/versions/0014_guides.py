"""Journeys that guide: where a conversation stands, points set aside, answers corrected, journeys written here

Revision ID: 0014
Revises: 0013
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

OPTIONS = {"mysql_charset": "utf8mb4", "mysql_engine": "InnoDB"}
NOW = sa.DateTime().with_variant(mysql.TIMESTAMP(fsp=6), "mysql", "mariadb")
BLOB = sa.LargeBinary().with_variant(mysql.MEDIUMBLOB(), "mysql", "mariadb")


def _added() -> dict[str, list[sa.Column]]:
    return {
        "point_memories": [
            sa.Column("set_aside", sa.String(10)),
            sa.Column("set_aside_at", NOW),
            sa.Column("settled_for", sa.JSON),
            sa.Column("settled_conflicts", sa.JSON),
            sa.Column("before_change", sa.JSON),
        ],
        "point_evidence": [
            sa.Column("question", sa.Text),
            sa.Column("criteria", sa.JSON),
            sa.Column("retired", sa.JSON),
            sa.Column("retired_at", NOW),
            sa.Column("retired_why", sa.String(20)),
        ],
        "conversation_points": [sa.Column("keeps", sa.String(10))],
        "journeys": [
            sa.Column("owner_id", sa.Integer),
            sa.Column("source", sa.String(10), nullable=False, server_default="file"),
            sa.Column("front_page", sa.String(255)),
            sa.Column("published_version", sa.Integer),
            sa.Column("draft", sa.JSON),
        ],
    }


def upgrade() -> None:
    inspector = sa.inspect(op.get_bind())
    for table, columns in _added().items():
        there = {column["name"] for column in inspector.get_columns(table)}
        for column in columns:
            if column.name not in there:
                op.add_column(table, column)
    op.create_table(
        "journey_guides",
        sa.Column(
            "conversation_id",
            sa.Integer,
            sa.ForeignKey(
                "conversations.conversation_id", name="fk_journey_guides_conversation_id", ondelete="CASCADE"
            ),
            primary_key=True,
            autoincrement=False,
        ),
        sa.Column("point_id", sa.Integer),
        sa.Column("is_paused", sa.Boolean, nullable=False, server_default=sa.text("0")),
        sa.Column("report_due", sa.Boolean, nullable=False, server_default=sa.text("0")),
        sa.Index("ix_journey_guides_report", "report_due"),
        **OPTIONS,
    )
    op.create_table(
        "journey_versions",
        sa.Column("version_id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column(
            "journey_id",
            sa.Integer,
            sa.ForeignKey("journeys.journey_id", name="fk_journey_versions_journey_id", ondelete="CASCADE"),
            nullable=False,
        ),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("definition", sa.JSON, nullable=False),
        sa.Column("author_id", sa.Integer),
        sa.Column("created_at", NOW, nullable=False),
        sa.UniqueConstraint("journey_id", "number", name="uq_journey_versions_number"),
        sqlite_autoincrement=True,
        **OPTIONS,
    )
    op.create_table(
        "point_vectors",
        sa.Column(
            "point_id",
            sa.Integer,
            sa.ForeignKey("conversation_points.point_id", name="fk_point_vectors_point_id", ondelete="CASCADE"),
            primary_key=True,
            autoincrement=False,
        ),
        sa.Column("model", sa.String(100), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("vectors", BLOB, nullable=False),
        **OPTIONS,
    )


def downgrade() -> None:
    for table in ("point_vectors", "journey_versions", "journey_guides"):
        op.drop_table(table)
    for table, columns in _added().items():
        for column in reversed(columns):
            op.drop_column(table, column.name)
