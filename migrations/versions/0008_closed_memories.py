"""Whether a memory is closed, in the indexes of the memory lists

Revision ID: 0008
Revises: 0007
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

BEFORE = {
    "ix_memories_listing": ["user_id", "is_archived", "updated_at", "memory_id"],
    "ix_memories_type": ["user_id", "is_archived", "memory_type", "updated_at", "memory_id"],
    "ix_memories_category": ["user_id", "is_archived", "category", "updated_at", "memory_id"],
    "ix_memories_pinned": ["user_id", "is_archived", "is_pinned", "updated_at", "memory_id"],
    "ix_memories_waiting": ["user_id", "needs_review", "updated_at", "memory_id"],
}
NOW = {
    "ix_memories_listing": ["user_id", "is_archived", "is_closed", "updated_at", "memory_id", "needs_review"],
    "ix_memories_type": ["user_id", "is_archived", "is_closed", "memory_type", "updated_at", "memory_id"],
    "ix_memories_category": ["user_id", "is_archived", "category", "is_closed", "updated_at", "memory_id"],
    "ix_memories_pinned": ["user_id", "is_archived", "is_closed", "is_pinned", "updated_at", "memory_id"],
    "ix_memories_waiting": ["user_id", "is_archived", "is_closed", "needs_review", "updated_at", "memory_id"],
}


def upgrade() -> None:
    op.add_column("memories", sa.Column("is_closed", sa.Boolean, sa.Computed("valid_to IS NOT NULL", persisted=False)))
    _replace(NOW)


def downgrade() -> None:
    _replace(BEFORE)
    op.drop_column("memories", "is_closed")


def _replace(indexes: dict[str, list[str]]) -> None:
    for name, columns in indexes.items():
        op.drop_index(name, "memories")
        op.create_index(name, "memories", columns)
