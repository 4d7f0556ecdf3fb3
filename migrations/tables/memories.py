"""Memories, their evidence, and what remains of a forgotten one."""

import sqlalchemy as sa

from migrations.columns import CURRENT_FACT, Key, Timestamp, current_slot, current_timestamp, one_of
from migrations.tables.first import belongs_to, table

table(
    "admin_access_log",
    sa.Column("access_id", sa.Integer, primary_key=True),
    sa.Column("admin_id", sa.Integer, sa.ForeignKey("users.user_id", ondelete="SET NULL")),
    belongs_to("user_id", "users.user_id"),
    sa.Column("what", sa.String(50), nullable=False),
    sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.Index("ix_admin_access_log_admin_id", "admin_id"),
    sa.Index("ix_admin_access_log_user_id", "user_id"),
)

table(
    "memory_tombstones",
    belongs_to("user_id", "users.user_id"),
    sa.Column("digest", Key(64), nullable=False),
    sa.Column("kind", sa.String(10), nullable=False),
    sa.Column("key_id", Key(16)),
    sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.PrimaryKeyConstraint("user_id", "digest", name="pk_memory_tombstones"),
)

table(
    "memory_versions",
    belongs_to("user_id", "users.user_id", is_key=True),
    sa.Column("version", sa.Integer, nullable=False, server_default=sa.text("1")),
)

table(
    "portraits",
    sa.Column("portrait_id", sa.Integer, primary_key=True),
    sa.Column("user_id", sa.Integer, sa.ForeignKey("users.user_id", ondelete="CASCADE")),
    sa.Column("space_id", sa.Integer, sa.ForeignKey("spaces.space_id", ondelete="CASCADE")),
    sa.Column("sentences", sa.JSON, nullable=False),
    sa.Column("before", sa.JSON, nullable=False),
    sa.Column("made_from", Key(64)),
    sa.Column("made_at", Timestamp),
    sa.Column("asked_at", Timestamp),
    sa.Column("model", sa.String(200)),
    sa.Column("problem", sa.String(300)),
    sa.UniqueConstraint("space_id"),
    sa.UniqueConstraint("user_id"),
)

table(
    "tombstone_keys",
    belongs_to("user_id", "users.user_id"),
    sa.Column("key_id", Key(16), nullable=False),
    sa.Column("sealed", sa.String(500), nullable=False),
    sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.PrimaryKeyConstraint("user_id", "key_id", name="pk_tombstone_keys"),
)

table(
    "memory_change_sets",
    sa.Column("change_set_id", sa.Integer, primary_key=True),
    belongs_to("user_id", "users.user_id"),
    sa.Column("cause", sa.String(30), nullable=False),
    sa.Column("conversation_id", sa.Integer, sa.ForeignKey("conversations.conversation_id", ondelete="SET NULL")),
    sa.Column("through_message_id", sa.Integer),
    sa.Column("counts", sa.JSON, nullable=False),
    sa.Column("reasons", sa.JSON, nullable=False),
    sa.Column("changes", sa.JSON, nullable=False),
    sa.Column("model", sa.String(200)),
    sa.Column("prompt_tokens", sa.Integer),
    sa.Column("completion_tokens", sa.Integer),
    sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.Column("undone_at", Timestamp),
    sa.Column("undoes_id", sa.Integer),
    sa.Column("memory_version", sa.Integer, nullable=False, server_default=sa.text("0")),
    sa.Index("ix_memory_change_sets_conversation_id", "conversation_id"),
    sa.Index("ix_memory_change_sets_user", "user_id", "change_set_id"),
    sa.Index("ix_memory_change_sets_version", "user_id", "memory_version"),
)

