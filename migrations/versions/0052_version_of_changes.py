"""The version of a user's memory in which a change set was last written, which is how far an index has followed

Revision ID: 0052
Revises: 0050
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0052"
down_revision = "0050"
branch_labels = None
depends_on = None

TABLE, COLUMN, INDEX = "memory_change_sets", "memory_version", "ix_memory_change_sets_version"


def upgrade() -> None:
    inspected = sa.inspect(op.get_bind())
    if COLUMN not in {column["name"] for column in inspected.get_columns(TABLE)}:
        op.add_column(TABLE, sa.Column(COLUMN, sa.Integer, nullable=False, server_default=sa.text("0")))
    if INDEX not in {index["name"] for index in inspected.get_indexes(TABLE)}:
        op.create_index(INDEX, TABLE, ["user_id", COLUMN])
    _look_at_all()


def downgrade() -> None:
    _look_at_all()
    op.drop_index(INDEX, table_name=TABLE)
    op.drop_column(TABLE, COLUMN)


def _look_at_all() -> None:
    """Forget how far vectors of memories were made, since it counts something else now: those that are there stay."""
    op.execute("UPDATE passage_versions SET memories_through = NULL")
