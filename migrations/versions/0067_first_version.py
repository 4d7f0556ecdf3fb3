"""The tables: those of the models in a new database, where later migrations find their work done

Revision ID: 0067
"""

import sqlalchemy as sa
from alembic import op

revision = "0067"
down_revision = None


_DROPPED_SINCE = "admin_access_log"


def upgrade() -> None:
    context = op.get_context()
    for table in context.opts["target_metadata"].sorted_tables:
        context.impl.create_table(table)


def downgrade() -> None:
    ours = {*op.get_context().opts["target_metadata"].tables, _DROPPED_SINCE}
    metadata = sa.MetaData()
    metadata.reflect(op.get_bind(), only=lambda name, _metadata: name in ours)  # others may have tables here, too
    for table in reversed(metadata.sorted_tables):
        op.drop_table(table.name)
