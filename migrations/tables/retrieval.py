"""Spaces, and the passages that replies are given."""

import sqlalchemy as sa
from sqlalchemy.dialects import mysql

from migrations.columns import Key, Timestamp, current_timestamp, one_of
from migrations.tables.first import belongs_to, table

table(
    "spaces",
    sa.Column("space_id", sa.Integer, primary_key=True),
    sa.Column("kind", one_of("project", "legacy", name="space_kind"), nullable=False),
    sa.Column("name", sa.String(200), nullable=False),
    sa.Column("description", sa.Text, nullable=False),
    sa.Column("instructions", sa.Text, nullable=False),
    sa.Column("persona", sa.String(50)),
    sa.Column("has_portrait", sa.Boolean, nullable=False, server_default=sa.text("0")),
    sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.Column("updated_at", Timestamp, nullable=False, server_default=current_timestamp()),
)

table(
    "passage_changes",
    sa.Column("change_id", sa.Integer, primary_key=True),
    belongs_to("user_id", "users.user_id"),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column(
        "what", one_of("conversation", "memories", "documents", "verdicts", name="passage_change"), nullable=False
    ),
    sa.Column("ref_id", sa.Integer, nullable=False, server_default=sa.text("0")),
    sa.Column("from_id", sa.Integer, nullable=False, server_default=sa.text("0")),
    sa.Index("ix_passage_changes_version", "user_id", "version"),
)

table(
    "passage_versions",
    belongs_to("user_id", "users.user_id", is_key=True),
    sa.Column("version", sa.Integer, nullable=False, server_default=sa.text("0")),
    sa.Column("memories_through", sa.Integer),
)

