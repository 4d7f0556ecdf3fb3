"""Names of embedding models as long as everywhere

Revision ID: 0071
Revises: 0070
"""

import sqlalchemy as sa
from alembic import op

revision = "0071"
down_revision = "0070"


def upgrade() -> None:
    _set_length(100, 200)


def downgrade() -> None:
    op.execute("DELETE FROM point_vectors WHERE LENGTH(model) > 100")  # they are made again
    _set_length(200, 100)


def _set_length(old: int, new: int) -> None:
    with op.batch_alter_table("point_vectors") as table:
        table.alter_column(
            "model", existing_type=sa.String(old), type_=sa.String(new), existing_nullable=False, nullable=False
        )
