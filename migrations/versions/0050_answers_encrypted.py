"""Answers kept for Idempotency-Key are encrypted: those in plain text go, a day before they would have gone anyway

Revision ID: 0050
Revises: 0048
"""

from __future__ import annotations

from alembic import op

revision = "0050"
down_revision = "0048"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("DELETE FROM idempotency_keys")


def downgrade() -> None:
    op.execute("DELETE FROM idempotency_keys")
