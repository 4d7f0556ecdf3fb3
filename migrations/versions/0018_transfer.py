"""Imports, what became of their parts, where imported rows came from; exports

Revision ID: 0018
Revises: 0017
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from migrations.columns import Key, Timestamp, current_timestamp, one_of

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

OPTIONS: dict[str, Any] = {"mysql_charset": "utf8mb4", "mysql_engine": "InnoDB"}
TABLES = ("imported_messages", "import_sources", "import_items", "imports", "exports")


def _refers(table: str, column: str, to: str, ondelete: str = "CASCADE") -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [f"{to}.{column}"], name=f"fk_{table}_{column}", ondelete=ondelete)


def _now(name: str) -> sa.Column[Any]:
    return sa.Column(name, Timestamp, nullable=False, server_default=current_timestamp())


def upgrade() -> None:
    op.create_table(
        "imports",
        sa.Column("import_id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("user_id", sa.Integer, nullable=False),
        sa.Column(
            "status",
            one_of("reading", "ready", "running", "done", "failed", "cancelled", "undone", name="import_status"),
            nullable=False,
        ),
        sa.Column("format", Key(30)),
        sa.Column("filename", sa.String(255), nullable=False),
        sa.Column("stored_as", Key(64)),
        sa.Column("size", sa.Integer, nullable=False),
        sa.Column("preview", sa.JSON),
        sa.Column("options", sa.JSON),
        sa.Column("counts", sa.JSON, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("error", sa.String(500)),
        sa.Column("change_set_ids", sa.JSON, nullable=False),
        _now("created_at"),
        _now("updated_at"),
        _refers("imports", "user_id", "users"),
        sa.Index("ix_imports_listing", "user_id", "import_id"),
        sa.Index("ix_imports_status", "status", "updated_at"),
        sqlite_autoincrement=True,
        **OPTIONS,
    )
    op.create_table(
        "import_items",
        sa.Column("item_id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("import_id", sa.Integer, nullable=False),
        sa.Column(
            "kind", one_of("conversation", "memory", "project", "problem", name="import_item_kind"), nullable=False
        ),
        sa.Column("title", sa.String(255)),
        sa.Column(
            "outcome", one_of("imported", "updated", "unchanged", "skipped", name="import_outcome"), nullable=False
        ),
        sa.Column("reason", sa.String(255)),
        sa.Column("target_id", sa.Integer),
        sa.Column("message_count", sa.Integer, nullable=False),
        _refers("import_items", "import_id", "imports"),
        sa.Index("ix_import_items_import", "import_id", "item_id"),
        sqlite_autoincrement=True,
        **OPTIONS,
    )
    op.create_table(
        "import_sources",
        sa.Column("user_id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("origin", Key(120), primary_key=True),
        sa.Column("target_id", sa.Integer, nullable=False),
        _refers("import_sources", "user_id", "users"),
        **OPTIONS,
    )
    op.create_table(
        "imported_messages",
        sa.Column("message_id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("conversation_id", sa.Integer, nullable=False),
        sa.Column("import_id", sa.Integer),
        sa.Column("source_id", Key(64), nullable=False),
        _refers("imported_messages", "message_id", "messages"),
        _refers("imported_messages", "conversation_id", "conversations"),
        _refers("imported_messages", "import_id", "imports", "SET NULL"),
        sa.Index("ix_imported_messages_conversation", "conversation_id", "message_id"),
        sa.Index("ix_imported_messages_import_id", "import_id"),
        **OPTIONS,
    )
    op.create_table(
        "exports",
        sa.Column("export_id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("user_id", sa.Integer, nullable=False),
        sa.Column("what", Key(20), nullable=False),
        sa.Column("format", Key(20), nullable=False),
        sa.Column("conversation_id", sa.Integer),
        sa.Column("status", one_of("waiting", "ready", "failed", "expired", name="export_status"), nullable=False),
        sa.Column("stored_as", Key(64)),
        sa.Column("filename", sa.String(255)),
        sa.Column("media_type", Key(100)),
        sa.Column("size", sa.Integer),
        sa.Column("error", sa.Text),
        _now("created_at"),
        sa.Column("expires_at", Timestamp),
        _refers("exports", "user_id", "users"),
        sa.Index("ix_exports_listing", "user_id", "export_id"),
        sa.Index("ix_exports_status", "status", "created_at"),
        sqlite_autoincrement=True,
        **OPTIONS,
    )


def downgrade() -> None:
    for table in TABLES:
        op.drop_table(table)
