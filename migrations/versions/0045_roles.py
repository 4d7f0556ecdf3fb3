"""The connection whose model does the background work, and the sign beside a model's name

Revision ID: 0045
Revises: 0044
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0045"
down_revision = "0044"
branch_labels = None
depends_on = None

_ADDED = (("model_connections", "background_model", 200), ("model_offers", "icon", 16))


def upgrade() -> None:
    for table, name, length in _ADDED:
        there = {column["name"] for column in sa.inspect(op.get_bind()).get_columns(table)}
        if name not in there:
            op.add_column(table, sa.Column(name, sa.String(length), nullable=True))


def downgrade() -> None:
    for table, name, _ in _ADDED:
        op.drop_column(table, name)
