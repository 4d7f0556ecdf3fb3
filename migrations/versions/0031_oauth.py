"""Programs that sign people in: clients, grants, codes, refresh tokens; tokens limited to spaces

Revision ID: 0031
Revises: 0030
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from migrations.columns import Key, Timestamp, current_timestamp

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None

OPTIONS: dict[str, Any] = {"mysql_charset": "utf8mb4", "mysql_engine": "InnoDB"}
TABLES = ("oauth_refresh_tokens", "oauth_codes", "oauth_grants", "oauth_clients")


def _id(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.Integer, primary_key=True, autoincrement=True)


def _at(name: str) -> sa.Column[Any]:
    return sa.Column(name, Timestamp, nullable=False, server_default=current_timestamp())


def _refers(table: str, column: str, to: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [f"{to}.{column}"], name=f"fk_{table}_{column}", ondelete="CASCADE")


def upgrade() -> None:
    inspector = sa.inspect(op.get_bind())
    columns = {column["name"] for column in inspector.get_columns("api_tokens")}
    if "space_ids" not in columns:
        op.add_column("api_tokens", sa.Column("space_ids", sa.JSON(none_as_null=True)))
    if "is_delegated" not in columns:
        op.add_column("api_tokens", sa.Column("is_delegated", sa.Boolean, nullable=False, server_default=sa.text("0")))
    op.create_table(
        "oauth_clients",
        _id("client_number"),
        sa.Column("client_id", Key(255), nullable=False),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("redirect_uris", sa.JSON, nullable=False),
        sa.Column("auth_method", Key(30), nullable=False),
        sa.Column("secret_hash", Key(64)),
        _at("created_at"),
        sa.Column("fetched_at", Timestamp, nullable=True),
        sa.UniqueConstraint("client_id", name="uq_oauth_clients_client_id"),
        sa.Index("ix_oauth_clients_created_at", "created_at"),
        **OPTIONS,
        sqlite_autoincrement=True,
    )
    op.create_table(
        "oauth_grants",
        _id("grant_id"),
        sa.Column("user_id", sa.Integer, nullable=False),
        sa.Column("client_number", sa.Integer, nullable=False),
        sa.Column("token_id", sa.Integer, nullable=False),
        sa.Column("scope", Key(100), nullable=False),
        _at("created_at"),
        _at("refreshed_at"),
        _at("expires_at"),
        _refers("oauth_grants", "user_id", "users"),
        _refers("oauth_grants", "client_number", "oauth_clients"),
        _refers("oauth_grants", "token_id", "api_tokens"),
        *(sa.Index(f"ix_oauth_grants_{name}", name) for name in ("user_id", "client_number", "token_id", "expires_at")),
        **OPTIONS,
        sqlite_autoincrement=True,
    )
    op.create_table(
        "oauth_codes",
        sa.Column("code_hash", Key(64), primary_key=True),
        sa.Column("user_id", sa.Integer, nullable=False),
        sa.Column("client_number", sa.Integer, nullable=False),
        sa.Column("redirect_uri", sa.String(1_000), nullable=False),
        sa.Column("challenge", Key(128), nullable=False),
        sa.Column("scope", Key(100), nullable=False),
        sa.Column("space_ids", sa.JSON(none_as_null=True)),
        _at("expires_at"),
        sa.Column("grant_id", sa.Integer, nullable=True),
        _refers("oauth_codes", "user_id", "users"),
        _refers("oauth_codes", "client_number", "oauth_clients"),
        _refers("oauth_codes", "grant_id", "oauth_grants"),
        *(sa.Index(f"ix_oauth_codes_{name}", name) for name in ("user_id", "client_number", "expires_at", "grant_id")),
        **OPTIONS,
    )
    op.create_table(
        "oauth_refresh_tokens",
        sa.Column("token_hash", Key(64), primary_key=True),
        sa.Column("grant_id", sa.Integer, nullable=False),
        _at("created_at"),
        sa.Column("used_at", Timestamp, nullable=True),
        _refers("oauth_refresh_tokens", "grant_id", "oauth_grants"),
        sa.Index("ix_oauth_refresh_tokens_grant_id", "grant_id"),
        **OPTIONS,
    )


def downgrade() -> None:
    for table in TABLES:
        op.drop_table(table)
    op.drop_column("api_tokens", "is_delegated")
    op.drop_column("api_tokens", "space_ids")
