"""When a conversation was last looked at, so that the list can tell what is unread

Revision ID: 0016
Revises: 0015
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from migrations.columns import Timestamp

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    columns = {column["name"] for column in sa.inspect(op.get_bind()).get_columns("conversations")}
    if "seen_at" not in columns:
        op.add_column("conversations", sa.Column("seen_at", Timestamp, nullable=True))


def downgrade() -> None:
    op.drop_column("conversations", "seen_at")
