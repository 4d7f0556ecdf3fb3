"""What a person chose for the model of a conversation

Revision ID: 0039
Revises: 0038
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0039"
down_revision = "0038"
branch_labels = None
depends_on = None


def upgrade() -> None:
    if "parameters" not in {column["name"] for column in sa.inspect(op.get_bind()).get_columns("conversations")}:
        op.add_column("conversations", sa.Column("parameters", sa.JSON, nullable=True))


def downgrade() -> None:
    op.drop_column("conversations", "parameters")
