"""Groups of people, the models that are for them, and their limits

Revision ID: 0047
Revises: 0046
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from migrations.columns import Key, Timestamp, current_timestamp

revision = "0047"
down_revision = "0046"
branch_labels = None
depends_on = None

OPTIONS: dict[str, Any] = {"mysql_charset": "utf8mb4", "mysql_engine": "InnoDB", "sqlite_autoincrement": True}
INDEX, REFERENCE = "ix_quotas_group_id", "fk_quotas_group_id"


def _refers(table: str, column: str, to: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [f"{to}.{column}"], name=f"fk_{table}_{column}", ondelete="CASCADE")


def upgrade() -> None:
    op.create_table(
        "user_groups",
        sa.Column("group_id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("name", Key(100), nullable=False),
        sa.Column("created_at", Timestamp, nullable=False, server_default=current_timestamp()),
        sa.UniqueConstraint("name", name="uq_user_groups_name"),
        **OPTIONS,
    )
    op.create_table(
        "user_group_members",
        sa.Column("group_id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("user_id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("by_provider", sa.Boolean, nullable=False, server_default=sa.text("0")),
        _refers("user_group_members", "group_id", "user_groups"),
        _refers("user_group_members", "user_id", "users"),
        sa.Index("ix_user_group_members_user_id", "user_id"),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
    )
    op.create_table(
        "model_offer_groups",
        sa.Column("offer_id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("group_id", sa.Integer, primary_key=True, autoincrement=False),
        _refers("model_offer_groups", "offer_id", "model_offers"),
        _refers("model_offer_groups", "group_id", "user_groups"),
        sa.Index("ix_model_offer_groups_group_id", "group_id"),
        mysql_charset="utf8mb4",
        mysql_engine="InnoDB",
    )
    with op.batch_alter_table("quotas") as quotas:
        quotas.add_column(sa.Column("group_id", sa.Integer, nullable=True))
        quotas.create_foreign_key(REFERENCE, "user_groups", ["group_id"], ["group_id"], ondelete="CASCADE")
        quotas.create_index(INDEX, ["group_id"])


def downgrade() -> None:
    with op.batch_alter_table("quotas") as quotas:
        quotas.drop_constraint(REFERENCE, type_="foreignkey")
        quotas.drop_index(INDEX)
        quotas.drop_column("group_id")
    for table in ("model_offer_groups", "user_group_members", "user_groups"):
        op.drop_table(table)
