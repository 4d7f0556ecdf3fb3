"""What schedules used, apart from what people sent; usage and files by time

Revision ID: 0066
Revises: 0065
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0066"
down_revision = "0065"
branch_labels = None
depends_on = None

_INDEXES = {
    "usage_records": ("ix_usage_records_time", ["created_at", "kind", "user_id"]),
    "files": ("ix_files_time", ["created_at", "size"]),
}


def upgrade() -> None:
    op.execute(
        "UPDATE usage_records SET kind = 'schedule' WHERE kind = 'chat' AND message_id IN"
        " (SELECT message_id FROM schedule_runs WHERE message_id IS NOT NULL)"
    )
    for table, (name, columns) in _INDEXES.items():
        if name not in {index["name"] for index in sa.inspect(op.get_bind()).get_indexes(table)}:
            op.create_index(name, table, columns)


def downgrade() -> None:
    for table, (name, _columns) in _INDEXES.items():
        op.drop_index(name, table_name=table)
    op.execute("UPDATE usage_records SET kind = 'chat' WHERE kind = 'schedule'")
