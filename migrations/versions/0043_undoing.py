"""Imports that a job takes back

Revision ID: 0043
Revises: 0042
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from migrations.columns import Key

revision = "0043"
down_revision = "0042"
branch_labels = None
depends_on = None

INDEX = "ix_imports_undo_status"


def upgrade() -> None:
    inspector = sa.inspect(op.get_bind())
    if "undo_status" not in {column["name"] for column in inspector.get_columns("imports")}:
        op.add_column("imports", sa.Column("undo_status", Key(10)))
    if INDEX not in {index["name"] for index in inspector.get_indexes("imports")}:
        op.create_index(INDEX, "imports", ["undo_status"])


def downgrade() -> None:
    op.drop_index(INDEX, "imports")
    op.drop_column("imports", "undo_status")
