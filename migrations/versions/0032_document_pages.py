"""Pages of documents of spaces

Revision ID: 0032
Revises: 0031
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None


def upgrade() -> None:
    inspector = sa.inspect(op.get_bind())
    if "pages" not in {column["name"] for column in inspector.get_columns("space_documents")}:
        op.add_column("space_documents", sa.Column("pages", sa.Integer, nullable=False, server_default=sa.text("0")))
    if "page" not in {column["name"] for column in inspector.get_columns("document_chunks")}:
        op.add_column("document_chunks", sa.Column("page", sa.Integer))


def downgrade() -> None:
    op.drop_column("document_chunks", "page")
    op.drop_column("space_documents", "pages")
