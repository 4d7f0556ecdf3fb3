"""Accounts, conversations, messages, pipeline steps

The documented columns keep their names and types; what the product adds follows them.

Revision ID: 0001
Revises:
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from migrations.columns import Key, Timestamp, current_timestamp, one_of

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

OPTIONS = {"mysql_charset": "utf8mb4", "mysql_engine": "InnoDB"}


def upgrade() -> None:
    op.create_table(
        "users",
        sa.Column("user_id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("email", Key(254), nullable=False),
        sa.Column("name", sa.String(200), nullable=False, server_default=""),
        sa.Column("password_hash", sa.String(255), nullable=False),
        sa.Column("is_admin", sa.Boolean, nullable=False, server_default=sa.text("0")),
        sa.Column("is_active", sa.Boolean, nullable=False, server_default=sa.text("1")),
        sa.Column("auth_version", sa.Integer, nullable=False, server_default=sa.text("1")),
        sa.Column("settings", sa.JSON, nullable=False),
        sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
        sa.Column("last_seen_at", Timestamp, nullable=True),
        sa.UniqueConstraint("email", name="uq_users_email"),
        **OPTIONS,
        sqlite_autoincrement=True,
    )
    op.create_table(
        "api_tokens",
        sa.Column("token_id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("user_id", sa.Integer, nullable=False),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("token_hash", Key(64), nullable=False),
        sa.Column("prefix", Key(16), nullable=False),
        sa.Column("is_service", sa.Boolean, nullable=False, server_default=sa.text("0")),
        sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
        sa.Column("expires_at", Timestamp, nullable=True),
        sa.Column("last_used_at", Timestamp, nullable=True),
        sa.Column("revoked_at", Timestamp, nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["users.user_id"], name="fk_api_tokens_user_id", ondelete="CASCADE"),
        sa.UniqueConstraint("token_hash", name="uq_api_tokens_token_hash"),
        **OPTIONS,
        sqlite_autoincrement=True,
    )
    op.create_index("ix_api_tokens_user_id", "api_tokens", ["user_id"])
    op.create_table(
        "site_settings",
        sa.Column("key", Key(64), primary_key=True),
        sa.Column("value", sa.JSON, nullable=False),
        sa.Column("updated_at", Timestamp, nullable=False, server_default=current_timestamp()),
        **OPTIONS,
    )
    op.create_table(
        "idempotency_keys",
        sa.Column("user_id", sa.Integer, nullable=False),
        sa.Column("key", Key(200), nullable=False),
        sa.Column("request_hash", Key(64), nullable=False),
        sa.Column("status", sa.Integer, nullable=False),
        sa.Column("body", sa.JSON, nullable=False),
        sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
        sa.PrimaryKeyConstraint("user_id", "key", name="pk_idempotency_keys"),
        sa.ForeignKeyConstraint(["user_id"], ["users.user_id"], name="fk_idempotency_keys_user_id", ondelete="CASCADE"),
        **OPTIONS,
    )
    op.create_index("ix_idempotency_keys_created_at", "idempotency_keys", ["created_at"])
    op.create_table(
        "conversations",
        sa.Column("conversation_id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("user_id", sa.Integer, nullable=False),
        sa.Column("title", sa.String(255), nullable=True),
        sa.Column("created_at", Timestamp, nullable=True, server_default=current_timestamp()),
        sa.Column("updated_at", Timestamp, nullable=True, server_default=current_timestamp(on_update=True)),
        sa.Column("is_archived", sa.Boolean, nullable=True, server_default=sa.text("0")),
        sa.Column("metadata", sa.JSON, nullable=True),
        sa.Column(
            "title_source", one_of("none", "auto", "user", name="title_source"), nullable=False, server_default="none"
        ),
        sa.Column("persona", sa.String(100), nullable=True),
        sa.Column("is_temporary", sa.Boolean, nullable=False, server_default=sa.text("0")),
        sa.Column("message_count", sa.Integer, nullable=False, server_default=sa.text("0")),
        sa.Column("deleted_at", Timestamp, nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["users.user_id"], name="fk_conversations_user_id", ondelete="CASCADE"),
        **OPTIONS,
        sqlite_autoincrement=True,
    )
    op.create_index(
        "ix_conversations_listing", "conversations", ["user_id", "is_archived", "updated_at", "conversation_id"]
    )
    op.create_index("ix_conversations_owed_title", "conversations", ["title_source", "updated_at"])
    op.create_index("ix_conversations_temporary", "conversations", ["is_temporary", "updated_at"])
    op.create_index("ix_conversations_deleted", "conversations", ["deleted_at"])
    op.create_table(
        "messages",
        sa.Column("message_id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("conversation_id", sa.Integer, nullable=False),
        sa.Column("role", one_of("user", "assistant", name="message_role"), nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("created_at", Timestamp, nullable=True, server_default=current_timestamp()),
        sa.Column("tool_calls", sa.JSON, nullable=True),
        sa.Column("suggested_values", sa.JSON, nullable=True),
        sa.Column("suggested_actions", sa.JSON, nullable=True),
        sa.Column("custom_payload", sa.JSON, nullable=True),
        sa.Column(
            "status",
            one_of("streaming", "complete", "stopped", "interrupted", "failed", name="message_status"),
            nullable=False,
            server_default="complete",
        ),
        sa.Column("error_code", sa.String(50), nullable=True),
        sa.Column("error_detail", sa.String(500), nullable=True),
        sa.Column("model", sa.String(200), nullable=True),
        sa.Column("prompt_version", sa.String(100), nullable=True),
        sa.Column("prompt_tokens", sa.Integer, nullable=True),
        sa.Column("completion_tokens", sa.Integer, nullable=True),
        sa.Column("parent_id", sa.Integer, nullable=True),
        sa.Column("reply_to_id", sa.Integer, nullable=True),
        sa.Column("superseded_by_id", sa.Integer, nullable=True),
        sa.ForeignKeyConstraint(
            ["conversation_id"],
            ["conversations.conversation_id"],
            name="fk_messages_conversation_id",
            ondelete="CASCADE",
        ),
        *(
            sa.ForeignKeyConstraint(
                [column], ["messages.message_id"], name=f"fk_messages_{column}", ondelete="SET NULL"
            )
            for column in ("parent_id", "reply_to_id")
        ),
        **OPTIONS,
        sqlite_autoincrement=True,
    )
    op.create_index("ix_messages_conversation", "messages", ["conversation_id", "superseded_by_id", "message_id"])
    op.create_index("ix_messages_status", "messages", ["status", "created_at"])
    for column in ("parent_id", "reply_to_id", "superseded_by_id"):
        op.create_index(f"ix_messages_{column}", "messages", [column])
    op.create_table(
        "pipeline_steps",
        sa.Column("step_id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("message_id", sa.Integer, nullable=False),
        sa.Column("ordinal", sa.Integer, nullable=False),
        sa.Column("name", sa.String(50), nullable=False),
        sa.Column("model", sa.String(200), nullable=True),
        sa.Column("duration_ms", sa.Integer, nullable=True),
        sa.Column("data", sa.JSON, nullable=False),
        sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
        sa.ForeignKeyConstraint(
            ["message_id"], ["messages.message_id"], name="fk_pipeline_steps_message_id", ondelete="CASCADE"
        ),
        sa.UniqueConstraint("message_id", "ordinal", name="uq_pipeline_steps_message_id_ordinal"),
        **OPTIONS,
        sqlite_autoincrement=True,
    )


def downgrade() -> None:
    for table in (
        "pipeline_steps",
        "messages",
        "conversations",
        "idempotency_keys",
        "site_settings",
        "api_tokens",
        "users",
    ):
        op.drop_table(table)
