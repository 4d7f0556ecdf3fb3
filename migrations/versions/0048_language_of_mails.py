"""The language an e-mail about an account is written in

Revision ID: 0048
Revises: 0047
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from migrations.columns import Key

revision = "0048"
down_revision = "0047"
branch_labels = None
depends_on = None


def upgrade() -> None:
    there = {column["name"] for column in sa.inspect(op.get_bind()).get_columns("account_mails")}
    if "language" not in there:
        op.add_column("account_mails", sa.Column("language", Key(8), nullable=False, server_default=""))


def downgrade() -> None:
    op.drop_column("account_mails", "language")
