"""Memories as documented, with evidence, revisions, change sets and tombstones."""

from datetime import date, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    Boolean,
    Computed,
    Date,
    Float,
    Index,
    LargeBinary,
    ScalarSelect,
    String,
    Text,
    UniqueConstraint,
    event,
    false,
    func,
    select,
    text,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import Mapped, mapped_column
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.expression import ColumnElement

from webapp.db.base import Base
from webapp.db.columns import Key, Timestamp, belongs_to, one_of, refers_to, set_at
from webapp.memories.rules.kinds import MEMORY_TYPES

VISIBILITIES = ("private", "shared")
ORIGINS = ("user", "extraction", "tool", "import")


class current_slot(ColumnElement[Any]):
    """The key of a fact while it is current, else NULL; the unique index is on this."""

    inherit_cache = True


_CURRENT = "fact_key IS NOT NULL AND valid_to IS NULL AND is_archived = 0 AND needs_review = 0"


@compiles(current_slot)
def _current_slot(element: current_slot, compiler: SQLCompiler, **kw: Any) -> str:
    return f"CASE WHEN {_CURRENT} THEN coalesce(category, '') || ':' || fact_key END"


@compiles(current_slot, "mysql")
@compiles(current_slot, "mariadb")
def _current_slot_mysql(element: current_slot, compiler: SQLCompiler, **kw: Any) -> str:
    return f"CASE WHEN {_CURRENT} THEN concat(coalesce(category, ''), ':', fact_key) END"


_KNOWN = f"CASE WHEN {_CURRENT} THEN importance END"

_LISTED = ("user_id", "is_archived", "is_closed")
"""The condition every list of memories starts with."""


