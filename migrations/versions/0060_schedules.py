"""Messages that are sent at a time, and each time they were due

Revision ID: 0060
Revises: 0059
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from migrations.columns import Key, Timestamp, current_timestamp, one_of

revision = "0060"
down_revision = "0059"
branch_labels = None
depends_on = None

OPTIONS: dict[str, Any] = {"mysql_charset": "utf8mb4", "mysql_engine": "InnoDB", "sqlite_autoincrement": True}
INDEXES = (
    ("schedules", "ix_schedules_user_id", ["user_id"]),
    ("schedules", "ix_schedules_conversation_id", ["conversation_id"]),
    ("schedules", "ix_schedules_due", ["is_paused", "next_at"]),
    ("schedule_runs", "ix_schedule_runs_message_id", ["message_id"]),
    ("schedule_runs", "ix_schedule_runs_status", ["status", "due_at"]),
)
STATUSES = ("waiting", "running", "done", "failed")


def _flag(name: str) -> sa.Column[bool]:
    return sa.Column(name, sa.Boolean, nullable=False, server_default=sa.text("0"))


def _refers(table: str, column: str, to: str, ondelete: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [f"{to}.{column}"], name=f"fk_{table}_{column}", ondelete=ondelete)


def upgrade() -> None:
    if not sa.inspect(op.get_bind()).has_table("schedules"):
        op.create_table(
            "schedules",
            sa.Column("schedule_id", sa.Integer, primary_key=True, autoincrement=True),
            sa.Column("user_id", sa.Integer, nullable=False),
            sa.Column("conversation_id", sa.Integer, nullable=True),
            sa.Column("title", sa.String(120), nullable=False),
            sa.Column("content", sa.Text, nullable=False),
            sa.Column("rule", sa.String(500), nullable=False, server_default=""),
            sa.Column("starts_at", sa.DateTime, nullable=False),
            sa.Column("zone", Key(64), nullable=False),
            _flag("is_standing"),
            sa.Column("next_at", Timestamp, nullable=True),
            _flag("is_paused"),
            sa.Column("paused_why", sa.String(300), nullable=True),
            sa.Column("failures", sa.Integer, nullable=False, server_default=sa.text("0")),
            sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
            _refers("schedules", "user_id", "users", "CASCADE"),
            _refers("schedules", "conversation_id", "conversations", "SET NULL"),
            **OPTIONS,
        )
    if not sa.inspect(op.get_bind()).has_table("schedule_runs"):
        op.create_table(
            "schedule_runs",
            sa.Column("run_id", sa.Integer, primary_key=True, autoincrement=True),
            sa.Column("schedule_id", sa.Integer, nullable=False),
            sa.Column("due_at", Timestamp, nullable=False, server_default=current_timestamp()),
            sa.Column("status", one_of(*STATUSES, name="schedule_run_status"), nullable=False),
            _flag("is_late"),
            sa.Column("message_id", sa.Integer, nullable=True),
            sa.Column("problem", sa.String(300), nullable=True),
            sa.Column("ended_at", Timestamp, nullable=True),
            _refers("schedule_runs", "schedule_id", "schedules", "CASCADE"),
            _refers("schedule_runs", "message_id", "messages", "SET NULL"),
            sa.UniqueConstraint("schedule_id", "due_at", name="uq_schedule_runs_due"),
            **OPTIONS,
        )
    for table, name, columns in INDEXES:
        if name not in {found["name"] for found in sa.inspect(op.get_bind()).get_indexes(table)}:
            op.create_index(name, table, columns)


def downgrade() -> None:
    op.drop_table("schedule_runs")
    op.drop_table("schedules")
