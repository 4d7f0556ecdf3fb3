"""Summaries of summaries: the level of a chunk

Revision ID: 0026
Revises: 0025
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None


def upgrade() -> None:
    columns = {column["name"] for column in sa.inspect(op.get_bind()).get_columns("conversation_chunks")}
    if "level" not in columns:
        op.add_column(
            "conversation_chunks", sa.Column("level", sa.Integer, nullable=False, server_default=sa.text("0"))
        )


def downgrade() -> None:
    op.execute("DELETE FROM conversation_chunks WHERE level > 0")
    op.drop_column("conversation_chunks", "level")
