"""Which conversation a resent history belongs to; conversations that read memory and make none

Revision ID: 0022
Revises: 0021
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from migrations.columns import Key, Timestamp, current_timestamp

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

OPTIONS: dict[str, Any] = {"mysql_charset": "utf8mb4", "mysql_engine": "InnoDB", "sqlite_autoincrement": True}


def _refers(column: str, to: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        [column], [f"{to}.{column}"], name=f"fk_gateway_threads_{column}", ondelete="CASCADE"
    )


def upgrade() -> None:
    inspector = sa.inspect(op.get_bind())
    if "makes_memory" not in {column["name"] for column in inspector.get_columns("conversations")}:
        op.add_column(
            "conversations", sa.Column("makes_memory", sa.Boolean, nullable=False, server_default=sa.text("1"))
        )
    op.create_table(
        "gateway_threads",
        sa.Column("thread_id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("user_id", sa.Integer, nullable=False),
        sa.Column("fingerprint", Key(64), nullable=False),
        sa.Column("conversation_id", sa.Integer, nullable=False),
        sa.Column("message_id", sa.Integer, nullable=False),
        sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
        _refers("user_id", "users"),
        _refers("conversation_id", "conversations"),
        sa.Index("ix_gateway_threads_fingerprint", "user_id", "fingerprint"),
        sa.Index("ix_gateway_threads_conversation_id", "conversation_id"),
        **OPTIONS,
    )


def downgrade() -> None:
    op.drop_table("gateway_threads")
    op.drop_column("conversations", "makes_memory")
