"""Imports with the outcome of every part, where each imported row came from, and exports."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from webapp.db.base import Base
from webapp.db.columns import Key, Timestamp, belongs_to, one_of, refers_to, set_at

IMPORT_STATUSES = ("reading", "ready", "running", "done", "failed", "cancelled", "undone")
ITEM_KINDS = ("conversation", "memory", "project", "problem")
OUTCOMES = ("imported", "updated", "unchanged", "skipped")
EXPORT_STATUSES = ("waiting", "ready", "failed", "expired")
LEFT_OUT = " left out"
"""How the name of a count ends that is of something not taken in."""


class Import(Base):
    """A file that somebody imports. `position` counts the finished parts, so that a killed job continues there."""

    __tablename__ = "imports"
    __table_args__ = (
        Index("ix_imports_listing", "user_id", "import_id"),
        Index("ix_imports_status", "status", "updated_at"),
    )

    import_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    user_id: Mapped[int] = belongs_to("users.user_id")
    status: Mapped[str] = mapped_column(one_of(*IMPORT_STATUSES, name="import_status"), default="reading")
    format: Mapped[str | None] = mapped_column(Key(30))
    filename: Mapped[str] = mapped_column(String(255))
    stored_as: Mapped[str | None] = mapped_column(Key(64))
    size: Mapped[int] = mapped_column(default=0)
    preview: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    options: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    counts: Mapped[dict[str, int]] = mapped_column(JSON, default=dict)
    position: Mapped[int] = mapped_column(default=0)
    error: Mapped[str | None] = mapped_column(String(500))
    change_set_ids: Mapped[list[int]] = mapped_column(JSON, default=list)
    # Learning from its conversations, if wanted: the status; the limits, the position and what it has taken.
    learn_status: Mapped[str | None] = mapped_column(Key(10), index=True)
    learning: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    # `running` while a job undoes it; the progress is in the options, as `undone`.
    undo_status: Mapped[str | None] = mapped_column(Key(10), index=True)
    created_at: Mapped[datetime] = set_at()
    updated_at: Mapped[datetime] = set_at()

    @property
    def left_out(self) -> dict[str, int]:
        """Return the counts of what was not taken in, by kind."""
        return {name.removesuffix(LEFT_OUT): count for name, count in self.counts.items() if name.endswith(LEFT_OUT)}

    @property
    def stage(self) -> str:
        """Return the status as it is shown: `undoing` while a job undoes it."""
        return "undoing" if self.undo_status == "running" else self.status

    @property
    def is_active(self) -> bool:
        """Return whether a job is working on it: its page polls as long as one is."""
        return self.stage in ("reading", "running", "undoing")


class ImportItem(Base):
    """The outcome of one part of an import."""

    __tablename__ = "import_items"
    __table_args__ = (Index("ix_import_items_import", "import_id", "item_id"),)

    item_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    import_id: Mapped[int] = belongs_to("imports.import_id")
    kind: Mapped[str] = mapped_column(one_of(*ITEM_KINDS, name="import_item_kind"))
    title: Mapped[str | None] = mapped_column(String(255))
    outcome: Mapped[str] = mapped_column(one_of(*OUTCOMES, name="import_outcome"))
    reason: Mapped[str | None] = mapped_column(String(255))
    target_id: Mapped[int | None]
    message_count: Mapped[int] = mapped_column(default=0)
    left_out: Mapped[dict[str, int] | None] = mapped_column(JSON(none_as_null=True))


class ImportSource(Base):
    """The conversation, space or document that was made from another program's: importing that again finds it."""

    __tablename__ = "import_sources"

    user_id: Mapped[int] = belongs_to("users.user_id", primary_key=True)
    origin: Mapped[str] = mapped_column(Key(120), primary_key=True)
    target_id: Mapped[int]


class ImportedMessage(Base):
    """The message of the other program that a message corresponds to; `digest` is of its words as imported."""

    __tablename__ = "imported_messages"
    __table_args__ = (
        Index("ix_imported_messages_conversation", "conversation_id", "message_id"),
        Index("ix_imported_messages_import_id", "import_id"),
    )

    message_id: Mapped[int] = belongs_to("messages.message_id", primary_key=True)
    conversation_id: Mapped[int] = belongs_to("conversations.conversation_id")
    import_id: Mapped[int | None] = refers_to("imports.import_id")
    source_id: Mapped[str] = mapped_column(Key(64))
    digest: Mapped[str | None] = mapped_column(Key(64))


class Export(Base):
    """Something that somebody exports: made by a job, downloaded by its owner, and deleted after a day."""

    __tablename__ = "exports"
    __table_args__ = (
        Index("ix_exports_listing", "user_id", "export_id"),
        Index("ix_exports_status", "status", "created_at"),
    )

    export_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    user_id: Mapped[int] = belongs_to("users.user_id")
    what: Mapped[str] = mapped_column(Key(20))
    format: Mapped[str] = mapped_column(Key(20))
    conversation_id: Mapped[int | None]
    status: Mapped[str] = mapped_column(one_of(*EXPORT_STATUSES, name="export_status"), default="waiting")
    stored_as: Mapped[str | None] = mapped_column(Key(64))
    filename: Mapped[str | None] = mapped_column(String(255))
    media_type: Mapped[str | None] = mapped_column(Key(100))
    size: Mapped[int | None]
    error: Mapped[str | None] = mapped_column(Text)
    created_at: Mapped[datetime] = set_at()
    expires_at: Mapped[datetime | None] = mapped_column(Timestamp)


class RestoredRow(Base):
    """The row here that a row of a Commonplace export became, and the files that other imports brought."""

    __tablename__ = "restored_rows"

    import_id: Mapped[int] = belongs_to("imports.import_id", primary_key=True)
    kind: Mapped[str] = mapped_column(Key(20), primary_key=True)
    old_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    new_id: Mapped[int]
