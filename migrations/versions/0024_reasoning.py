"""What models thought for their replies, apart from them

Revision ID: 0024
Revises: 0023
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "message_reasoning",
        sa.Column("message_id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("content", sa.Text().with_variant(mysql.MEDIUMTEXT(), "mysql", "mariadb"), nullable=False),
        sa.Column("duration_ms", sa.Integer, nullable=False, server_default=sa.text("0")),
        sa.ForeignKeyConstraint(
            ["message_id"], ["messages.message_id"], name="fk_message_reasoning_message_id", ondelete="CASCADE"
        ),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
    )


def downgrade() -> None:
    op.drop_table("message_reasoning")
