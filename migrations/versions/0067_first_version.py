"""The tables: those of the models in a new database, where later migrations find their work done

Revision ID: 0067
"""

import sqlalchemy as sa
from alembic import op

revision = "0067"
down_revision = None


def upgrade() -> None:
    context = op.get_context()
    for table in context.opts["target_metadata"].sorted_tables:
        context.impl.create_table(table)


def downgrade() -> None:
    metadata = sa.MetaData()
    metadata.reflect(op.get_bind(), only=lambda name, _metadata: name != "alembic_version")
    for table in reversed(metadata.sorted_tables):
        op.drop_table(table.name)
