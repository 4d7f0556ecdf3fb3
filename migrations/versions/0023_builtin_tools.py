"""Whether the models of a connection are offered arithmetic and dates

Revision ID: 0023
Revises: 0022
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    columns = {column["name"] for column in sa.inspect(op.get_bind()).get_columns("model_connections")}
    if "builtin_tools" not in columns:
        op.add_column(
            "model_connections", sa.Column("builtin_tools", sa.Boolean, nullable=False, server_default=sa.text("1"))
        )


def downgrade() -> None:
    op.drop_column("model_connections", "builtin_tools")
