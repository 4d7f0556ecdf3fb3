"""Memories, evidence, revisions, change sets, tombstones; the extraction watermark of a conversation

Revision ID: 0002
Revises: 0001
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from migrations.columns import Key, Timestamp, current_slot, current_timestamp, one_of

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

OPTIONS = {"mysql_charset": "utf8mb4", "mysql_engine": "InnoDB"}


def upgrade() -> None:
    op.create_table(
        "memories",
        sa.Column("memory_id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("user_id", sa.Integer, nullable=False),
        sa.Column(
            "memory_type",
            one_of("fact", "preference", "entity", "project", "decision", name="memory_type"),
            nullable=False,
        ),
        sa.Column("category", sa.String(100)),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("source_conversation_id", sa.Integer),
        sa.Column("source_message_id", sa.Integer),
        sa.Column("created_at", Timestamp, server_default=current_timestamp()),
        sa.Column("last_accessed_at", Timestamp),
        sa.Column("access_count", sa.Integer, server_default=sa.text("0")),
        sa.Column("is_pinned", sa.Boolean, server_default=sa.text("0")),
        sa.Column("is_archived", sa.Boolean, server_default=sa.text("0")),
        sa.Column("confidence", sa.Float, server_default=sa.text("1")),
        sa.Column("embedding", sa.LargeBinary(65_535)),
        sa.Column("space_id", sa.Integer),
        sa.Column(
            "visibility",
            one_of("private", "shared", name="memory_visibility"),
            nullable=False,
            server_default="private",
        ),
        sa.Column("fact_key", Key(120)),
        sa.Column("fact_value", sa.String(500)),
        sa.Column("importance", sa.Float, nullable=False, server_default=sa.text("0.5")),
        sa.Column("valid_from", Timestamp),
        sa.Column("valid_to", Timestamp),
        sa.Column("superseded_by_id", sa.Integer),
        sa.Column("contradicts_id", sa.Integer),
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
        sa.ForeignKeyConstraint(["user_id"], ["users.user_id"], name="fk_memories_user_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["source_conversation_id"],
            ["conversations.conversation_id"],
            name="fk_memories_source_conversation_id",
            ondelete="SET NULL",
        ),
        sa.ForeignKeyConstraint(
            ["source_message_id"], ["messages.message_id"], name="fk_memories_source_message_id", ondelete="SET NULL"
        ),
        *(
            sa.ForeignKeyConstraint([column], ["memories.memory_id"], name=f"fk_memories_{column}", ondelete="SET NULL")
            for column in ("superseded_by_id", "contradicts_id")
        ),
        sa.UniqueConstraint("user_id", "space_slot", "current_slot", name="uq_memories_current_fact"),
        **OPTIONS,
        sqlite_autoincrement=True,
    )
    op.create_index("ix_memories_listing", "memories", ["user_id", "is_archived", "updated_at", "memory_id"])
    op.create_index("ix_memories_fact_key", "memories", ["user_id", "fact_key"])
    op.create_index("ix_memories_review", "memories", ["user_id", "needs_review"])
    op.create_index("ix_memories_source", "memories", ["source_conversation_id"])
    op.create_index("ix_memories_space", "memories", ["space_id", "visibility"])
    op.create_index("ix_memories_statement", "memories", ["user_id", "statement_hash"])
    op.create_table(
        "memory_change_sets",
        sa.Column("change_set_id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("user_id", sa.Integer, nullable=False),
        sa.Column("cause", sa.String(30), nullable=False),
        sa.Column("conversation_id", sa.Integer),
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
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.user_id"], name="fk_memory_change_sets_user_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["conversation_id"],
            ["conversations.conversation_id"],
            name="fk_memory_change_sets_conversation_id",
            ondelete="SET NULL",
        ),
        **OPTIONS,
        sqlite_autoincrement=True,
    )
    op.create_index("ix_memory_change_sets_user", "memory_change_sets", ["user_id", "change_set_id"])
    op.create_index("ix_memory_change_sets_conversation_id", "memory_change_sets", ["conversation_id"])
    op.create_table(
        "memory_evidence",
        sa.Column("evidence_id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("memory_id", sa.Integer, nullable=False),
        sa.Column("message_id", sa.Integer, nullable=False),
        sa.Column("quote", sa.Text, nullable=False),
        sa.Column("start", sa.Integer, nullable=False),
        sa.Column("end", sa.Integer, nullable=False),
        sa.Column("said_at", Timestamp, nullable=False),
        sa.Column("change_set_id", sa.Integer),
        sa.ForeignKeyConstraint(
            ["memory_id"], ["memories.memory_id"], name="fk_memory_evidence_memory_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["message_id"], ["messages.message_id"], name="fk_memory_evidence_message_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["change_set_id"],
            ["memory_change_sets.change_set_id"],
            name="fk_memory_evidence_change_set_id",
            ondelete="SET NULL",
        ),
        sa.UniqueConstraint("memory_id", "message_id", "start", "end", name="uq_memory_evidence_span"),
        **OPTIONS,
        sqlite_autoincrement=True,
    )
    op.create_index("ix_memory_evidence_message_id", "memory_evidence", ["message_id"])
    op.create_table(
        "memory_revisions",
        sa.Column("revision_id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("memory_id", sa.Integer, nullable=False),
        sa.Column("revision", sa.Integer, nullable=False),
        sa.Column("snapshot", sa.JSON, nullable=False),
        sa.Column("statement_hash", Key(64), nullable=False),
        sa.Column("actor", sa.String(30), nullable=False),
        sa.Column("cause", sa.String(30), nullable=False),
        sa.Column("change_set_id", sa.Integer),
        sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
        sa.ForeignKeyConstraint(
            ["memory_id"], ["memories.memory_id"], name="fk_memory_revisions_memory_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["change_set_id"],
            ["memory_change_sets.change_set_id"],
            name="fk_memory_revisions_change_set_id",
            ondelete="SET NULL",
        ),
        sa.UniqueConstraint("memory_id", "revision", name="uq_memory_revisions_memory_id_revision"),
        **OPTIONS,
        sqlite_autoincrement=True,
    )
    op.create_index("ix_memory_revisions_statement_hash", "memory_revisions", ["statement_hash"])
    op.create_index("ix_memory_revisions_change_set_id", "memory_revisions", ["change_set_id"])
    op.create_table(
        "memory_tombstones",
        sa.Column("user_id", sa.Integer, nullable=False),
        sa.Column("digest", Key(64), nullable=False),
        sa.Column("kind", sa.String(10), nullable=False),
        sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
        sa.PrimaryKeyConstraint("user_id", "digest", name="pk_memory_tombstones"),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.user_id"], name="fk_memory_tombstones_user_id", ondelete="CASCADE"
        ),
        **OPTIONS,
    )
    with op.batch_alter_table("conversations") as batch:
        batch.add_column(sa.Column("uses_memory", sa.Boolean, nullable=False, server_default=sa.text("1")))
        batch.add_column(sa.Column("extracted_through", sa.Integer))
        batch.add_column(sa.Column("extraction_due", sa.Boolean, nullable=False, server_default=sa.text("0")))
        batch.create_index("ix_conversations_extraction_due", ["extraction_due", "updated_at"])


def downgrade() -> None:
    with op.batch_alter_table("conversations") as batch:
        batch.drop_index("ix_conversations_extraction_due")
        for column in ("extraction_due", "extracted_through", "uses_memory"):
            batch.drop_column(column)
    for table in ("memory_tombstones", "memory_revisions", "memory_evidence", "memory_change_sets", "memories"):
        op.drop_table(table)
