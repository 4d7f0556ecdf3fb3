"""The connection that makes vectors, by which of its models

Revision ID: 0041
Revises: 0040
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0041"
down_revision = "0040"
branch_labels = None
depends_on = None


def upgrade() -> None:
    there = {column["name"] for column in sa.inspect(op.get_bind()).get_columns("model_connections")}
    if "embedding_model" not in there:
        op.add_column("model_connections", sa.Column("embedding_model", sa.String(200), nullable=True))


def downgrade() -> None:
    op.drop_column("model_connections", "embedding_model")
