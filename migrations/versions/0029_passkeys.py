"""Passkeys

Revision ID: 0029
Revises: 0028
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None

AT = sa.DateTime().with_variant(mysql.TIMESTAMP(fsp=6), "mysql", "mariadb")


def upgrade() -> None:
    on_mysql = op.get_bind().dialect.name in ("mysql", "mariadb")
    exact = mysql.VARCHAR(64, charset="utf8mb4", collation="utf8mb4_bin")
    op.create_table(
        "user_passkeys",
        sa.Column("passkey_id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column(
            "user_id",
            sa.Integer,
            sa.ForeignKey("users.user_id", name="fk_user_passkeys_user_id", ondelete="CASCADE"),
            nullable=False,
        ),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("credential_hash", sa.String(64).with_variant(exact, "mysql", "mariadb"), nullable=False),
        sa.Column("credential_id", sa.LargeBinary, nullable=False),
        sa.Column("public_key", sa.LargeBinary, nullable=False),
        sa.Column("sign_count", sa.BigInteger, nullable=False, server_default=sa.text("0")),
        sa.Column(
            "created_at", AT, nullable=False, server_default=sa.text(f"CURRENT_TIMESTAMP{'(6)' if on_mysql else ''}")
        ),
        sa.Column("last_used_at", AT, nullable=True),
        sa.UniqueConstraint("credential_hash", name="uq_user_passkeys_credential_hash"),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
        sqlite_autoincrement=True,
    )
    op.create_index("ix_user_passkeys_user_id", "user_passkeys", ["user_id"])


def downgrade() -> None:
    op.drop_table("user_passkeys")
