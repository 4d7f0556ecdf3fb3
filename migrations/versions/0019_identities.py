"""Accounts at an OpenID provider

Revision ID: 0019
Revises: 0018
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

AT = sa.DateTime().with_variant(mysql.TIMESTAMP(fsp=6), "mysql", "mariadb")


def upgrade() -> None:
    on_mysql = op.get_bind().dialect.name in ("mysql", "mariadb")
    op.create_table(
        "user_identities",
        sa.Column("identity_id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column(
            "user_id",
            sa.Integer,
            sa.ForeignKey("users.user_id", name="fk_user_identities_user_id", ondelete="CASCADE"),
            nullable=False,
        ),
        sa.Column("issuer", _exact(255), nullable=False),
        sa.Column("subject", _exact(255), nullable=False),
        sa.Column(
            "created_at", AT, nullable=False, server_default=sa.text(f"CURRENT_TIMESTAMP{'(6)' if on_mysql else ''}")
        ),
        sa.UniqueConstraint("issuer", "subject", name="uq_user_identities_issuer_subject"),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
        sqlite_autoincrement=True,
    )
    op.create_index("ix_user_identities_user_id", "user_identities", ["user_id"])


def downgrade() -> None:
    op.drop_table("user_identities")


def _exact(length: int) -> sa.types.TypeEngine[str]:
    exact = mysql.VARCHAR(length, charset="utf8mb4", collation="utf8mb4_bin")
    return sa.String(length).with_variant(exact, "mysql", "mariadb")
