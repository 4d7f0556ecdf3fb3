"""Whose words a message is made of, and how long a memory lasts

Revision ID: 0056
Revises: 0048
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0056"
down_revision = "0048"
branch_labels = None
depends_on = None

ADDED = (
    ("messages", "spans", sa.Column("spans", sa.JSON(), nullable=True)),
    ("messages", "is_tainted", sa.Column("is_tainted", sa.Boolean(), nullable=False, server_default=sa.text("0"))),
    ("memories", "until", sa.Column("until", sa.Date(), nullable=True)),
)


def upgrade() -> None:
    for table, name, column in ADDED:
        there = {found["name"] for found in sa.inspect(op.get_bind()).get_columns(table)}
        if name not in there:
            op.add_column(table, column)


def downgrade() -> None:
    for table, name, _ in reversed(ADDED):
        op.drop_column(table, name)
