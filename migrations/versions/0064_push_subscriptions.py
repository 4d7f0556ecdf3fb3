"""Browsers that are notified while no page is open

Revision ID: 0064
Revises: 0063
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from migrations.columns import Key, Timestamp, current_timestamp

revision = "0064"
down_revision = "0063"
branch_labels = None
depends_on = None


def upgrade() -> None:
    if not sa.inspect(op.get_bind()).has_table("push_subscriptions"):
        _create_table()
    known = {index["name"] for index in sa.inspect(op.get_bind()).get_indexes("push_subscriptions")}
    for column in ("user_id", "session_id"):
        if (name := f"ix_push_subscriptions_{column}") not in known:
            op.create_index(name, "push_subscriptions", [column])


def _create_table() -> None:
    op.create_table(
        "push_subscriptions",
        sa.Column("subscription_id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("user_id", sa.Integer, nullable=False),
        sa.Column("session_id", sa.Integer, nullable=False),
        sa.Column("endpoint", sa.Text, nullable=False),
        sa.Column("digest", Key(64), nullable=False),
        sa.Column("p256dh", Key(100), nullable=False),
        sa.Column("auth", Key(40), nullable=False),
        sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.user_id"], name="fk_push_subscriptions_user_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["session_id"], ["user_sessions.session_id"], name="fk_push_subscriptions_session_id", ondelete="CASCADE"
        ),
        sa.UniqueConstraint("digest", name="uq_push_subscriptions_digest"),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
    )


def downgrade() -> None:
    op.drop_table("push_subscriptions")
