"""The tables of the first version

Revision ID: 0067
"""

from alembic import op

import migrations.tables.accounts
import migrations.tables.conversations
import migrations.tables.files
import migrations.tables.journeys
import migrations.tables.memories
import migrations.tables.retrieval
import migrations.tables.services  # noqa: F401
from migrations.tables.first import metadata

revision = "0067"
down_revision = None


def upgrade() -> None:
    for table in metadata.sorted_tables:
        op.get_context().impl.create_table(table)


def downgrade() -> None:
    for table in reversed(metadata.sorted_tables):
        op.drop_table(table.name)
