"""Files with their pages, and the messages they are attached to

Revision ID: 0021
Revises: 0020
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

from migrations.columns import Key, Timestamp, current_timestamp, one_of

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

OPTIONS: dict[str, Any] = {"mysql_charset": "utf8mb4", "mysql_engine": "InnoDB"}
TEXT = sa.Text().with_variant(mysql.MEDIUMTEXT(), "mysql", "mariadb")


def _refers(table: str, column: str, to: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [f"{to}.{column}"], name=f"fk_{table}_{column}", ondelete="CASCADE")


def upgrade() -> None:
    inspector = sa.inspect(op.get_bind())
    if "has_files" not in {column["name"] for column in inspector.get_columns("conversations")}:
        op.add_column("conversations", sa.Column("has_files", sa.Boolean, nullable=False, server_default=sa.text("0")))
    op.create_table(
        "files",
        sa.Column("file_id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("user_id", sa.Integer, nullable=False),
        sa.Column("digest", Key(64), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("media_type", Key(100), nullable=False),
        sa.Column("size", sa.Integer, nullable=False),
        sa.Column("status", one_of("ready", "unreadable", name="file_status"), nullable=False),
        sa.Column("reason", sa.String(255)),
        sa.Column("pages", sa.Integer, nullable=False),
        sa.Column("tokens", sa.Integer, nullable=False),
        sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
        _refers("files", "user_id", "users"),
        sa.Index("ix_files_listing", "user_id", "file_id"),
        sa.Index("ix_files_digest", "digest"),
        sqlite_autoincrement=True,
        **OPTIONS,
    )
    op.create_table(
        "file_pages",
        sa.Column("file_id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("page", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("text", TEXT, nullable=False),
        sa.Column("tokens", sa.Integer, nullable=False),
        _refers("file_pages", "file_id", "files"),
        **OPTIONS,
    )
    op.create_table(
        "message_files",
        sa.Column("message_id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("file_id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("conversation_id", sa.Integer, nullable=False),
        sa.Column("mode", one_of("whole", "search", name="file_mode"), nullable=False, server_default="whole"),
        _refers("message_files", "message_id", "messages"),
        _refers("message_files", "file_id", "files"),
        _refers("message_files", "conversation_id", "conversations"),
        sa.Index("ix_message_files_conversation_id", "conversation_id"),
        sa.Index("ix_message_files_file_id", "file_id"),
        **OPTIONS,
    )


def downgrade() -> None:
    for table in ("message_files", "file_pages", "files"):
        op.drop_table(table)
    op.drop_column("conversations", "has_files")
