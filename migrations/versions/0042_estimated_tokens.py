"""What a prompt was estimated at and how long it was, beside what the server counted; how long files are

Revision ID: 0042
Revises: 0041
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0042"
down_revision = "0041"
branch_labels = None
depends_on = None


def upgrade() -> None:
    there = {column["name"] for column in sa.inspect(op.get_bind()).get_columns("usage_records")}
    for name in ("estimated_tokens", "characters"):
        if name not in there:
            op.add_column("usage_records", sa.Column(name, sa.Integer))
    if "characters" not in {column["name"] for column in sa.inspect(op.get_bind()).get_columns("files")}:
        op.add_column("files", sa.Column("characters", sa.Integer, nullable=False, server_default=sa.text("0")))


def downgrade() -> None:
    op.drop_column("files", "characters")
    for name in ("characters", "estimated_tokens"):
        op.drop_column("usage_records", name)
