"""Conversations, their messages, and what sends, shares and condenses them."""

import sqlalchemy as sa
from sqlalchemy.dialects import mysql

from migrations.columns import Key, Timestamp, current_timestamp, one_of
from migrations.tables.first import belongs_to, table

table(
    "conversations",
    sa.Column("conversation_id", sa.Integer, primary_key=True),
    belongs_to("user_id", "users.user_id"),
    sa.Column("title", sa.String(255)),
    sa.Column("created_at", Timestamp, server_default=current_timestamp()),
    sa.Column("updated_at", Timestamp, server_default=current_timestamp(on_update=True)),
    sa.Column("is_archived", sa.Boolean, server_default=sa.text("0")),
    sa.Column("metadata", sa.JSON),
    sa.Column(
        "title_source", one_of("none", "auto", "user", name="title_source"), nullable=False, server_default="none"
    ),
    sa.Column("journey_id", sa.Integer, sa.ForeignKey("journeys.journey_id", ondelete="SET NULL")),
    sa.Column("space_id", sa.Integer, sa.ForeignKey("spaces.space_id", ondelete="SET NULL")),
    sa.Column("persona", sa.String(100)),
    sa.Column("is_temporary", sa.Boolean, nullable=False, server_default=sa.text("0")),
    sa.Column("message_count", sa.Integer, nullable=False, server_default=sa.text("0")),
    sa.Column("deleted_at", Timestamp),
    sa.Column("seen_at", Timestamp),
    sa.Column("is_pinned", sa.Boolean, nullable=False, server_default=sa.text("0")),
    sa.Column("folder_id", sa.Integer),
    sa.Column("tags", sa.Text),
    sa.Column("model", sa.String(220)),
    sa.Column("parameters", sa.JSON),
    sa.Column("uses_web", sa.Boolean, nullable=False, server_default=sa.text("0")),
    sa.Column("has_files", sa.Boolean, nullable=False, server_default=sa.text("0")),
    sa.Column("shared_live_until", Timestamp),
    sa.Column("uses_memory", sa.Boolean, nullable=False, server_default=sa.text("1")),
    sa.Column("makes_memory", sa.Boolean, nullable=False, server_default=sa.text("1")),
    sa.Column("extracted_through", sa.Integer),
    sa.Column("extraction_due", sa.Boolean, nullable=False, server_default=sa.text("0")),
    sa.Column("indexed_through", sa.Integer),
    sa.Column("index_due", sa.Boolean, nullable=False, server_default=sa.text("0")),
    sa.Column("summary_due", sa.Boolean, nullable=False, server_default=sa.text("0")),
    sa.Index("ix_conversations_deleted", "deleted_at"),
    sa.Index("ix_conversations_extraction_due", "extraction_due", "updated_at"),
    sa.Index("ix_conversations_folder", "folder_id", "is_archived", "updated_at", "conversation_id"),
    sa.Index("ix_conversations_index_due", "index_due", "updated_at"),
    sa.Index("ix_conversations_journey_id", "journey_id"),
    sa.Index("ix_conversations_listing", "user_id", "is_archived", "updated_at", "conversation_id"),
    sa.Index("ix_conversations_owed_title", "title_source", "updated_at"),
    sa.Index("ix_conversations_sidebar", "user_id", "is_archived", "is_pinned", "updated_at", "conversation_id"),
    sa.Index("ix_conversations_space", "space_id", "user_id", "is_archived", "updated_at"),
    sa.Index("ix_conversations_space_pinned", "space_id", "user_id", "is_archived", "is_pinned", "updated_at"),
    sa.Index("ix_conversations_summary_due", "summary_due", "updated_at"),
    sa.Index("ix_conversations_temporary", "is_temporary", "updated_at"),
)

table(
    "folders",
    sa.Column("folder_id", sa.Integer, primary_key=True),
    belongs_to("user_id", "users.user_id"),
    sa.Column("name", sa.String(100), nullable=False),
    sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.Index("ix_folders_listing", "user_id", "name", "folder_id"),
)

table(
    "schedule_feeds",
    belongs_to("user_id", "users.user_id", is_key=True),
    sa.Column("digest", Key(64), nullable=False),
    sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.UniqueConstraint("digest"),
)

