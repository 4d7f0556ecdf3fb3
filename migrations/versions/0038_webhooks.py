"""Webhooks and their deliveries; accounts know whether they have any

Revision ID: 0038
Revises: 0037
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from migrations.columns import Key, Timestamp, current_timestamp, one_of

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None

OPTIONS: dict[str, Any] = {"mysql_charset": "utf8mb4", "mysql_engine": "InnoDB", "sqlite_autoincrement": True}
STATUSES = ("waiting", "delivered", "failed", "skipped")


def _at(name: str) -> sa.Column[Any]:
    return sa.Column(name, Timestamp, nullable=False, server_default=current_timestamp())


def _refers(table: str, column: str, to: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [f"{to}.{column}"], name=f"fk_{table}_{column}", ondelete="CASCADE")


def _flag(name: str, default: str) -> sa.Column[bool]:
    return sa.Column(name, sa.Boolean, nullable=False, server_default=sa.text(default))


def upgrade() -> None:
    inspector = sa.inspect(op.get_bind())
    if "has_webhooks" not in {column["name"] for column in inspector.get_columns("users")}:
        op.add_column("users", _flag("has_webhooks", "0"))
    op.create_table(
        "webhooks",
        sa.Column("webhook_id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("user_id", sa.Integer, nullable=False),
        sa.Column("token_id", sa.Integer, nullable=True),
        sa.Column("url", sa.String(1_000), nullable=False),
        sa.Column("kinds", Key(500), nullable=False),
        sa.Column("secret", sa.Text, nullable=False),
        _flag("with_content", "0"),
        _flag("is_active", "1"),
        sa.Column("disabled_reason", sa.String(300), nullable=True),
        sa.Column("failing_since", Timestamp, nullable=True),
        _at("created_at"),
        _refers("webhooks", "user_id", "users"),
        _refers("webhooks", "token_id", "api_tokens"),
        sa.Index("ix_webhooks_user_id", "user_id"),
        sa.Index("ix_webhooks_token_id", "token_id"),
        **OPTIONS,
    )
    op.create_table(
        "webhook_deliveries",
        sa.Column("delivery_id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("webhook_id", sa.Integer, nullable=False),
        sa.Column("event_id", Key(40), nullable=False),
        sa.Column("kind", Key(40), nullable=False),
        sa.Column("data", sa.JSON, nullable=False),
        sa.Column("status", one_of(*STATUSES, name="webhook_delivery_status"), nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False, server_default=sa.text("0")),
        sa.Column("answer", sa.String(200), nullable=True),
        _at("created_at"),
        _at("due_at"),
        _refers("webhook_deliveries", "webhook_id", "webhooks"),
        sa.Index("ix_webhook_deliveries_due", "status", "due_at"),
        sa.Index("ix_webhook_deliveries_webhook", "webhook_id", "delivery_id"),
        sa.Index("ix_webhook_deliveries_created_at", "created_at"),
        **OPTIONS,
    )


def downgrade() -> None:
    op.drop_table("webhook_deliveries")
    op.drop_table("webhooks")
    op.drop_column("users", "has_webhooks")
