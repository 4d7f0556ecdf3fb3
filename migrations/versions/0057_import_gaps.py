"""What an import left out, and the words of messages as they were imported

Revision ID: 0057
Revises: 0056
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from migrations.columns import Key

revision = "0057"
down_revision = "0056"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for table, column in (
        ("import_items", sa.Column("left_out", sa.JSON(), nullable=True)),
        ("imported_messages", sa.Column("digest", Key(64), nullable=True)),
    ):
        there = {found["name"] for found in sa.inspect(op.get_bind()).get_columns(table)}
        if column.name not in there:
            op.add_column(table, column)


def downgrade() -> None:
    op.drop_column("imported_messages", "digest")
    op.drop_column("import_items", "left_out")
