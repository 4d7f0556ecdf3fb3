"""A portrait of a space, if its owner wants one

Revision ID: 0067
Revises: 0066
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from migrations.columns import Key, Timestamp

revision = "0067"
down_revision = "0066"
branch_labels = None
depends_on = None

REST = "sentences, `before`, made_from, made_at, asked_at, model, problem"
UP = """
ALTER TABLE portraits
  DROP PRIMARY KEY,
  ADD COLUMN portrait_id INTEGER NOT NULL AUTO_INCREMENT FIRST,
  ADD PRIMARY KEY (portrait_id),
  MODIFY user_id INTEGER NULL,
  ADD COLUMN space_id INTEGER NULL AFTER user_id,
  ADD CONSTRAINT uq_portraits_user_id UNIQUE (user_id),
  ADD CONSTRAINT uq_portraits_space_id UNIQUE (space_id),
  ADD CONSTRAINT fk_portraits_space_id FOREIGN KEY (space_id) REFERENCES spaces (space_id) ON DELETE CASCADE
"""
DOWN = """
ALTER TABLE portraits
  DROP FOREIGN KEY fk_portraits_space_id,
  DROP COLUMN portrait_id,
  DROP PRIMARY KEY,
  MODIFY user_id INTEGER NOT NULL,
  ADD PRIMARY KEY (user_id),
  DROP INDEX uq_portraits_user_id,
  DROP INDEX uq_portraits_space_id,
  DROP COLUMN space_id
"""


def upgrade() -> None:
    if "has_portrait" not in _columns("spaces"):
        op.add_column("spaces", sa.Column("has_portrait", sa.Boolean, nullable=False, server_default=sa.text("0")))
    if "portrait_id" in _columns("portraits"):
        return
    if not _is_sqlite():
        op.execute(UP)  # one statement: the key moves or it does not
        return
    _remake(
        sa.Column("portrait_id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("user_id", sa.Integer, nullable=True),
        sa.Column("space_id", sa.Integer, nullable=True),
        sa.UniqueConstraint("user_id", name="uq_portraits_user_id"),
        sa.UniqueConstraint("space_id", name="uq_portraits_space_id"),
        _refers("user_id", "users"),
        _refers("space_id", "spaces"),
    )


def downgrade() -> None:
    if "portrait_id" in _columns("portraits"):
        op.execute("DELETE FROM portraits WHERE user_id IS NULL")
        if _is_sqlite():
            _remake(
                sa.Column("user_id", sa.Integer, primary_key=True, autoincrement=False), _refers("user_id", "users")
            )
        else:
            op.execute(DOWN)
    if "has_portrait" in _columns("spaces"):
        op.drop_column("spaces", "has_portrait")


def _remake(*key: sa.schema.SchemaItem) -> None:
    """SQLite moves a key by copying the table, in the one transaction of all migrations."""
    op.execute("DROP TABLE IF EXISTS portraits_new")
    op.create_table(
        "portraits_new",
        *key,
        sa.Column("sentences", sa.JSON, nullable=False),
        sa.Column("before", sa.JSON, nullable=False),
        sa.Column("made_from", Key(64), nullable=True),
        sa.Column("made_at", Timestamp, nullable=True),
        sa.Column("asked_at", Timestamp, nullable=True),
        sa.Column("model", sa.String(200), nullable=True),
        sa.Column("problem", sa.String(300), nullable=True),
    )
    op.execute(f"INSERT INTO portraits_new (user_id, {REST}) SELECT user_id, {REST} FROM portraits")
    op.drop_table("portraits")
    op.rename_table("portraits_new", "portraits")


def _refers(column: str, table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [f"{table}.{column}"], name=f"fk_portraits_{column}", ondelete="CASCADE")


def _columns(table: str) -> set[str]:
    return {column["name"] for column in sa.inspect(op.get_bind()).get_columns(table)}


def _is_sqlite() -> bool:
    return op.get_bind().dialect.name == "sqlite"
