"""What is known of a person, in prose

Revision ID: 0062
Revises: 0061
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from migrations.columns import Key, Timestamp

revision = "0062"
down_revision = "0061"
branch_labels = None
depends_on = None


def upgrade() -> None:
    if sa.inspect(op.get_bind()).has_table("portraits"):
        return
    op.create_table(
        "portraits",
        sa.Column("user_id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("sentences", sa.JSON, nullable=False),
        sa.Column("before", sa.JSON, nullable=False),
        sa.Column("made_from", Key(64), nullable=True),
        sa.Column("made_at", Timestamp, nullable=True),
        sa.Column("asked_at", Timestamp, nullable=True),
        sa.Column("model", sa.String(200), nullable=True),
        sa.Column("problem", sa.String(300), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["users.user_id"], name="fk_portraits_user_id", ondelete="CASCADE"),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
    )


def downgrade() -> None:
    op.drop_table("portraits")
