"""Links to conversations

Revision ID: 0009
Revises: 0008
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

AT = sa.DateTime().with_variant(mysql.TIMESTAMP(fsp=6), "mysql", "mariadb")
NOW = sa.text("CURRENT_TIMESTAMP")
TOKEN = sa.String(64).with_variant(mysql.VARCHAR(64, charset="utf8mb4", collation="utf8mb4_bin"), "mysql", "mariadb")


def upgrade() -> None:
    inspector = sa.inspect(op.get_bind())
    if "shared_live_until" not in {column["name"] for column in inspector.get_columns("conversations")}:
        op.add_column("conversations", sa.Column("shared_live_until", AT, nullable=True))
    mariadb = op.get_bind().dialect.name in ("mysql", "mariadb")
    op.create_table(
        "conversation_shares",
        sa.Column("share_id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column(
            "user_id",
            sa.Integer,
            sa.ForeignKey("users.user_id", name="fk_conversation_shares_user_id", ondelete="CASCADE"),
            nullable=False,
        ),
        sa.Column(
            "conversation_id",
            sa.Integer,
            sa.ForeignKey(
                "conversations.conversation_id", name="fk_conversation_shares_conversation_id", ondelete="CASCADE"
            ),
            nullable=False,
        ),
        sa.Column("token", TOKEN, nullable=False),
        sa.Column("is_live", sa.Boolean, nullable=False, server_default=sa.text("0")),
        sa.Column(
            "audience", sa.Enum("anyone", "accounts", name="share_audience", create_constraint=True), nullable=False
        ),
        sa.Column("first_message_id", sa.Integer),
        sa.Column("last_message_id", sa.Integer),
        sa.Column("message_ids", sa.JSON),
        sa.Column(
            "created_at",
            AT,
            nullable=False,
            server_default=sa.text("CURRENT_TIMESTAMP(6)") if mariadb else NOW,
        ),
        sa.Column("expires_at", AT, nullable=True),
        sa.UniqueConstraint("token", name="uq_conversation_shares_token"),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
        sqlite_autoincrement=True,
    )
    op.create_index("ix_conversation_shares_listing", "conversation_shares", ["user_id", "share_id"])
    op.create_index("ix_conversation_shares_conversation_id", "conversation_shares", ["conversation_id"])


def downgrade() -> None:
    op.drop_table("conversation_shares")
    op.drop_column("conversations", "shared_live_until")