table(
    "conversation_memories",
    sa.Column("id", sa.Integer, primary_key=True),
    belongs_to("conversation_id", "conversations.conversation_id"),
    sa.Column("memory_data", sa.JSON, nullable=False),
    sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.Column("updated_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.Column("version", sa.Integer, nullable=False, server_default=sa.text("1")),
    sa.Column("as_of", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.UniqueConstraint("conversation_id"),
)

table(
    "conversation_shares",
    sa.Column("share_id", sa.Integer, primary_key=True),
    belongs_to("user_id", "users.user_id"),
    belongs_to("conversation_id", "conversations.conversation_id"),
    sa.Column("token", Key(64), nullable=False),
    sa.Column("is_live", sa.Boolean, nullable=False, server_default=sa.text("0")),
    sa.Column("audience", one_of("anyone", "accounts", name="share_audience"), nullable=False),
    sa.Column("first_message_id", sa.Integer),
    sa.Column("last_message_id", sa.Integer),
    sa.Column("message_ids", sa.JSON),
    sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.Column("expires_at", Timestamp),
    sa.UniqueConstraint("token"),
    sa.Index("ix_conversation_shares_conversation_id", "conversation_id"),
    sa.Index("ix_conversation_shares_listing", "user_id", "share_id"),
)

table(
    "gateway_threads",
    sa.Column("thread_id", sa.Integer, primary_key=True),
    belongs_to("user_id", "users.user_id"),
    sa.Column("fingerprint", Key(64), nullable=False),
    belongs_to("conversation_id", "conversations.conversation_id"),
    sa.Column("message_id", sa.Integer, nullable=False),
    sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.Index("ix_gateway_threads_conversation_id", "conversation_id"),
    sa.Index("ix_gateway_threads_fingerprint", "user_id", "fingerprint"),
)

table(
    "messages",
    sa.Column("message_id", sa.Integer, primary_key=True),
    belongs_to("conversation_id", "conversations.conversation_id"),
    sa.Column("role", one_of("user", "assistant", name="message_role"), nullable=False),
    sa.Column("content", sa.Text().with_variant(mysql.MEDIUMTEXT(), "mysql", "mariadb"), nullable=False),
    sa.Column("created_at", Timestamp, server_default=current_timestamp()),
    sa.Column("tool_calls", sa.JSON),
    sa.Column("suggested_values", sa.JSON),
    sa.Column("suggested_actions", sa.JSON),
    sa.Column("custom_payload", sa.JSON),
    sa.Column(
        "status",
        one_of("streaming", "complete", "stopped", "interrupted", "failed", name="message_status"),
        nullable=False,
        server_default="complete",
    ),
    sa.Column("error_code", sa.String(50)),
    sa.Column("error_detail", sa.String(500)),
    sa.Column("model", sa.String(200)),
    sa.Column("prompt_version", sa.String(100)),
    sa.Column("prompt_tokens", sa.Integer),
    sa.Column("completion_tokens", sa.Integer),
    sa.Column("parent_id", sa.Integer, sa.ForeignKey("messages.message_id", ondelete="SET NULL")),
    sa.Column("reply_to_id", sa.Integer, sa.ForeignKey("messages.message_id", ondelete="SET NULL")),
    sa.Column("spans", sa.JSON),
    sa.Column("is_tainted", sa.Boolean, nullable=False, server_default=sa.text("0")),
    sa.Column("superseded_by_id", sa.Integer),
    sa.Index("ix_messages_conversation", "conversation_id", "superseded_by_id", "message_id"),
    sa.Index("ix_messages_parent_id", "parent_id"),
    sa.Index("ix_messages_reply_to_id", "reply_to_id"),
    sa.Index("ix_messages_status", "status", "created_at"),
    sa.Index("ix_messages_superseded_by_id", "superseded_by_id"),
)

table(
    "schedules",
    sa.Column("schedule_id", sa.Integer, primary_key=True),
    belongs_to("user_id", "users.user_id"),
    sa.Column("conversation_id", sa.Integer, sa.ForeignKey("conversations.conversation_id", ondelete="SET NULL")),
    sa.Column("title", sa.String(120), nullable=False),
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("rule", sa.String(500), nullable=False, server_default=""),
    sa.Column("starts_at", sa.DateTime, nullable=False),
    sa.Column("zone", Key(64), nullable=False),
    sa.Column("journey", sa.String(100)),
    sa.Column("is_standing", sa.Boolean, nullable=False, server_default=sa.text("0")),
    sa.Column("next_at", Timestamp),
    sa.Column("is_paused", sa.Boolean, nullable=False, server_default=sa.text("0")),
    sa.Column("paused_why", sa.String(300)),
    sa.Column("token_id", sa.Integer),
    sa.Column("sends_mail", sa.Boolean, nullable=False, server_default=sa.text("0")),
    sa.Column("failures", sa.Integer, nullable=False, server_default=sa.text("0")),
    sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.Index("ix_schedules_conversation_id", "conversation_id"),
    sa.Index("ix_schedules_due", "is_paused", "next_at"),
    sa.Index("ix_schedules_user_id", "user_id"),
)

table(
    "conversation_memory_versions",
    sa.Column("version_id", sa.Integer, primary_key=True),
    belongs_to("conversation_memory_id", "conversation_memories.id"),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("memory_data", sa.JSON, nullable=False),
    sa.Column("source", one_of("model", "user", "service", name="digest_source"), nullable=False),
    sa.Column("model", sa.String(200)),
    sa.Column("prompt_version", sa.String(100)),
    sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.UniqueConstraint("conversation_memory_id", "version"),
)

table(
    "message_feedback",
    belongs_to("message_id", "messages.message_id", is_key=True),
    belongs_to("user_id", "users.user_id"),
    sa.Column("rating", one_of("up", "down", name="message_rating"), nullable=False),
    sa.Column("reasons", sa.JSON, nullable=False),
    sa.Column("comment", sa.Text, nullable=False),
    sa.Column("may_read", sa.Boolean, nullable=False, server_default=sa.text("0")),
    sa.Column("model", Key(200)),
    sa.Column("prompt_version", sa.String(100)),
    sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.Column("updated_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.Index("ix_message_feedback_created_at", "created_at"),
    sa.Index("ix_message_feedback_user_id", "user_id"),
)

table(
    "message_reasoning",
    belongs_to("message_id", "messages.message_id", is_key=True),
    sa.Column("content", sa.Text().with_variant(mysql.MEDIUMTEXT(), "mysql", "mariadb"), nullable=False),
    sa.Column("duration_ms", sa.Integer, nullable=False, server_default=sa.text("0")),
)

table(
    "pipeline_steps",
    sa.Column("step_id", sa.Integer, primary_key=True),
    belongs_to("message_id", "messages.message_id"),
    sa.Column("ordinal", sa.Integer, nullable=False),
    sa.Column("name", sa.String(50), nullable=False),
    sa.Column("model", sa.String(200)),
    sa.Column("duration_ms", sa.Integer),
    sa.Column("data", sa.JSON, nullable=False),
    sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.UniqueConstraint("message_id", "ordinal"),
)

table(
    "schedule_runs",
    sa.Column("run_id", sa.Integer, primary_key=True),
    belongs_to("schedule_id", "schedules.schedule_id"),
    sa.Column("due_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.Column("status", one_of("waiting", "running", "done", "failed", name="schedule_run_status"), nullable=False),
    sa.Column("is_late", sa.Boolean, nullable=False, server_default=sa.text("0")),
    sa.Column("message_id", sa.Integer, sa.ForeignKey("messages.message_id", ondelete="SET NULL")),
    sa.Column("problem", sa.String(300)),
    sa.Column("ended_at", Timestamp),
    sa.Column("mail_due_at", Timestamp),
    sa.UniqueConstraint("schedule_id", "due_at", name="uq_schedule_runs_due"),
    sa.Index("ix_schedule_runs_mail_due_at", "mail_due_at"),
    sa.Index("ix_schedule_runs_message_id", "message_id"),
    sa.Index("ix_schedule_runs_status", "status", "due_at"),
)
