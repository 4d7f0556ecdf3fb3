"""E-mail about accounts

Revision ID: 0035
Revises: 0034
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None

AT = sa.DateTime().with_variant(mysql.TIMESTAMP(fsp=6), "mysql", "mariadb")


def upgrade() -> None:
    on_mysql = op.get_bind().dialect.name in ("mysql", "mariadb")
    known = {column["name"] for column in sa.inspect(op.get_bind()).get_columns("users")}
    if "email_verified_at" not in known:
        op.add_column("users", sa.Column("email_verified_at", AT, nullable=True))
    op.create_table(
        "account_mails",
        sa.Column("mail_id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("kind", _exact(20), nullable=False),
        sa.Column("email", _exact(254), nullable=False),
        sa.Column(
            "user_id",
            sa.Integer,
            sa.ForeignKey("users.user_id", name="fk_account_mails_user_id", ondelete="CASCADE"),
            nullable=True,
        ),
        sa.Column("auth_version", sa.Integer, nullable=False, server_default=sa.text("0")),
        sa.Column(
            "invited_by",
            sa.Integer,
            sa.ForeignKey("users.user_id", name="fk_account_mails_invited_by", ondelete="SET NULL"),
            nullable=True,
        ),
        sa.Column("is_refused", sa.Boolean, nullable=False, server_default=sa.text("0")),
        sa.Column(
            "created_at", AT, nullable=False, server_default=sa.text(f"CURRENT_TIMESTAMP{'(6)' if on_mysql else ''}")
        ),
        sa.Column("sent_at", AT, nullable=True),
        sa.Column("used_at", AT, nullable=True),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
        sqlite_autoincrement=True,
    )
    op.create_index("ix_account_mails_email_kind", "account_mails", ["email", "kind"])
    for column in ("user_id", "invited_by", "created_at"):
        op.create_index(f"ix_account_mails_{column}", "account_mails", [column])


def downgrade() -> None:
    op.drop_table("account_mails")
    op.drop_column("users", "email_verified_at")


def _exact(length: int) -> sa.types.TypeEngine[str]:
    exact = mysql.VARCHAR(length, charset="utf8mb4", collation="utf8mb4_bin")
    return sa.String(length).with_variant(exact, "mysql", "mariadb")