class Memory(Base):
    """One short statement about its user, or, in a space, about that space's subject.

    At most one current keyed fact per (user, space, category, key) is the unique index on the computed columns.
    `embedding` holds float32 values; `revision` counts changes from 1. A closed memory has `valid_to`.
    """

    __tablename__ = "memories"
    __table_args__ = (
        UniqueConstraint("user_id", "space_slot", "current_slot", name="uq_memories_current_fact"),
        Index("ix_memories_listing", *_LISTED, "updated_at", "memory_id", "needs_review"),
        Index("ix_memories_fact_key", "user_id", "fact_key"),
        Index("ix_memories_type", *_LISTED, "memory_type", "updated_at", "memory_id"),
        # MariaDB skips from category to category only if no computed column comes before it.
        Index("ix_memories_category", "user_id", "is_archived", "category", "is_closed", "updated_at", "memory_id"),
        Index("ix_memories_pinned", *_LISTED, "is_pinned", "updated_at", "memory_id"),
        Index("ix_memories_waiting", *_LISTED, "needs_review", "updated_at", "memory_id"),
        Index("ix_memories_known", "user_id", "space_slot", "known_rank", "memory_id"),
        Index("ix_memories_recent", "user_id", "created_at", "memory_id"),
        Index("ix_memories_source", "source_conversation_id"),
        Index("ix_memories_only_conversation_id", "only_conversation_id"),
        Index("ix_memories_space", "space_id", "visibility"),
        Index("ix_memories_statement", "user_id", "statement_hash"),
    )

    memory_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    user_id: Mapped[int] = belongs_to("users.user_id")
    memory_type: Mapped[str] = mapped_column(one_of(*MEMORY_TYPES, name="memory_type"))
    category: Mapped[str | None] = mapped_column(String(100))
    content: Mapped[str] = mapped_column(Text)
    source_conversation_id: Mapped[int | None] = refers_to("conversations.conversation_id")
    source_message_id: Mapped[int | None] = refers_to("messages.message_id")
    # Documented as nullable, and never null: both the application and the database give a value.
    created_at: Mapped[datetime] = set_at(nullable=True)
    last_accessed_at: Mapped[datetime | None] = mapped_column(Timestamp)
    access_count: Mapped[int] = mapped_column(nullable=True, default=0, server_default=text("0"))
    is_pinned: Mapped[bool] = mapped_column(Boolean, nullable=True, default=False, server_default=text("0"))
    is_archived: Mapped[bool] = mapped_column(Boolean, nullable=True, default=False, server_default=text("0"))
    confidence: Mapped[float] = mapped_column(Float, nullable=True, default=1.0, server_default=text("1"))
    embedding: Mapped[bytes | None] = mapped_column(LargeBinary(65_535))

    space_id: Mapped[int | None]
    # Of a standing instruction: the one conversation in which it applies.
    only_conversation_id: Mapped[int | None] = belongs_to("conversations.conversation_id")
    visibility: Mapped[str] = mapped_column(
        one_of(*VISIBILITIES, name="memory_visibility"), default="private", server_default="private"
    )
    fact_key: Mapped[str | None] = mapped_column(Key(120))
    fact_value: Mapped[str | None] = mapped_column(String(500))
    importance: Mapped[float] = mapped_column(Float, default=0.5, server_default=text("0.5"))
    valid_from: Mapped[datetime | None] = mapped_column(Timestamp)
    valid_to: Mapped[datetime | None] = mapped_column(Timestamp)
    # The last day on which it holds, where the user said one: afterwards it is in a prompt only if the question asks.
    until: Mapped[date | None] = mapped_column(Date)
    # What replaced it or, of one that is archived and not closed, what says the same and was kept.
    superseded_by_id: Mapped[int | None] = refers_to("memories.memory_id")
    contradicts_id: Mapped[int | None] = refers_to("memories.memory_id")
    settled_with: Mapped[list[int] | None] = mapped_column(JSON(none_as_null=True))
    needs_review: Mapped[bool] = mapped_column(Boolean, default=False, server_default=text("0"))
    origin: Mapped[str] = mapped_column(one_of(*ORIGINS, name="memory_origin"), default="user", server_default="user")
    edited_by_user: Mapped[bool] = mapped_column(Boolean, default=False, server_default=text("0"))
    asserted_at: Mapped[datetime | None] = mapped_column(Timestamp)
    embedding_model: Mapped[str | None] = mapped_column(String(200))
    statement_hash: Mapped[str] = mapped_column(Key(64))
    revision: Mapped[int] = mapped_column(default=1, server_default=text("1"))
    evidence_count: Mapped[int] = mapped_column(default=0, server_default=text("0"))
    updated_at: Mapped[datetime] = set_at()

    # Virtual, not stored: MySQL allows no cascade on the base columns of a stored one; and no NOT NULL on a virtual.
    space_slot: Mapped[int] = mapped_column(Computed("coalesce(space_id, 0)", persisted=False), nullable=True)
    current_slot: Mapped[str | None] = mapped_column(Key(250), Computed(current_slot(), persisted=False))
    # The importance of a fact while it is current: every prompt reads the most important ones.
    known_rank: Mapped[float | None] = mapped_column(Float, Computed(_KNOWN, persisted=False))
    # For the indexes of lists, where "has no end" and "has one" are two values, not a value and a range.
    is_closed: Mapped[bool] = mapped_column(Boolean, Computed("valid_to IS NOT NULL", persisted=False), nullable=True)


IN_USE = (Memory.valid_to.is_(None), Memory.is_archived == false(), Memory.needs_review == false())
"""The conditions of a memory that may be used: neither closed nor archived nor in review."""
WAITING = (Memory.needs_review.is_(True), Memory.is_archived == false(), Memory.is_closed == false())
"""The conditions of a memory that awaits a decision."""


class MemoryEvidence(Base):
    """A message and the verbatim quote in it, characters `start` to `end`, that a memory rests on."""

    __tablename__ = "memory_evidence"
    __table_args__ = (
        UniqueConstraint("memory_id", "message_id", "start", "end", name="uq_memory_evidence_span"),
        Index("ix_memory_evidence_message_id", "message_id"),
    )

    evidence_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    memory_id: Mapped[int] = belongs_to("memories.memory_id")
    message_id: Mapped[int] = belongs_to("messages.message_id")
    quote: Mapped[str] = mapped_column(Text)
    start: Mapped[int]
    end: Mapped[int]
    said_at: Mapped[datetime] = mapped_column(Timestamp)
    change_set_id: Mapped[int | None] = refers_to("memory_change_sets.change_set_id")


