"""Sessions kept on the server, what a token may do, and the audit

Revision ID: 0012
Revises: 0011
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

AT = sa.DateTime().with_variant(mysql.TIMESTAMP(fsp=6), "mysql", "mariadb")
OPTIONS = {"mysql_charset": "utf8mb4", "mysql_engine": "InnoDB", "sqlite_autoincrement": True}


def upgrade() -> None:
    inspector = sa.inspect(op.get_bind())
    for table, columns in _columns().items():
        there = {column["name"] for column in inspector.get_columns(table)}
        for column in columns:
            if column.name not in there:
                op.add_column(table, column)
    op.create_table(
        "user_sessions",
        sa.Column("session_id", sa.Integer, primary_key=True, autoincrement=True),
        _user("user_sessions", "user_id", "CASCADE", nullable=False),
        sa.Column("secret_hash", _key(64), nullable=False),
        sa.Column("auth_version", sa.Integer, nullable=False),
        sa.Column("user_agent", sa.String(300), nullable=False, server_default=""),
        sa.Column("address", sa.String(64), nullable=False, server_default=""),
        sa.Column("created_at", AT, nullable=False, server_default=_now()),
        sa.Column("last_seen_at", AT, nullable=False, server_default=_now()),
        sa.Column("proved_at", AT, nullable=False, server_default=_now()),
        sa.Column("expires_at", AT, nullable=True),
        sa.UniqueConstraint("secret_hash", name="uq_user_sessions_secret_hash"),
        **OPTIONS,
    )
    op.create_index("ix_user_sessions_user_id", "user_sessions", ["user_id"])
    op.create_index("ix_user_sessions_expires_at", "user_sessions", ["expires_at"])
    op.create_table(
        "audit_events",
        sa.Column("event_id", sa.Integer, primary_key=True, autoincrement=True),
        _user("audit_events", "user_id", "CASCADE", nullable=False),
        sa.Column("action", _key(50), nullable=False),
        sa.Column("actor_kind", _key(20), nullable=False),
        _user("audit_events", "actor_id", "SET NULL", nullable=True),
        sa.Column("actor_name", sa.String(200), nullable=False, server_default=""),
        sa.Column("token_id", sa.Integer, nullable=True),
        sa.Column("what", sa.String(300), nullable=False, server_default=""),
        sa.Column("detail", sa.JSON, nullable=True),
        sa.Column("address", sa.String(64), nullable=False, server_default=""),
        sa.Column("created_at", AT, nullable=False, server_default=_now()),
        **OPTIONS,
    )
    op.create_index("ix_audit_events_listing", "audit_events", ["user_id", "event_id"])
    op.create_index("ix_audit_events_actor_id", "audit_events", ["actor_id"])
    op.create_index("ix_audit_events_created_at", "audit_events", ["created_at"])
    op.execute(
        "INSERT INTO audit_events (user_id, action, actor_kind, actor_id, actor_name, what, created_at) "
        "SELECT looks.user_id, 'admin_looked', 'person', looks.admin_id, COALESCE(users.name, ''), looks.what, "
        "looks.created_at FROM admin_access_log looks LEFT JOIN users ON users.user_id = looks.admin_id "
        "ORDER BY looks.access_id"
    )


def downgrade() -> None:
    op.drop_table("audit_events")
    op.drop_table("user_sessions")
    for table, columns in _columns().items():
        for column in columns:
            op.drop_column(table, column.name)


def _columns() -> dict[str, tuple[sa.Column[object], ...]]:
    return {
        "api_tokens": (
            sa.Column("scopes", sa.JSON, nullable=True),
            sa.Column("last_used_address", sa.String(64), nullable=True),
        ),
        "users": (sa.Column("must_change_password", sa.Boolean, nullable=False, server_default=sa.text("0")),),
    }


def _user(table: str, name: str, on_delete: str, *, nullable: bool) -> sa.Column[int]:
    reference = sa.ForeignKey("users.user_id", name=f"fk_{table}_{name}", ondelete=on_delete)
    return sa.Column(name, sa.Integer, reference, nullable=nullable)


def _key(length: int) -> sa.types.TypeEngine[str]:
    exact = mysql.VARCHAR(length, charset="utf8mb4", collation="utf8mb4_bin")
    return sa.String(length).with_variant(exact, "mysql", "mariadb")


def _now() -> sa.TextClause:
    on_mysql = op.get_bind().dialect.name in ("mysql", "mariadb")
    return sa.text("CURRENT_TIMESTAMP(6)" if on_mysql else "CURRENT_TIMESTAMP")
