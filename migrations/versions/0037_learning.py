"""Learning from what an import brought

Revision ID: 0037
Revises: 0036
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from migrations.columns import Key

revision = "0037"
down_revision = "0036"
branch_labels = None
depends_on = None

INDEX = "ix_imports_learn_status"


def upgrade() -> None:
    inspector = sa.inspect(op.get_bind())
    there = {column["name"] for column in inspector.get_columns("imports")}
    if "learn_status" not in there:
        op.add_column("imports", sa.Column("learn_status", Key(10)))
    if "learning" not in there:
        op.add_column("imports", sa.Column("learning", sa.JSON))
    if INDEX not in {index["name"] for index in inspector.get_indexes("imports")}:
        op.create_index(INDEX, "imports", ["learn_status"])


def downgrade() -> None:
    op.drop_index(INDEX, "imports")
    op.drop_column("imports", "learning")
    op.drop_column("imports", "learn_status")
