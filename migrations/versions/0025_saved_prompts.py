"""The prompt library

Revision ID: 0025
Revises: 0024
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from migrations.columns import Timestamp, current_timestamp

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "saved_prompts",
        sa.Column("saved_prompt_id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("user_id", sa.Integer, nullable=False),
        sa.Column("space_id", sa.Integer, nullable=True),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("description", sa.String(255), nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
        sa.Column("updated_at", Timestamp, nullable=False, server_default=current_timestamp()),
        *(
            sa.ForeignKeyConstraint([column], [f"{to}.{column}"], name=f"fk_saved_prompts_{column}", ondelete="CASCADE")
            for column, to in (("user_id", "users"), ("space_id", "spaces"))
        ),
        sa.Index("ix_saved_prompts_listing", "user_id", "name", "saved_prompt_id"),
        sa.Index("ix_saved_prompts_space_id", "space_id"),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
        sqlite_autoincrement=True,
    )


def downgrade() -> None:
    op.drop_table("saved_prompts")
