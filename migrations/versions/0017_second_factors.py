"""The second step of signing in: one-time passwords and recovery codes

Revision ID: 0017
Revises: 0016
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

AT = sa.DateTime().with_variant(mysql.TIMESTAMP(fsp=6), "mysql", "mariadb")
EXACT = mysql.VARCHAR(64, charset="utf8mb4", collation="utf8mb4_bin")


def upgrade() -> None:
    on_mysql = op.get_bind().dialect.name in ("mysql", "mariadb")
    op.create_table(
        "user_second_factors",
        sa.Column(
            "user_id",
            sa.Integer,
            sa.ForeignKey("users.user_id", name="fk_user_second_factors_user_id", ondelete="CASCADE"),
            primary_key=True,
            autoincrement=False,
        ),
        sa.Column("secret", sa.String(64).with_variant(EXACT, "mysql", "mariadb"), nullable=False),
        sa.Column("last_step", sa.Integer, nullable=False, server_default=sa.text("0")),
        sa.Column("recovery_hashes", sa.JSON, nullable=False),
        sa.Column("confirmed_at", AT, nullable=True),
        sa.Column(
            "created_at", AT, nullable=False, server_default=sa.text(f"CURRENT_TIMESTAMP{'(6)' if on_mysql else ''}")
        ),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
    )


def downgrade() -> None:
    op.drop_table("user_second_factors")
