"""Schedules in the words of the HTTP contract

Revision ID: 0069
Revises: 0067
"""

import sqlalchemy as sa
from alembic import op

revision = "0069"
down_revision = "0067"

NAMES = (("content", "prompt"), ("rule", "rrule"), ("starts_at", "at"), ("zone", "timezone"))


def upgrade() -> None:
    for old, new in NAMES:
        _rename(old, new)
    _turn("is_paused", "is_active", "1")


def downgrade() -> None:
    _turn("is_active", "is_paused", "0")
    for old, new in NAMES:
        _rename(new, old)


def _rename(old: str, new: str) -> None:
    if old in _columns():
        op.execute(f"ALTER TABLE schedules RENAME COLUMN `{old}` TO `{new}`")  # alembic would say its type again


def _turn(old: str, new: str, default: str) -> None:
    """Replace a flag by its opposite. Until the old one is gone, this can begin again at any step."""
    if new not in _columns():
        op.add_column("schedules", sa.Column(new, sa.Boolean, nullable=False, server_default=sa.text(default)))
    if old in _columns():
        op.execute(f"UPDATE schedules SET {new} = 1 - {old}")
        if _due_index():
            op.drop_index("ix_schedules_due", "schedules")
        op.drop_column("schedules", old)
    if not _due_index():
        op.create_index("ix_schedules_due", "schedules", [new, "next_at"])


def _columns() -> set[str]:
    return {column["name"] for column in sa.inspect(op.get_bind()).get_columns("schedules")}


def _due_index() -> bool:
    return "ix_schedules_due" in {index["name"] for index in sa.inspect(op.get_bind()).get_indexes("schedules")}
