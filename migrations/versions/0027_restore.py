"""Tombstones name their key, keys that people brought along; which row of an export became which here

Revision ID: 0027
Revises: 0026
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from migrations.columns import Key, Timestamp, current_timestamp

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None

OPTIONS: dict[str, Any] = {"mysql_charset": "utf8mb4", "mysql_engine": "InnoDB"}


def upgrade() -> None:
    inspector = sa.inspect(op.get_bind())
    if "key_id" not in {column["name"] for column in inspector.get_columns("memory_tombstones")}:
        op.add_column("memory_tombstones", sa.Column("key_id", Key(16)))
    op.create_table(
        "tombstone_keys",
        sa.Column("user_id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("key_id", Key(16), primary_key=True),
        sa.Column("sealed", sa.String(500), nullable=False),
        sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
        sa.ForeignKeyConstraint(["user_id"], ["users.user_id"], name="fk_tombstone_keys_user_id", ondelete="CASCADE"),
        **OPTIONS,
    )
    op.create_table(
        "restored_rows",
        sa.Column("import_id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("kind", Key(20), primary_key=True),
        sa.Column("old_id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("new_id", sa.Integer, nullable=False),
        sa.ForeignKeyConstraint(
            ["import_id"], ["imports.import_id"], name="fk_restored_rows_import_id", ondelete="CASCADE"
        ),
        **OPTIONS,
    )


def downgrade() -> None:
    op.drop_table("restored_rows")
    op.drop_table("tombstone_keys")
    op.drop_column("memory_tombstones", "key_id")
