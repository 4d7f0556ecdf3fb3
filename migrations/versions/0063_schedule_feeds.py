"""The journey whose conversations a schedule begins, and schedules in people's own calendars

Revision ID: 0063
Revises: 0062
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from migrations.columns import Key, Timestamp, current_timestamp

revision = "0063"
down_revision = "0062"
branch_labels = None
depends_on = None


def upgrade() -> None:
    if "journey" not in {column["name"] for column in sa.inspect(op.get_bind()).get_columns("schedules")}:
        op.add_column("schedules", sa.Column("journey", sa.String(100), nullable=True))
    if not sa.inspect(op.get_bind()).has_table("schedule_feeds"):
        op.create_table(
            "schedule_feeds",
            sa.Column("user_id", sa.Integer, primary_key=True, autoincrement=False),
            sa.Column("digest", Key(64), nullable=False),
            sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
            sa.ForeignKeyConstraint(
                ["user_id"], ["users.user_id"], name="fk_schedule_feeds_user_id", ondelete="CASCADE"
            ),
            sa.UniqueConstraint("digest", name="uq_schedule_feeds_digest"),
            mysql_charset="utf8mb4",
            mysql_engine="InnoDB",
        )


def downgrade() -> None:
    op.drop_table("schedule_feeds")
    op.drop_column("schedules", "journey")
