"""Version and lock of a user's memory; who looked at whose memories; indexes of the memory lists

Revision ID: 0003
Revises: 0002
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from migrations.columns import Timestamp, current_timestamp

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

OPTIONS = {"mysql_charset": "utf8mb4", "mysql_engine": "InnoDB"}
INDEXES = {
    "ix_memories_type": ["user_id", "is_archived", "memory_type", "updated_at", "memory_id"],
    "ix_memories_category": ["user_id", "is_archived", "category", "updated_at", "memory_id"],
    "ix_memories_pinned": ["user_id", "is_archived", "is_pinned", "updated_at", "memory_id"],
    "ix_memories_waiting": ["user_id", "needs_review", "updated_at", "memory_id"],
    "ix_memories_recent": ["user_id", "created_at", "memory_id"],
}


def upgrade() -> None:
    op.create_table(
        "memory_versions",
        sa.Column("user_id", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("version", sa.Integer, nullable=False, server_default=sa.text("1")),
        sa.PrimaryKeyConstraint("user_id", name="pk_memory_versions"),
        sa.ForeignKeyConstraint(["user_id"], ["users.user_id"], name="fk_memory_versions_user_id", ondelete="CASCADE"),
        **OPTIONS,
    )
    op.create_table(
        "admin_access_log",
        sa.Column("access_id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("admin_id", sa.Integer),
        sa.Column("user_id", sa.Integer, nullable=False),
        sa.Column("what", sa.String(50), nullable=False),
        sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
        sa.ForeignKeyConstraint(
            ["admin_id"], ["users.user_id"], name="fk_admin_access_log_admin_id", ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.user_id"], name="fk_admin_access_log_user_id", ondelete="CASCADE"),
        **OPTIONS,
        sqlite_autoincrement=True,
    )
    op.create_index("ix_admin_access_log_user_id", "admin_access_log", ["user_id"])
    op.create_index("ix_admin_access_log_admin_id", "admin_access_log", ["admin_id"])
    for name, columns in INDEXES.items():
        op.create_index(name, "memories", columns)
    op.drop_index("ix_memories_review", "memories")


def downgrade() -> None:
    op.create_index("ix_memories_review", "memories", ["user_id", "needs_review"])
    for name in INDEXES:
        op.drop_index(name, "memories")
    op.drop_table("admin_access_log")
    op.drop_table("memory_versions")
