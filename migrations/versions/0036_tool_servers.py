"""MCP servers whose tools replies may use, and what people allowed them for good

Revision ID: 0036
Revises: 0035
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from migrations.columns import Key, Timestamp, current_timestamp

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None

OPTIONS: dict[str, Any] = {"mysql_charset": "utf8mb4", "mysql_engine": "InnoDB", "sqlite_autoincrement": True}


def _refers(table: str, column: str, to: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [f"{to}.{column}"], name=f"fk_{table}_{column}", ondelete="CASCADE")


def upgrade() -> None:
    op.create_table(
        "tool_servers",
        sa.Column("server_id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("user_id", sa.Integer),
        sa.Column("name", sa.String(60), nullable=False),
        sa.Column("url", sa.String(500), nullable=False),
        sa.Column("secrets", sa.Text),
        sa.Column("key_set", sa.Boolean, nullable=False, server_default=sa.text("0")),
        sa.Column("is_enabled", sa.Boolean, nullable=False, server_default=sa.text("1")),
        sa.Column("age", sa.String(20)),
        sa.Column("tools", sa.JSON, nullable=False),
        sa.Column("error", sa.String(500)),
        sa.Column("tested_at", Timestamp),
        sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
        _refers("tool_servers", "user_id", "users"),
        sa.Index("ix_tool_servers_user_id", "user_id"),
        **OPTIONS,
    )
    op.create_table(
        "tool_grants",
        sa.Column("grant_id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("user_id", sa.Integer, nullable=False),
        sa.Column("server_id", sa.Integer, nullable=False),
        sa.Column("tool", Key(128), nullable=False),
        sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
        _refers("tool_grants", "user_id", "users"),
        _refers("tool_grants", "server_id", "tool_servers"),
        sa.UniqueConstraint("user_id", "server_id", "tool", name="uq_tool_grants_tool"),
        sa.Index("ix_tool_grants_server_id", "server_id"),
        **OPTIONS,
    )


def downgrade() -> None:
    for table in ("tool_grants", "tool_servers"):
        op.drop_table(table)
