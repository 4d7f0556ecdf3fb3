"""Accounts that are to be deleted, and what was found when they were

Revision ID: 0034
Revises: 0033
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from migrations.columns import Key, Timestamp, current_timestamp

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "account_deletions",
        sa.Column("deletion_id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("user_id", sa.Integer, nullable=False),
        sa.Column("secret_hash", Key(64), nullable=False),
        sa.Column("due_at", Timestamp, nullable=False),
        sa.Column("begun_at", Timestamp),
        sa.Column("done_at", Timestamp),
        sa.Column("report", sa.JSON),
        sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
        sa.UniqueConstraint("secret_hash", name="uq_account_deletions_secret_hash"),
        sa.Index("ix_account_deletions_user_id", "user_id"),
        sa.Index("ix_account_deletions_due_at", "due_at"),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
        sqlite_autoincrement=True,
    )


def downgrade() -> None:
    op.drop_table("account_deletions")
