"""Connections to model servers and the models they offer; the model of a conversation; usage and quotas

Revision ID: 0020
Revises: 0019
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from migrations.columns import Key, Timestamp, current_timestamp, one_of

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

OPTIONS: dict[str, Any] = {"mysql_charset": "utf8mb4", "mysql_engine": "InnoDB", "sqlite_autoincrement": True}
ZERO = sa.text("0")


def _refers(table: str, column: str, to: str, ondelete: str = "CASCADE") -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [f"{to}.{column}"], name=f"fk_{table}_{column}", ondelete=ondelete)


def upgrade() -> None:
    inspector = sa.inspect(op.get_bind())
    if "model" not in {column["name"] for column in inspector.get_columns("conversations")}:
        op.add_column("conversations", sa.Column("model", sa.String(220)))
    op.create_table(
        "model_connections",
        sa.Column("connection_id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("base_url", sa.String(500), nullable=False),
        sa.Column("secrets", sa.Text),
        sa.Column("key_set", sa.Boolean, nullable=False, server_default=ZERO),
        sa.Column("header_names", sa.JSON, nullable=False),
        sa.Column("is_enabled", sa.Boolean, nullable=False, server_default=sa.text("1")),
        sa.Column("test_result", sa.JSON),
        sa.Column("tested_at", Timestamp),
        sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
        sa.Column("updated_at", Timestamp, nullable=False, server_default=current_timestamp()),
        **OPTIONS,
    )
    op.create_table(
        "model_offers",
        sa.Column("offer_id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("connection_id", sa.Integer, nullable=False),
        sa.Column("model", sa.String(200), nullable=False),
        sa.Column("label", sa.String(100), nullable=False),
        sa.Column("audience", one_of("everyone", "admins", name="model_audience"), nullable=False),
        sa.Column("context_window", sa.Integer),
        sa.Column("parameters", sa.JSON, nullable=False),
        sa.Column("input_price", sa.Float),
        sa.Column("output_price", sa.Float),
        sa.Column("is_default", sa.Boolean, nullable=False, server_default=ZERO),
        sa.Column("fallback_rank", sa.Integer),
        _refers("model_offers", "connection_id", "model_connections"),
        sa.UniqueConstraint("connection_id", "model", name="uq_model_offers_model"),
        **OPTIONS,
    )
    op.create_table(
        "usage_records",
        sa.Column("usage_id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("user_id", sa.Integer, nullable=False),
        sa.Column("conversation_id", sa.Integer),
        sa.Column("message_id", sa.Integer),
        sa.Column("kind", Key(40), nullable=False),
        sa.Column("target", sa.String(220)),
        sa.Column("model", sa.String(200)),
        sa.Column("input_tokens", sa.Integer, nullable=False),
        sa.Column("cached_tokens", sa.Integer, nullable=False, server_default=ZERO),
        sa.Column("output_tokens", sa.Integer, nullable=False),
        sa.Column("is_estimated", sa.Boolean, nullable=False, server_default=ZERO),
        sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
        _refers("usage_records", "user_id", "users"),
        _refers("usage_records", "conversation_id", "conversations", "SET NULL"),
        sa.Index("ix_usage_records_user", "user_id", "created_at"),
        sa.Index("ix_usage_records_conversation_id", "conversation_id"),
        **OPTIONS,
    )
    op.create_table(
        "quotas",
        sa.Column("quota_id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("user_id", sa.Integer),
        sa.Column("period", one_of("day", "month", name="quota_period"), nullable=False),
        sa.Column("tokens", sa.Integer),
        sa.Column("dollars", sa.Float),
        _refers("quotas", "user_id", "users"),
        sa.Index("ix_quotas_user_id", "user_id"),
        **OPTIONS,
    )


def downgrade() -> None:
    for table in ("quotas", "usage_records", "model_offers", "model_connections"):
        op.drop_table(table)
    op.drop_column("conversations", "model")
