"""Usage added up by day

Revision ID: 0070
Revises: 0069
"""

import sqlalchemy as sa
from alembic import op

revision = "0070"
down_revision = "0069"

_SOURCES = ("chat", "schedule", "background")
_INDEXES = {
    "ix_usage_sums_user": ["user_id", "day"],
    "ix_usage_sums_people": ["source", "day", "user_id"],
}


def upgrade() -> None:
    if not _has_table("usage_sums"):
        _create_table()
    known = {index["name"] for index in sa.inspect(op.get_bind()).get_indexes("usage_sums")}
    for name, columns in _INDEXES.items():
        if name not in known:
            op.create_index(name, "usage_sums", columns)
    if not _has_table("usage_marks"):
        op.create_table(
            "usage_marks",
            sa.Column("mark_id", sa.Integer, primary_key=True, autoincrement=True),
            sa.Column("usage_id", sa.Integer, nullable=False),
            mysql_charset="utf8mb4",
            mysql_engine="InnoDB",
        )
    op.execute("INSERT INTO usage_marks (mark_id, usage_id) SELECT 1, 0 WHERE NOT EXISTS (SELECT 1 FROM usage_marks)")


def _create_table() -> None:
    op.create_table(
        "usage_sums",
        sa.Column("sum_id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("user_id", sa.Integer, nullable=True),
        sa.Column("day", sa.Date, nullable=False),
        sa.Column("source", sa.Enum(*_SOURCES, name="usage_source", create_constraint=True), nullable=False),
        sa.Column("model", sa.String(200), nullable=True),
        sa.Column("target", sa.String(220), nullable=True),
        sa.Column("input_price", sa.Float, nullable=True),
        sa.Column("output_price", sa.Float, nullable=True),
        sa.Column("input_tokens", sa.BigInteger, nullable=False),
        sa.Column("cached_tokens", sa.BigInteger, nullable=False),
        sa.Column("output_tokens", sa.BigInteger, nullable=False),
        sa.Column("calls", sa.Integer, nullable=False),
        sa.Column("estimated", sa.Integer, nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.user_id"], name="fk_usage_sums_user_id", ondelete="CASCADE"),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
    )


def downgrade() -> None:
    op.drop_table("usage_sums")
    op.drop_table("usage_marks")


def _has_table(name: str) -> bool:
    return sa.inspect(op.get_bind()).has_table(name)