table(
    "space_documents",
    sa.Column("document_id", sa.Integer, primary_key=True),
    belongs_to("space_id", "spaces.space_id"),
    sa.Column("user_id", sa.Integer, sa.ForeignKey("users.user_id", ondelete="SET NULL")),
    sa.Column("title", sa.String(255), nullable=False),
    sa.Column("content", sa.Text().with_variant(mysql.MEDIUMTEXT(), "mysql", "mariadb"), nullable=False),
    sa.Column("size", sa.Integer, nullable=False),
    sa.Column("pages", sa.Integer, nullable=False, server_default=sa.text("0")),
    sa.Column("digest", Key(64)),
    sa.Column("media_type", Key(100)),
    sa.Column("file_name", sa.String(255)),
    sa.Column(
        "status",
        one_of("queued", "indexing", "ready", "failed", name="document_status"),
        nullable=False,
        server_default="queued",
    ),
    sa.Column("chunks_total", sa.Integer, nullable=False, server_default=sa.text("0")),
    sa.Column("chunks_done", sa.Integer, nullable=False, server_default=sa.text("0")),
    sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.Column("updated_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.Index("ix_space_documents_digest", "digest"),
    sa.Index("ix_space_documents_space_id", "space_id", "document_id"),
    sa.Index("ix_space_documents_status", "status", "updated_at"),
    sa.Index("ix_space_documents_user_id", "user_id"),
)

table(
    "space_members",
    sa.Column("space_member_id", sa.Integer, primary_key=True),
    belongs_to("space_id", "spaces.space_id"),
    sa.Column("user_id", sa.Integer, sa.ForeignKey("users.user_id", ondelete="CASCADE")),
    sa.Column("email", Key(254)),
    sa.Column("role", one_of("owner", "member", name="space_role"), nullable=False),
    sa.Column("status", one_of("invited", "active", name="space_member_status"), nullable=False),
    sa.Column("invited_by", sa.Integer, sa.ForeignKey("users.user_id", ondelete="SET NULL")),
    sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.Column("joined_at", Timestamp),
    sa.Column("by_group", sa.Boolean, nullable=False, server_default=sa.text("0")),
    sa.UniqueConstraint("space_id", "email"),
    sa.UniqueConstraint("space_id", "user_id"),
    sa.Index("ix_space_members_invited_by", "invited_by"),
    sa.Index("ix_space_members_user_id", "user_id", "status", "space_id"),
)

table(
    "space_versions",
    belongs_to("space_id", "spaces.space_id", is_key=True),
    sa.Column("version", sa.Integer, nullable=False, server_default=sa.text("1")),
)

table(
    "conversation_chunks",
    sa.Column("chunk_id", sa.Integer, primary_key=True),
    belongs_to("conversation_id", "conversations.conversation_id"),
    sa.Column("user_id", sa.Integer, sa.ForeignKey("users.user_id", ondelete="CASCADE")),
    sa.Column("space_id", sa.Integer),
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("embedding", sa.LargeBinary(65_535)),
    sa.Column("embedding_model", sa.String(200)),
    sa.Column("message_range_start", sa.Integer, nullable=False),
    sa.Column("message_range_end", sa.Integer, nullable=False),
    sa.Column("level", sa.Integer, nullable=False, server_default=sa.text("0")),
    sa.Column("model", sa.String(200)),
    sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.UniqueConstraint(
        "conversation_id", "message_range_start", "message_range_end", name="uq_conversation_chunks_range"
    ),
    sa.Index("ix_conversation_chunks_user_id", "user_id", "space_id"),
)

table(
    "document_chunks",
    sa.Column("document_chunk_id", sa.Integer, primary_key=True),
    belongs_to("document_id", "space_documents.document_id"),
    belongs_to("space_id", "spaces.space_id"),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("page", sa.Integer),
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("embedding", sa.LargeBinary(65_535)),
    sa.Column("embedding_model", sa.String(200)),
    sa.UniqueConstraint("document_id", "position", name="uq_document_chunks_position"),
    sa.Index("ix_document_chunks_space_id", "space_id", "document_chunk_id"),
)

table(
    "message_embeddings",
    belongs_to("message_id", "messages.message_id"),
    sa.Column("piece", sa.Integer, nullable=False, server_default=sa.text("0")),
    sa.Column("from_char", sa.Integer, nullable=False, server_default=sa.text("0")),
    sa.Column("to_char", sa.Integer, nullable=False, server_default=sa.text("0")),
    belongs_to("user_id", "users.user_id"),
    sa.Column("model", sa.String(200), nullable=False),
    sa.Column("embedding", sa.LargeBinary(65_535), nullable=False),
    sa.PrimaryKeyConstraint("message_id", "piece", name="pk_message_embeddings"),
    sa.Index("ix_message_embeddings_user_id", "user_id", "model"),
)

table(
    "passage_verdicts",
    sa.Column("verdict_id", sa.Integer, primary_key=True),
    belongs_to("user_id", "users.user_id"),
    belongs_to("message_id", "messages.message_id"),
    sa.Column("kind", one_of("memory", "chunk", "message", "document", name="verdict_kind"), nullable=False),
    sa.Column("passage_id", sa.Integer, nullable=False),
    sa.Column("verdict", one_of("wrong", "outdated", "not_relevant", "forget", name="passage_verdict"), nullable=False),
    sa.Column("terms", sa.JSON, nullable=False),
    sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
    sa.UniqueConstraint("message_id", "kind", "passage_id", name="uq_passage_verdicts_passage"),
    sa.Index("ix_passage_verdicts_user_id", "user_id", "verdict"),
)

table(
    "turn_receipts",
    sa.Column("receipt_id", sa.Integer, primary_key=True),
    belongs_to("message_id", "messages.message_id"),
    sa.Column("kind", one_of("memory", "chunk", "message", "document", name="passage_kind"), nullable=False),
    sa.Column("passage_id", sa.Integer, nullable=False),
    sa.Column("revision", sa.Integer),
    sa.Column("stage", sa.String(20), nullable=False),
    sa.Column("rank", sa.Integer, nullable=False),
    sa.Column("score", sa.Float, nullable=False),
    sa.Column("reason", sa.String(200), nullable=False),
    sa.Column("injected", sa.Boolean, nullable=False),
    sa.Column("from_char", sa.Integer),
    sa.Column("to_char", sa.Integer),
    sa.Index("ix_turn_receipts_message", "message_id", "receipt_id"),
    sa.Index("ix_turn_receipts_passage", "kind", "passage_id"),
)
