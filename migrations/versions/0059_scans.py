"""Pages of files that are read by machine, and which files wait for that

Revision ID: 0059
Revises: 0058
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0059"
down_revision = "0058"
branch_labels = None
depends_on = None

COLUMNS = (("files", "scan_due"), ("file_pages", "is_scanned"))


def upgrade() -> None:
    for table, name in COLUMNS:
        there = {found["name"] for found in sa.inspect(op.get_bind()).get_columns(table)}
        if name not in there:
            op.add_column(table, sa.Column(name, sa.Boolean(), nullable=False, server_default=sa.text("0")))
    if "ix_files_scan_due" not in {found["name"] for found in sa.inspect(op.get_bind()).get_indexes("files")}:
        op.create_index("ix_files_scan_due", "files", ["scan_due"])


def downgrade() -> None:
    op.drop_index("ix_files_scan_due", "files")
    for table, name in reversed(COLUMNS):
        op.drop_column(table, name)
