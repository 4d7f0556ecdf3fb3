"""The rank of what every prompt knows, in an index

Revision ID: 0015
Revises: 0014
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

INDEX = "ix_memories_known"
RANK = (
    "CASE WHEN fact_key IS NOT NULL AND valid_to IS NULL AND is_archived = 0 AND needs_review = 0 THEN importance END"
)


def upgrade() -> None:
    inspector = sa.inspect(op.get_bind())
    # Of a table with computed columns SQLite tells only some of them by way of get_columns.
    if "known_rank" not in _columns(inspector):
        op.add_column("memories", sa.Column("known_rank", sa.Float, sa.Computed(RANK, persisted=False)))
    if INDEX not in {index["name"] for index in inspector.get_indexes("memories")}:
        op.create_index(INDEX, "memories", ["user_id", "space_slot", "known_rank", "memory_id"])


def downgrade() -> None:
    op.drop_index(INDEX, "memories")
    op.drop_column("memories", "known_rank")


def _columns(inspector: sa.Inspector) -> set[str]:
    return {column["name"] for column in inspector.get_columns("memories")}
