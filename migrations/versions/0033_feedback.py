"""What people think of replies

Revision ID: 0033
Revises: 0032
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from migrations.columns import Timestamp, current_timestamp, one_of

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "message_feedback",
        sa.Column("message_id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("user_id", sa.Integer, nullable=False),
        sa.Column("rating", one_of("up", "down", name="message_rating"), nullable=False),
        sa.Column("reasons", sa.JSON, nullable=False),
        sa.Column("comment", sa.Text, nullable=False),
        sa.Column("may_read", sa.Boolean, nullable=False, server_default=sa.text("0")),
        sa.Column("model", sa.String(200), nullable=True),
        sa.Column("prompt_version", sa.String(100), nullable=True),
        sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
        sa.Column("updated_at", Timestamp, nullable=False, server_default=current_timestamp()),
        *(
            sa.ForeignKeyConstraint(
                [column], [f"{to}.{column}"], name=f"fk_message_feedback_{column}", ondelete="CASCADE"
            )
            for column, to in (("message_id", "messages"), ("user_id", "users"))
        ),
        sa.Index("ix_message_feedback_user_id", "user_id"),
        sa.Index("ix_message_feedback_created_at", "created_at"),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
    )


def downgrade() -> None:
    op.drop_table("message_feedback")
