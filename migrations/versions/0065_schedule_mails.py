"""Mail at the end of scheduled runs

Revision ID: 0065
Revises: 0064
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from migrations.columns import Timestamp

revision = "0065"
down_revision = "0064"
branch_labels = None
depends_on = None


def upgrade() -> None:
    if "sends_mail" not in _columns("schedules"):
        op.add_column("schedules", sa.Column("sends_mail", sa.Boolean, nullable=False, server_default=sa.text("0")))
    if "mail_due_at" not in _columns("schedule_runs"):
        op.add_column("schedule_runs", sa.Column("mail_due_at", Timestamp, nullable=True))
    known = {index["name"] for index in sa.inspect(op.get_bind()).get_indexes("schedule_runs")}
    if "ix_schedule_runs_mail_due_at" not in known:
        op.create_index("ix_schedule_runs_mail_due_at", "schedule_runs", ["mail_due_at"])


def downgrade() -> None:
    op.drop_index("ix_schedule_runs_mail_due_at", "schedule_runs")
    op.drop_column("schedule_runs", "mail_due_at")
    op.drop_column("schedules", "sends_mail")


def _columns(table: str) -> set[str]:
    return {column["name"] for column in sa.inspect(op.get_bind()).get_columns(table)}
