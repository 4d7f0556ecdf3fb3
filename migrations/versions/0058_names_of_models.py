"""Names of models are compared byte by byte: Llama3 and llama3 are two, so are modèle and modele

Revision ID: 0058
Revises: 0057
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from migrations.columns import Key

revision = "0058"
down_revision = "0057"
branch_labels = None
depends_on = None

COLUMNS = (("model_offers", "model", False), ("message_feedback", "model", True))


def upgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":  # which compares so already
        return
    for table, column, nullable in COLUMNS:
        op.alter_column(table, column, type_=Key(200), existing_type=sa.String(200), existing_nullable=nullable)


def downgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        return
    for table, column, nullable in COLUMNS:
        op.alter_column(table, column, type_=sa.String(200), existing_type=Key(200), existing_nullable=nullable)
