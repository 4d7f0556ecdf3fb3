"""What admins look at is in the audit alone

Revision ID: 0072
Revises: 0071
"""

from alembic import op

from migrations.tables.first import metadata

revision = "0072"
down_revision = "0071"


def upgrade() -> None:
    op.drop_table("admin_access_log", if_exists=True)


def downgrade() -> None:
    metadata.tables["admin_access_log"].create(op.get_bind(), checkfirst=True)
