"""Standing instructions: a kind of memory, and the conversation that one may be limited to

Revision ID: 0010
Revises: 0009
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

BEFORE = ("fact", "preference", "entity", "project", "decision")
NOW = (*BEFORE, "instruction")
COLUMN = "only_conversation_id"
PLAIN = f"{COLUMN} INTEGER"
REFERENCE, INDEX = f"fk_memories_{COLUMN}", f"ix_memories_{COLUMN}"
REFERRING = (
    f"{PLAIN}, CONSTRAINT {REFERENCE} FOREIGN KEY({COLUMN}) "
    "REFERENCES conversations (conversation_id) ON DELETE CASCADE"
)


def upgrade() -> None:
    _allow(BEFORE, NOW)
    op.add_column("memories", sa.Column(COLUMN, sa.Integer))
    op.create_index(INDEX, "memories", [COLUMN])
    if op.get_bind().dialect.name == "sqlite":
        _rewrite(PLAIN, REFERRING)
    else:
        op.create_foreign_key(REFERENCE, "memories", "conversations", [COLUMN], ["conversation_id"], ondelete="CASCADE")


def downgrade() -> None:
    op.execute("UPDATE memories SET memory_type = 'preference' WHERE memory_type = 'instruction'")
    if op.get_bind().dialect.name == "sqlite":
        _rewrite(REFERRING, PLAIN)
    else:
        op.drop_constraint(REFERENCE, "memories", type_="foreignkey")
    op.drop_index(INDEX, "memories")
    op.drop_column("memories", COLUMN)
    _allow(NOW, BEFORE)


def _allow(before: tuple[str, ...], now: tuple[str, ...]) -> None:
    """Let the column hold other values; SQLite has them in a CHECK."""
    if op.get_bind().dialect.name == "sqlite":
        _rewrite(_listed(before), _listed(now))
        _rewrite(_typed(before), _typed(now))
        return
    op.alter_column(
        "memories",
        "memory_type",
        existing_type=sa.Enum(*before),
        type_=sa.Enum(*now, name="memory_type"),
        existing_nullable=False,
    )


def _rewrite(before: str, now: str) -> None:
    """Change a constraint in place, as SQLite's documentation says: a rebuilt table would lose its computed columns."""
    connection = op.get_bind()
    version = connection.exec_driver_sql("PRAGMA schema_version").scalar_one()
    connection.exec_driver_sql("PRAGMA writable_schema = ON")
    changed = sa.text(
        "UPDATE sqlite_master SET sql = replace(sql, :before, :now) WHERE type = 'table' AND name = 'memories'"
    )
    connection.execute(changed, {"before": before, "now": now})
    connection.exec_driver_sql(f"PRAGMA schema_version = {version + 1}")
    connection.exec_driver_sql("PRAGMA writable_schema = OFF")


def _typed(values: tuple[str, ...]) -> str:
    return f"memory_type VARCHAR({max(map(len, values))})"


def _listed(values: tuple[str, ...]) -> str:
    return f"memory_type IN ({', '.join(repr(value) for value in values)})"
