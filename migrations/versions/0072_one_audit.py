"""What admins look at is in the audit alone

Revision ID: 0072
Revises: 0071
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0072"
down_revision = "0071"

_NAME = "admin_access_log"
_TIME = sa.DateTime().with_variant(mysql.TIMESTAMP(fsp=6), "mysql", "mariadb")
_INDEXES = {f"ix_{_NAME}_{column}": [column] for column in ("admin_id", "user_id")}


def upgrade() -> None:
    op.drop_table(_NAME, if_exists=True)


def downgrade() -> None:
    clock = "CURRENT_TIMESTAMP" if op.get_context().dialect.name == "sqlite" else "CURRENT_TIMESTAMP(6)"
    if not sa.inspect(op.get_bind()).has_table(_NAME):
        op.create_table(
            _NAME,
            sa.Column("access_id", sa.Integer, primary_key=True, autoincrement=True),
            sa.Column("admin_id", sa.Integer, sa.ForeignKey("users.user_id", ondelete="SET NULL")),
            sa.Column("user_id", sa.Integer, sa.ForeignKey("users.user_id", ondelete="CASCADE"), nullable=False),
            sa.Column("what", sa.String(50), nullable=False),
            sa.Column("created_at", _TIME, nullable=False, server_default=sa.text(clock)),
            mysql_charset="utf8mb4",
            mysql_engine="InnoDB",
        )
    known = {index["name"] for index in sa.inspect(op.get_bind()).get_indexes(_NAME)}
    for name, columns in _INDEXES.items():
        if name not in known:
            op.create_index(name, _NAME, columns)
