"""Whose words a message is made of, how long a memory lasts, what models earned, and what is to be forgotten

Revision ID: 0056
Revises: 0054
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from migrations.columns import Key, Timestamp, current_timestamp

revision = "0056"
down_revision = "0054"
branch_labels = None
depends_on = None

ADDED = (
    ("messages", "spans", sa.Column("spans", sa.JSON(), nullable=True)),
    ("messages", "is_tainted", sa.Column("is_tainted", sa.Boolean(), nullable=False, server_default=sa.text("0"))),
    ("memories", "until", sa.Column("until", sa.Date(), nullable=True)),
)
INDEXES = (
    ("ix_forget_proposals_user", ["user_id", "proposal_id"]),
    ("ix_forget_proposals_memory_id", ["memory_id"]),
)


def upgrade() -> None:
    for table, name, column in ADDED:
        there = {found["name"] for found in sa.inspect(op.get_bind()).get_columns(table)}
        if name not in there:
            op.add_column(table, column)
    if not sa.inspect(op.get_bind()).has_table("memory_grades"):
        op.create_table(
            "memory_grades",
            sa.Column("model_key", Key(64), primary_key=True),
            sa.Column("recall", sa.Float(), nullable=False),
            sa.Column("key_share", sa.Float(), nullable=False),
            sa.Column("false_share", sa.Float(), nullable=False),
            sa.Column("cases", sa.Integer(), nullable=False),
            sa.Column("examined_at", Timestamp(), nullable=False, server_default=current_timestamp()),
            mysql_charset="utf8mb4",
            mysql_engine="InnoDB",
        )
    if not sa.inspect(op.get_bind()).has_table("forget_proposals"):
        op.create_table(
            "forget_proposals",
            sa.Column("proposal_id", sa.Integer(), primary_key=True, autoincrement=True),
            sa.Column("user_id", sa.Integer(), sa.ForeignKey("users.user_id", ondelete="CASCADE"), nullable=False),
            sa.Column(
                "memory_id", sa.Integer(), sa.ForeignKey("memories.memory_id", ondelete="CASCADE"), nullable=False
            ),
            sa.Column(
                "message_id", sa.Integer(), sa.ForeignKey("messages.message_id", ondelete="CASCADE"), nullable=False
            ),
            sa.Column("created_at", Timestamp(), nullable=False, server_default=current_timestamp()),
            sa.UniqueConstraint("message_id", "memory_id", name="uq_forget_proposals_once"),
            mysql_charset="utf8mb4",
            mysql_engine="InnoDB",
        )
    there = {found["name"] for found in sa.inspect(op.get_bind()).get_indexes("forget_proposals")}
    for name, columns in INDEXES:
        if name not in there:
            op.create_index(name, "forget_proposals", columns)


def downgrade() -> None:
    op.drop_table("forget_proposals")
    op.drop_table("memory_grades")
    for table, name, _ in reversed(ADDED):
        op.drop_column(table, name)
