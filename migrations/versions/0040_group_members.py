"""Which members a group of the OpenID provider brought into a space

Revision ID: 0040
Revises: 0039
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0040"
down_revision = "0039"
branch_labels = None
depends_on = None


def upgrade() -> None:
    columns = {column["name"] for column in sa.inspect(op.get_bind()).get_columns("space_members")}
    if "by_group" not in columns:
        op.add_column("space_members", sa.Column("by_group", sa.Boolean, nullable=False, server_default=sa.text("0")))


def downgrade() -> None:
    op.drop_column("space_members", "by_group")