table(
    "memories",
    sa.Column("memory_id", sa.Integer, primary_key=True),
    belongs_to("user_id", "users.user_id"),
    sa.Column(
        "memory_type",
        one_of("fact", "preference", "entity", "project", "decision", "instruction", name="memory_type"),
        nullable=False,
    ),
    sa.Column("category", sa.String(100)),
    sa.Column("content", sa.Text, nullable=False),
    sa.Column(
        "source_conversation_id", sa.Integer, sa.ForeignKey("conversations.conversation_id", ondelete="SET NULL")
    ),
    sa.Column("source_message_id", sa.Integer, sa.ForeignKey("messages.message_id", ondelete="SET NULL")),
    sa.Column("created_at", Timestamp, server_default=current_timestamp()),
    sa.Column("last_accessed_at", Timestamp),
    sa.Column("access_count", sa.Integer, server_default=sa.text("0")),
    sa.Column("is_pinned", sa.Boolean, server_default=sa.text("0")),
    sa.Column("is_archived", sa.Boolean, server_default=sa.text("0")),
    sa.Column("confidence", sa.Float, server_default=sa.text("1")),
    sa.Column("embedding", sa.LargeBinary(65_535)),
    sa.Column("space_id", sa.Integer),
    sa.Column("only_conversation_id", sa.Integer, sa.ForeignKey("conversations.conversation_id", ondelete="CASCADE")),
    sa.Column(
        "visibility", one_of("private", "shared", name="memory_visibility"), nullable=False, server_default="private"
    ),
    sa.Column("fact_key", Key(120)),
    sa.Column("fact_value", sa.String(500)),
    sa.Column("importance", sa.Float, nullable=False, server_default=sa.text("0.5")),
    sa.Column("valid_from", Timestamp),
    sa.Column("valid_to", Timestamp),
    sa.Column("until", sa.Date),
    sa.Column("superseded_by_id", sa.Integer, sa.ForeignKey("memories.memory_id", ondelete="SET NULL")),
    sa.Column("contradicts_id", sa.Integer, sa.ForeignKey("memories.memory_id", ondelete="SET NULL")),
    sa.Column("settled_with", sa.JSON),
    sa.Column("needs_review", sa.Boolean, nullable=False, server_default=sa.text("0")),
    sa.Column(
        "origin",
        one_of("user", "extraction", "tool", "import", name="memory_origin"),
        nullable=False,
        server_default="user",
    ),
    sa.Column("edited_by_user", sa.Boolean, nullable=False, server_default=sa.text("0")),
    sa.Column("asserted_at", Timestamp),
    sa.Column("embedding_model", sa.String(200)),
    sa.Column("statement_hash", Key(64), nullable=False),
    sa.Column("revision", sa.Integer, nullable=False, server_default=sa.text("1")),
    sa.Column("evidence_count", sa.Integer, nullable=False, server_default=sa.text("0")),
    sa.Column("updated_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.Column("space_slot", sa.Integer, sa.Computed("coalesce(space_id, 0)", persisted=False)),
    sa.Column("current_slot", Key(250), sa.Computed(current_slot(), persisted=False)),
    sa.Column("known_rank", sa.Float, sa.Computed(f"CASE WHEN {CURRENT_FACT} THEN importance END", persisted=False)),
    sa.Column("is_closed", sa.Boolean, sa.Computed("valid_to IS NOT NULL", persisted=False)),
    sa.UniqueConstraint("user_id", "space_slot", "current_slot", name="uq_memories_current_fact"),
    sa.Index("ix_memories_category", "user_id", "is_archived", "category", "is_closed", "updated_at", "memory_id"),
    sa.Index("ix_memories_fact_key", "user_id", "fact_key"),
    sa.Index("ix_memories_known", "user_id", "space_slot", "known_rank", "memory_id"),
    sa.Index("ix_memories_listing", "user_id", "is_archived", "is_closed", "updated_at", "memory_id", "needs_review"),
    sa.Index("ix_memories_only_conversation_id", "only_conversation_id"),
    sa.Index("ix_memories_pinned", "user_id", "is_archived", "is_closed", "is_pinned", "updated_at", "memory_id"),
    sa.Index("ix_memories_recent", "user_id", "created_at", "memory_id"),
    sa.Index("ix_memories_source", "source_conversation_id"),
    sa.Index("ix_memories_space", "space_id", "visibility"),
    sa.Index("ix_memories_statement", "user_id", "statement_hash"),
    sa.Index("ix_memories_type", "user_id", "is_archived", "is_closed", "memory_type", "updated_at", "memory_id"),
    sa.Index("ix_memories_waiting", "user_id", "is_archived", "is_closed", "needs_review", "updated_at", "memory_id"),
)

table(
    "forget_proposals",
    sa.Column("proposal_id", sa.Integer, primary_key=True),
    belongs_to("user_id", "users.user_id"),
    belongs_to("memory_id", "memories.memory_id"),
    belongs_to("message_id", "messages.message_id"),
    sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.UniqueConstraint("message_id", "memory_id", name="uq_forget_proposals_once"),
    sa.Index("ix_forget_proposals_memory_id", "memory_id"),
    sa.Index("ix_forget_proposals_user", "user_id", "proposal_id"),
)

table(
    "memory_evidence",
    sa.Column("evidence_id", sa.Integer, primary_key=True),
    belongs_to("memory_id", "memories.memory_id"),
    belongs_to("message_id", "messages.message_id"),
    sa.Column("quote", sa.Text, nullable=False),
    sa.Column("start", sa.Integer, nullable=False),
    sa.Column("end", sa.Integer, nullable=False),
    sa.Column("said_at", Timestamp, nullable=False),
    sa.Column("change_set_id", sa.Integer, sa.ForeignKey("memory_change_sets.change_set_id", ondelete="SET NULL")),
    sa.UniqueConstraint("memory_id", "message_id", "start", "end", name="uq_memory_evidence_span"),
    sa.Index("ix_memory_evidence_message_id", "message_id"),
)

table(
    "memory_revisions",
    sa.Column("revision_id", sa.Integer, primary_key=True),
    belongs_to("memory_id", "memories.memory_id"),
    sa.Column("revision", sa.Integer, nullable=False),
    sa.Column("snapshot", sa.JSON, nullable=False),
    sa.Column("statement_hash", Key(64), nullable=False),
    sa.Column("actor", sa.String(30), nullable=False),
    sa.Column("cause", sa.String(30), nullable=False),
    sa.Column("change_set_id", sa.Integer, sa.ForeignKey("memory_change_sets.change_set_id", ondelete="SET NULL")),
    sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.UniqueConstraint("memory_id", "revision"),
    sa.Index("ix_memory_revisions_change_set_id", "change_set_id"),
    sa.Index("ix_memory_revisions_statement_hash", "statement_hash"),
)
