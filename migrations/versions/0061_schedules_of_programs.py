"""The token of the program that made a schedule

Revision ID: 0061
Revises: 0060
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0061"
down_revision = "0060"
branch_labels = None
depends_on = None


def upgrade() -> None:
    if "token_id" not in {column["name"] for column in sa.inspect(op.get_bind()).get_columns("schedules")}:
        op.add_column("schedules", sa.Column("token_id", sa.Integer, nullable=True))


def downgrade() -> None:
    op.drop_column("schedules", "token_id")
