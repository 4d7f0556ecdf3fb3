"""Originals of documents of spaces: the content in storage that a text was read from

Revision ID: 0044
Revises: 0043
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from migrations.columns import Key

revision = "0044"
down_revision = "0043"
branch_labels = None
depends_on = None

INDEX = "ix_space_documents_digest"
COLUMNS: dict[str, Any] = {"digest": Key(64), "media_type": Key(100), "file_name": sa.String(255)}


def upgrade() -> None:
    inspector = sa.inspect(op.get_bind())
    there = {column["name"] for column in inspector.get_columns("space_documents")}
    for name, kind in COLUMNS.items():
        if name not in there:
            op.add_column("space_documents", sa.Column(name, kind))
    if INDEX not in {index["name"] for index in inspector.get_indexes("space_documents")}:
        op.create_index(INDEX, "space_documents", ["digest"])


def downgrade() -> None:
    op.drop_index(INDEX, "space_documents")
    for name in COLUMNS:
        op.drop_column("space_documents", name)
