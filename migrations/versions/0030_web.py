"""The search engine of the installation; conversations that may look on the web

Revision ID: 0030
Revises: 0029
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from migrations.columns import Key, Timestamp, current_timestamp

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None


def upgrade() -> None:
    inspector = sa.inspect(op.get_bind())
    if "uses_web" not in {column["name"] for column in inspector.get_columns("conversations")}:
        op.add_column("conversations", sa.Column("uses_web", sa.Boolean, nullable=False, server_default=sa.text("0")))
    op.create_table(
        "web_access",
        sa.Column("access_id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("provider", Key(20), nullable=False),
        sa.Column("address", sa.String(500), nullable=False),
        sa.Column("secrets", sa.Text),
        sa.Column("key_set", sa.Boolean, nullable=False, server_default=sa.text("0")),
        sa.Column("is_enabled", sa.Boolean, nullable=False, server_default=sa.text("0")),
        sa.Column("updated_at", Timestamp, nullable=False, server_default=current_timestamp()),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
        sqlite_autoincrement=True,
    )


def downgrade() -> None:
    op.drop_table("web_access")
    op.drop_column("conversations", "uses_web")
