"""Folders, pins and tags of conversations

Revision ID: 0011
Revises: 0010
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from migrations.columns import Timestamp, current_timestamp

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

INDEXES = {
    "ix_conversations_sidebar": ["user_id", "is_archived", "is_pinned", "updated_at", "conversation_id"],
    "ix_conversations_space_pinned": ["space_id", "user_id", "is_archived", "is_pinned", "updated_at"],
    "ix_conversations_folder": ["folder_id", "is_archived", "updated_at", "conversation_id"],
}


def upgrade() -> None:
    inspector = sa.inspect(op.get_bind())
    op.create_table(
        "folders",
        sa.Column("folder_id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("user_id", sa.Integer, nullable=False),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
        sa.ForeignKeyConstraint(["user_id"], ["users.user_id"], name="fk_folders_user_id", ondelete="CASCADE"),
        sa.Index("ix_folders_listing", "user_id", "name", "folder_id"),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
        sqlite_autoincrement=True,
    )
    columns = {column["name"] for column in inspector.get_columns("conversations")}
    for column in (
        sa.Column("is_pinned", sa.Boolean, nullable=False, server_default=sa.text("0")),
        sa.Column("folder_id", sa.Integer),
        sa.Column("tags", sa.Text),
    ):
        if column.name not in columns:
            op.add_column("conversations", column)
    indexes = {index["name"] for index in inspector.get_indexes("conversations")}
    for name, parts in INDEXES.items():
        if name not in indexes:
            op.create_index(name, "conversations", parts)


def downgrade() -> None:
    for name in INDEXES:
        op.drop_index(name, "conversations")
    for column in ("tags", "folder_id", "is_pinned"):
        op.drop_column("conversations", column)
    op.drop_table("folders")
