"""Spaces, members, documents and their parts; the space of a conversation

Revision ID: 0007
Revises: 0006
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

from migrations.columns import Key, Timestamp, current_timestamp, one_of

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

OPTIONS = {"mysql_charset": "utf8mb4", "mysql_engine": "InnoDB"}
NEVER_TWICE = {"sqlite_autoincrement": True}


def _refers(table: str, column: str, to: str, target: str | None = None, ondelete: str = "CASCADE"):
    return sa.ForeignKeyConstraint(
        [column], [f"{to}.{target or column}"], name=f"fk_{table}_{column}", ondelete=ondelete
    )


def _time(name: str, *, nullable: bool = False) -> sa.Column:
    return sa.Column(name, Timestamp, nullable=nullable, server_default=None if nullable else current_timestamp())


def upgrade() -> None:
    op.create_table(
        "spaces",
        sa.Column("space_id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("kind", one_of("project", "legacy", name="space_kind"), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("description", sa.Text, nullable=False),
        sa.Column("instructions", sa.Text, nullable=False),
        sa.Column("persona", sa.String(50)),
        _time("created_at"),
        _time("updated_at"),
        **OPTIONS,
        **NEVER_TWICE,
    )
    op.create_table(
        "space_members",
        sa.Column("space_member_id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("space_id", sa.Integer, nullable=False),
        sa.Column("user_id", sa.Integer),
        sa.Column("email", Key(254)),
        sa.Column("role", one_of("owner", "member", name="space_role"), nullable=False),
        sa.Column("status", one_of("invited", "active", name="space_member_status"), nullable=False),
        sa.Column("invited_by", sa.Integer),
        _time("created_at"),
        _time("joined_at", nullable=True),
        _refers("space_members", "space_id", "spaces"),
        _refers("space_members", "user_id", "users"),
        _refers("space_members", "invited_by", "users", "user_id", "SET NULL"),
        sa.UniqueConstraint("space_id", "user_id", name="uq_space_members_space_id_user_id"),
        sa.UniqueConstraint("space_id", "email", name="uq_space_members_space_id_email"),
        **OPTIONS,
        **NEVER_TWICE,
    )
    op.create_index("ix_space_members_user_id", "space_members", ["user_id", "status", "space_id"])
    op.create_index("ix_space_members_invited_by", "space_members", ["invited_by"])
    op.create_table(
        "space_versions",
        sa.Column("space_id", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("version", sa.Integer, nullable=False, server_default=sa.text("1")),
        sa.PrimaryKeyConstraint("space_id", name="pk_space_versions"),
        _refers("space_versions", "space_id", "spaces"),
        **OPTIONS,
    )
    op.create_table(
        "space_documents",
        sa.Column("document_id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("space_id", sa.Integer, nullable=False),
        sa.Column("user_id", sa.Integer),
        sa.Column("title", sa.String(255), nullable=False),
        sa.Column("content", sa.Text().with_variant(mysql.MEDIUMTEXT(), "mysql", "mariadb"), nullable=False),
        sa.Column("size", sa.Integer, nullable=False),
        sa.Column(
            "status",
            one_of("queued", "indexing", "ready", "failed", name="document_status"),
            nullable=False,
            server_default="queued",
        ),
        sa.Column("chunks_total", sa.Integer, nullable=False, server_default=sa.text("0")),
        sa.Column("chunks_done", sa.Integer, nullable=False, server_default=sa.text("0")),
        _time("created_at"),
        _time("updated_at"),
        _refers("space_documents", "space_id", "spaces"),
        _refers("space_documents", "user_id", "users", ondelete="SET NULL"),
        **OPTIONS,
        **NEVER_TWICE,
    )
    op.create_index("ix_space_documents_space_id", "space_documents", ["space_id", "document_id"])
    op.create_index("ix_space_documents_user_id", "space_documents", ["user_id"])
    op.create_index("ix_space_documents_status", "space_documents", ["status", "updated_at"])
    op.create_table(
        "document_chunks",
        sa.Column("document_chunk_id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("document_id", sa.Integer, nullable=False),
        sa.Column("space_id", sa.Integer, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("embedding", sa.LargeBinary(65_535)),
        sa.Column("embedding_model", sa.String(200)),
        _refers("document_chunks", "document_id", "space_documents"),
        _refers("document_chunks", "space_id", "spaces"),
        sa.UniqueConstraint("document_id", "position", name="uq_document_chunks_position"),
        **OPTIONS,
        **NEVER_TWICE,
    )
    op.create_index("ix_document_chunks_space_id", "document_chunks", ["space_id", "document_chunk_id"])
    with op.batch_alter_table("conversations") as batch:
        batch.add_column(sa.Column("space_id", sa.Integer))
        batch.create_foreign_key("fk_conversations_space_id", "spaces", ["space_id"], ["space_id"], ondelete="SET NULL")
        batch.create_index("ix_conversations_space", ["space_id", "user_id", "is_archived", "updated_at"])


def downgrade() -> None:
    with op.batch_alter_table("conversations") as batch:
        batch.drop_constraint("fk_conversations_space_id", type_="foreignkey")
        batch.drop_index("ix_conversations_space")
        batch.drop_column("space_id")
    for table in ("document_chunks", "space_documents", "space_versions", "space_members", "spaces"):
        op.drop_table(table)
