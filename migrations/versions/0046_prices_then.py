"""What a model cost when it was used

Revision ID: 0046
Revises: 0045
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0046"
down_revision = "0045"
branch_labels = None
depends_on = None

_ADDED = ("input_price", "output_price")


def upgrade() -> None:
    there = {column["name"] for column in sa.inspect(op.get_bind()).get_columns("usage_records")}
    for name in _ADDED:
        if name not in there:
            op.add_column("usage_records", sa.Column(name, sa.Float, nullable=True))


def downgrade() -> None:
    for name in _ADDED:
        op.drop_column("usage_records", name)