class MemoryChangeSet(Base):
    """Everything one job or one action of a user did to memories.

    `changes` lists {memory_id, before, after}: revision numbers, `before` null for a new one; no text. `memory_version`
    is the user's in which it was last written, which readers of changes follow.
    """

    __tablename__ = "memory_change_sets"
    __table_args__ = (
        Index("ix_memory_change_sets_user", "user_id", "change_set_id"),
        Index("ix_memory_change_sets_version", "user_id", "memory_version"),
    )

    change_set_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    user_id: Mapped[int] = belongs_to("users.user_id")
    cause: Mapped[str] = mapped_column(String(30))
    conversation_id: Mapped[int | None] = refers_to("conversations.conversation_id", index=True)
    through_message_id: Mapped[int | None]
    counts: Mapped[dict[str, int]] = mapped_column(JSON, default=dict)
    reasons: Mapped[dict[str, int]] = mapped_column(JSON, default=dict)
    changes: Mapped[list[dict[str, Any]]] = mapped_column(JSON, default=list)
    model: Mapped[str | None] = mapped_column(String(200))
    prompt_tokens: Mapped[int | None]
    completion_tokens: Mapped[int | None]
    created_at: Mapped[datetime] = set_at()
    undone_at: Mapped[datetime | None] = mapped_column(Timestamp)
    undoes_id: Mapped[int | None]
    memory_version: Mapped[int] = mapped_column(default=0, server_default=text("0"))


class MemoryRevision(Base):
    """A memory as it was after a change: its whole writable state, who changed it and why."""

    __tablename__ = "memory_revisions"
    __table_args__ = (
        UniqueConstraint("memory_id", "revision"),
        Index("ix_memory_revisions_statement_hash", "statement_hash"),
    )

    revision_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    memory_id: Mapped[int] = belongs_to("memories.memory_id")
    revision: Mapped[int]
    snapshot: Mapped[dict[str, Any]] = mapped_column(JSON)
    statement_hash: Mapped[str] = mapped_column(Key(64))
    actor: Mapped[str] = mapped_column(String(30))
    cause: Mapped[str] = mapped_column(String(30))
    change_set_id: Mapped[int | None] = refers_to("memory_change_sets.change_set_id", index=True)
    created_at: Mapped[datetime] = set_at()


class MemoryTombstone(Base):
    """A keyed hash of something forgotten; never text. `key_id` names the key it was made with: the user's here, or one
    they had elsewhere; those from before people had keys of their own have none."""

    __tablename__ = "memory_tombstones"

    user_id: Mapped[int] = belongs_to("users.user_id", primary_key=True)
    digest: Mapped[str] = mapped_column(Key(64), primary_key=True)
    kind: Mapped[str] = mapped_column(String(10))
    key_id: Mapped[str | None] = mapped_column(Key(16))
    created_at: Mapped[datetime] = set_at()


class TombstoneKey(Base):
    """A tombstone key that somebody brought from another installation or an earlier account; sealed."""

    __tablename__ = "tombstone_keys"

    user_id: Mapped[int] = belongs_to("users.user_id", primary_key=True)
    key_id: Mapped[str] = mapped_column(Key(16), primary_key=True)
    sealed: Mapped[str] = mapped_column(String(500))
    created_at: Mapped[datetime] = set_at()


class MemoryVersion(Base):
    """Counts the changes of a user's memory. Every change locks this row, so that decisions about one user are made one
    after the other; caches compare its number."""

    __tablename__ = "memory_versions"

    user_id: Mapped[int] = belongs_to("users.user_id", primary_key=True)
    version: Mapped[int] = mapped_column(default=1, server_default=text("1"))


def version_of(user_id: int) -> ScalarSelect[int]:
    """Return the present version of a user's memory, for use in other statements."""
    return (
        select(func.coalesce(func.max(MemoryVersion.version), 0))
        .where(MemoryVersion.user_id == user_id)
        .scalar_subquery()
    )


@event.listens_for(MemoryChangeSet, "before_insert")
@event.listens_for(MemoryChangeSet, "before_update")
def _write_version(_mapper: Any, _connection: Any, row: MemoryChangeSet) -> None:
    row.memory_version = version_of(row.user_id)  # read by the statement itself


class ForgetProposal(Base):
    """A memory that a reply proposes to forget. It goes with the memory and the reply, and holds no text."""

    __tablename__ = "forget_proposals"
    __table_args__ = (
        UniqueConstraint("message_id", "memory_id", name="uq_forget_proposals_once"),
        Index("ix_forget_proposals_user", "user_id", "proposal_id"),
    )

    proposal_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    user_id: Mapped[int] = belongs_to("users.user_id")
    memory_id: Mapped[int] = belongs_to("memories.memory_id", index=True)
    message_id: Mapped[int] = belongs_to("messages.message_id")
    created_at: Mapped[datetime] = set_at()
