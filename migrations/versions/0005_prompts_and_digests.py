"""Prompts with versions; digests of conversations with their history

Revision ID: 0005
Revises: 0004
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from migrations.columns import Key, Timestamp, current_timestamp, one_of

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

OPTIONS = {"mysql_charset": "utf8mb4", "mysql_engine": "InnoDB"}
PROMPT_ORIGINS = ("default", "admin")
DIGEST_SOURCES = ("model", "user", "service")


def upgrade() -> None:
    op.create_table(
        "prompt_versions",
        sa.Column("version_id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("name", Key(100), nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("prompt_text", sa.Text, nullable=False),
        sa.Column("origin", one_of(*PROMPT_ORIGINS, name="prompt_origin"), nullable=False),
        sa.Column("note", sa.String(500)),
        sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
        sa.Column("created_by", sa.Integer),
        sa.ForeignKeyConstraint(
            ["created_by"], ["users.user_id"], name="fk_prompt_versions_created_by", ondelete="SET NULL"
        ),
        sa.UniqueConstraint("name", "version", name="uq_prompt_versions_name_version"),
        **OPTIONS,
    )
    op.create_index("ix_prompt_versions_created_by", "prompt_versions", ["created_by"])
    op.create_table(
        "prompts",
        sa.Column("name", Key(100), primary_key=True),
        sa.Column("active_version", sa.Integer, nullable=False),
        sa.Column("activated_at", Timestamp, nullable=False, server_default=current_timestamp()),
        sa.Column("activated_by", sa.Integer),
        sa.ForeignKeyConstraint(
            ["name", "active_version"],
            ["prompt_versions.name", "prompt_versions.version"],
            name="fk_prompts_active_version",
        ),
        sa.ForeignKeyConstraint(
            ["activated_by"], ["users.user_id"], name="fk_prompts_activated_by", ondelete="SET NULL"
        ),
        **OPTIONS,
    )
    op.create_index("ix_prompts_activated_by", "prompts", ["activated_by"])
    op.create_table(
        "prompt_activations",
        sa.Column("activation_id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("name", Key(100), nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("activated_at", Timestamp, nullable=False, server_default=current_timestamp()),
        sa.Column("activated_by", sa.Integer),
        sa.ForeignKeyConstraint(
            ["name", "version"],
            ["prompt_versions.name", "prompt_versions.version"],
            name="fk_prompt_activations_version",
        ),
        sa.ForeignKeyConstraint(
            ["activated_by"], ["users.user_id"], name="fk_prompt_activations_activated_by", ondelete="SET NULL"
        ),
        **OPTIONS,
    )
    op.create_index("ix_prompt_activations_activated_by", "prompt_activations", ["activated_by"])
    op.create_table(
        "conversation_memories",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("conversation_id", sa.Integer, nullable=False),
        sa.Column("memory_data", sa.JSON, nullable=False),
        sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
        sa.Column("updated_at", Timestamp, nullable=False, server_default=current_timestamp()),
        sa.Column("version", sa.Integer, nullable=False, server_default=sa.text("1")),
        sa.Column("as_of", Timestamp, nullable=False, server_default=current_timestamp()),
        sa.ForeignKeyConstraint(
            ["conversation_id"],
            ["conversations.conversation_id"],
            name="fk_conversation_memories_conversation_id",
            ondelete="CASCADE",
        ),
        sa.UniqueConstraint("conversation_id", name="uq_conversation_memories_conversation_id"),
        **OPTIONS,
    )
    op.create_table(
        "conversation_memory_versions",
        sa.Column("version_id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("conversation_memory_id", sa.Integer, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("memory_data", sa.JSON, nullable=False),
        sa.Column("source", one_of(*DIGEST_SOURCES, name="digest_source"), nullable=False),
        sa.Column("model", sa.String(200)),
        sa.Column("prompt_version", sa.String(100)),
        sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
        sa.ForeignKeyConstraint(
            ["conversation_memory_id"],
            ["conversation_memories.id"],
            name="fk_conversation_memory_versions_conversation_memory_id",
            ondelete="CASCADE",
        ),
        sa.UniqueConstraint(
            "conversation_memory_id", "version", name="uq_conversation_memory_versions_conversation_memory_id_version"
        ),
        **OPTIONS,
    )


def downgrade() -> None:
    for table in (
        "conversation_memory_versions",
        "conversation_memories",
        "prompt_activations",
        "prompts",
        "prompt_versions",
    ):
        op.drop_table(table)
