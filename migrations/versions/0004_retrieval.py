"""Chunks, vectors of messages, passage versions, receipts and verdicts

Revision ID: 0004
Revises: 0003
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from migrations.columns import Timestamp, current_timestamp, one_of

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

OPTIONS = {"mysql_charset": "utf8mb4", "mysql_engine": "InnoDB"}
KINDS = ("memory", "chunk", "message", "document")


def _cascade(table: str, column: str, to: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [f"{to}.{column}"], name=f"fk_{table}_{column}", ondelete="CASCADE")


def upgrade() -> None:
    with op.batch_alter_table("conversations") as batch:
        batch.add_column(sa.Column("indexed_through", sa.Integer, nullable=True))
        batch.add_column(sa.Column("index_due", sa.Boolean, nullable=False, server_default=sa.text("0")))
        batch.add_column(sa.Column("summary_due", sa.Boolean, nullable=False, server_default=sa.text("0")))
        batch.create_index("ix_conversations_index_due", ["index_due", "updated_at"])
        batch.create_index("ix_conversations_summary_due", ["summary_due", "updated_at"])
    # What was said before this version is indexed by the first sweep.
    op.execute(sa.text("UPDATE conversations SET index_due = 1, updated_at = updated_at WHERE is_temporary = 0"))
    op.create_table(
        "conversation_chunks",
        sa.Column("chunk_id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("conversation_id", sa.Integer, nullable=False),
        sa.Column("user_id", sa.Integer),
        sa.Column("space_id", sa.Integer),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("embedding", sa.LargeBinary(65_535)),
        sa.Column("embedding_model", sa.String(200)),
        sa.Column("message_range_start", sa.Integer, nullable=False),
        sa.Column("message_range_end", sa.Integer, nullable=False),
        sa.Column("model", sa.String(200)),
        sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
        _cascade("conversation_chunks", "conversation_id", "conversations"),
        _cascade("conversation_chunks", "user_id", "users"),
        sa.UniqueConstraint(
            "conversation_id", "message_range_start", "message_range_end", name="uq_conversation_chunks_range"
        ),
        **OPTIONS,
    )
    op.create_index("ix_conversation_chunks_user_id", "conversation_chunks", ["user_id", "space_id"])
    op.create_table(
        "message_embeddings",
        sa.Column("message_id", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("user_id", sa.Integer, nullable=False),
        sa.Column("model", sa.String(200), nullable=False),
        sa.Column("embedding", sa.LargeBinary(65_535), nullable=False),
        sa.PrimaryKeyConstraint("message_id", name="pk_message_embeddings"),
        _cascade("message_embeddings", "message_id", "messages"),
        _cascade("message_embeddings", "user_id", "users"),
        **OPTIONS,
    )
    op.create_index("ix_message_embeddings_user_id", "message_embeddings", ["user_id", "model"])
    op.create_table(
        "passage_versions",
        sa.Column("user_id", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("version", sa.Integer, nullable=False, server_default=sa.text("0")),
        sa.Column("memories_through", sa.Integer),
        sa.PrimaryKeyConstraint("user_id", name="pk_passage_versions"),
        _cascade("passage_versions", "user_id", "users"),
        **OPTIONS,
    )
    op.create_table(
        "passage_changes",
        sa.Column("change_id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("user_id", sa.Integer, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column(
            "what", one_of("conversation", "memories", "documents", "verdicts", name="passage_change"), nullable=False
        ),
        sa.Column("ref_id", sa.Integer, nullable=False, server_default=sa.text("0")),
        sa.Column("from_id", sa.Integer, nullable=False, server_default=sa.text("0")),
        _cascade("passage_changes", "user_id", "users"),
        **OPTIONS,
    )
    op.create_index("ix_passage_changes_version", "passage_changes", ["user_id", "version"])
    op.create_table(
        "turn_receipts",
        sa.Column("receipt_id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("message_id", sa.Integer, nullable=False),
        sa.Column("kind", one_of(*KINDS, name="passage_kind"), nullable=False),
        sa.Column("passage_id", sa.Integer, nullable=False),
        sa.Column("revision", sa.Integer),
        sa.Column("stage", sa.String(20), nullable=False),
        sa.Column("rank", sa.Integer, nullable=False),
        sa.Column("score", sa.Float, nullable=False),
        sa.Column("reason", sa.String(200), nullable=False),
        sa.Column("injected", sa.Boolean, nullable=False),
        _cascade("turn_receipts", "message_id", "messages"),
        **OPTIONS,
    )
    op.create_index("ix_turn_receipts_message", "turn_receipts", ["message_id", "receipt_id"])
    op.create_index("ix_turn_receipts_passage", "turn_receipts", ["kind", "passage_id"])
    op.create_table(
        "passage_verdicts",
        sa.Column("verdict_id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("user_id", sa.Integer, nullable=False),
        sa.Column("message_id", sa.Integer, nullable=False),
        sa.Column("kind", one_of(*KINDS, name="verdict_kind"), nullable=False),
        sa.Column("passage_id", sa.Integer, nullable=False),
        sa.Column(
            "verdict", one_of("wrong", "outdated", "not_relevant", "forget", name="passage_verdict"), nullable=False
        ),
        sa.Column("terms", sa.JSON, nullable=False),
        sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
        _cascade("passage_verdicts", "user_id", "users"),
        _cascade("passage_verdicts", "message_id", "messages"),
        sa.UniqueConstraint("message_id", "kind", "passage_id", name="uq_passage_verdicts_passage"),
        **OPTIONS,
    )
    op.create_index("ix_passage_verdicts_user_id", "passage_verdicts", ["user_id", "verdict"])


def downgrade() -> None:
    for table in (
        "passage_verdicts",
        "turn_receipts",
        "passage_changes",
        "passage_versions",
        "message_embeddings",
        "conversation_chunks",
    ):
        op.drop_table(table)
    with op.batch_alter_table("conversations") as batch:
        batch.drop_index("ix_conversations_summary_due")
        batch.drop_index("ix_conversations_index_due")
        batch.drop_column("summary_due")
        batch.drop_column("index_due")
        batch.drop_column("indexed_through")
