"""Messages of up to a megabyte, vectors of their pieces, and the places in them that a reply was given

Revision ID: 0013
Revises: 0012
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

LONG = sa.Text().with_variant(mysql.MEDIUMTEXT(), "mysql", "mariadb")
OPTIONS = {"mysql_charset": "utf8mb4", "mysql_engine": "InnoDB"}
PIECE = 800
"""Characters of a message of which one vector stood for the whole."""
PLACES = ("from_char", "to_char")


def upgrade() -> None:
    if op.get_bind().dialect.name != "sqlite":
        op.alter_column(
            "messages", "content", existing_type=sa.Text(), type_=mysql.MEDIUMTEXT(), existing_nullable=False
        )
    for name in set(PLACES) - _columns("turn_receipts"):
        op.add_column("turn_receipts", sa.Column(name, sa.Integer))
    if _is_halfway() or "piece" not in _columns("message_embeddings"):
        # A vector that stood for the beginning of a long message gives way to those of its pieces.
        if not _is_halfway():
            op.execute(
                "DELETE FROM message_embeddings WHERE message_id IN "
                f"(SELECT message_id FROM messages WHERE length(content) > {PIECE})"
            )
        _remake(with_pieces=True)
    op.execute(
        "UPDATE conversations SET index_due = 1, indexed_through = NULL, updated_at = updated_at "
        "WHERE is_temporary = 0 AND conversation_id IN "
        f"(SELECT conversation_id FROM messages WHERE length(content) > {PIECE})"
    )


def downgrade() -> None:
    if not _is_halfway():
        op.execute("DELETE FROM message_embeddings WHERE piece > 0")
    _remake(with_pieces=False)
    for name in PLACES:
        op.drop_column("turn_receipts", name)
    if op.get_bind().dialect.name != "sqlite":
        op.execute("UPDATE messages SET content = left(content, 16000) WHERE length(content) > 65535")
        op.alter_column(
            "messages", "content", existing_type=mysql.MEDIUMTEXT(), type_=sa.Text(), existing_nullable=False
        )


BEFORE = "message_embeddings_before"


def _is_halfway() -> bool:
    """Whether the table was being made anew when somebody ended that: what it held is in the one before it."""
    return sa.inspect(op.get_bind()).has_table(BEFORE)


def _columns(table: str) -> set[str]:
    return {column["name"] for column in sa.inspect(op.get_bind()).get_columns(table)}


def _remake(*, with_pieces: bool) -> None:
    """The table of the vectors with another primary key: a new one, filled from the one before it.

    Ended midway, it goes on from there: the one before goes when the new one has all that it held.
    """
    if not _is_halfway():
        op.rename_table("message_embeddings", BEFORE)
    if op.get_bind().dialect.name != "sqlite":  # their names are needed again, and are the database's
        for column in ("message_id", "user_id"):
            op.drop_constraint(f"fk_message_embeddings_{column}", BEFORE, type_="foreignkey")
    else:
        op.drop_index("ix_message_embeddings_user_id", BEFORE)
    pieces = [
        sa.Column("piece", sa.Integer, nullable=False, autoincrement=False, server_default=sa.text("0")),
        sa.Column("from_char", sa.Integer, nullable=False, server_default=sa.text("0")),
        sa.Column("to_char", sa.Integer, nullable=False, server_default=sa.text("0")),
    ]
    op.create_table(
        "message_embeddings",
        sa.Column("message_id", sa.Integer, nullable=False, autoincrement=False),
        *(pieces if with_pieces else ()),
        sa.Column("user_id", sa.Integer, nullable=False),
        sa.Column("model", sa.String(200), nullable=False),
        sa.Column("embedding", sa.LargeBinary(65_535), nullable=False),
        sa.PrimaryKeyConstraint("message_id", *(["piece"] if with_pieces else ()), name="pk_message_embeddings"),
        *(
            sa.ForeignKeyConstraint(
                [column], [f"{to}.{column}"], name=f"fk_message_embeddings_{column}", ondelete="CASCADE"
            )
            for column, to in (("message_id", "messages"), ("user_id", "users"))
        ),
        **OPTIONS,
    )
    op.create_index("ix_message_embeddings_user_id", "message_embeddings", ["user_id", "model"])
    places = ", from_char, to_char" if with_pieces else ""
    spans = ", 0, char_length(m.content)" if op.get_bind().dialect.name != "sqlite" else ", 0, length(m.content)"
    op.execute(
        f"INSERT INTO message_embeddings (message_id, user_id, model, embedding{places}) "
        f"SELECT e.message_id, e.user_id, e.model, e.embedding{spans if with_pieces else ''} "
        f"FROM {BEFORE} e JOIN messages m ON m.message_id = e.message_id "
        "WHERE NOT EXISTS (SELECT 1 FROM message_embeddings n WHERE n.message_id = e.message_id)"
    )
    op.drop_table(BEFORE)
