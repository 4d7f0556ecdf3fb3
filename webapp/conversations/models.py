"""Conversations and messages, as documented, with the columns the product adds."""

from contextlib import suppress
from datetime import datetime
from typing import Any

from sqlalchemy import JSON, Boolean, Index, String, Text, event, select, text
from sqlalchemy.orm import Mapped, mapped_column, query_expression
from sqlalchemy.orm.attributes import flag_modified

from webapp.db.base import Base, now
from webapp.db.columns import LONG_TEXT, Key, Timestamp, belongs_to, current_timestamp, one_of, refers_to, set_at

ROLES = ("user", "assistant")
STATUSES = ("streaming", "complete", "stopped", "interrupted", "failed")
RATINGS = ("up", "down")
TITLE_SOURCES = ("none", "auto", "user")
SAID_AT = "said_at"
"""In a message's payload: when its words were said, if they are sent again."""


class Folder(Base):
    """A user's folder for conversations."""

    __tablename__ = "folders"
    __table_args__ = (Index("ix_folders_listing", "user_id", "name", "folder_id"),)

    folder_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    user_id: Mapped[int] = belongs_to("users.user_id")
    name: Mapped[str] = mapped_column(String(100))
    created_at: Mapped[datetime] = set_at()


class Conversation(Base):
    """A conversation of one user. `updated_at` is the time of the last message, and orders the sidebar."""

    __tablename__ = "conversations"
    __table_args__ = (
        Index("ix_conversations_listing", "user_id", "is_archived", "updated_at", "conversation_id"),
        Index("ix_conversations_sidebar", "user_id", "is_archived", "is_pinned", "updated_at", "conversation_id"),
        Index("ix_conversations_space", "space_id", "user_id", "is_archived", "updated_at"),
        Index("ix_conversations_space_pinned", "space_id", "user_id", "is_archived", "is_pinned", "updated_at"),
        Index("ix_conversations_folder", "folder_id", "is_archived", "updated_at", "conversation_id"),
        Index("ix_conversations_owed_title", "title_source", "updated_at"),
        Index("ix_conversations_temporary", "is_temporary", "updated_at"),
        Index("ix_conversations_deleted", "deleted_at"),
        Index("ix_conversations_extraction_due", "extraction_due", "updated_at"),
        Index("ix_conversations_index_due", "index_due", "updated_at"),
        Index("ix_conversations_summary_due", "summary_due", "updated_at"),
    )

    conversation_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    user_id: Mapped[int] = belongs_to("users.user_id")
    title: Mapped[str | None] = mapped_column(String(255))
    # Documented as nullable, but never null: both the application and the database set a value.
    created_at: Mapped[datetime] = set_at(nullable=True)
    updated_at: Mapped[datetime] = mapped_column(
        Timestamp, nullable=True, default=now, server_default=current_timestamp(on_update=True)
    )
    is_archived: Mapped[bool] = mapped_column(Boolean, nullable=True, default=False, server_default=text("0"))
    # `metadata` is the documented name; SQLAlchemy keeps that attribute for itself.
    extra: Mapped[dict[str, Any] | None] = mapped_column("metadata", JSON(none_as_null=True))

    title_source: Mapped[str] = mapped_column(
        one_of(*TITLE_SOURCES, name="title_source"), default="none", server_default="none"
    )
    journey_id: Mapped[int | None] = refers_to("journeys.journey_id", index=True)
    space_id: Mapped[int | None] = refers_to("spaces.space_id")
    persona: Mapped[str | None] = mapped_column(String(100))
    is_temporary: Mapped[bool] = mapped_column(Boolean, default=False, server_default=text("0"))
    message_count: Mapped[int] = mapped_column(default=0, server_default=text("0"))
    deleted_at: Mapped[datetime | None] = mapped_column(Timestamp)
    # When it was last looked at; None while the program that asked is sent the reply, which nobody need look at again.
    seen_at: Mapped[datetime | None] = mapped_column(Timestamp)
    # Whether a reply in it is being written; asked for by the list only.
    is_writing: Mapped[bool | None] = query_expression()

    # Order: pinned ones come first in the sidebar; a folder; tags, each on its own line between line ends.
    is_pinned: Mapped[bool] = mapped_column(Boolean, default=False, server_default=text("0"))
    # No foreign key: SQLite would have to copy the whole table to add one. Deleting a folder clears it.
    folder_id: Mapped[int | None]
    tag_lines: Mapped[str | None] = mapped_column("tags", Text)

    # The id of the model chosen for it (webapp/providers); without one the default answers.
    model: Mapped[str | None] = mapped_column(String(220))
    # What its owner chose for that model instead of what the admin set (webapp/parameters.py); None: nothing.
    parameters: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))

    # Whether its replies may search the web, if an admin has set that up (webapp/tools).
    uses_web: Mapped[bool] = mapped_column(Boolean, default=False, server_default=text("0"))

    # Whether files were attached to any of its messages (webapp/files).
    has_files: Mapped[bool] = mapped_column(Boolean, default=False, server_default=text("0"))

    # Until when a live link shows others what is added here; kept by webapp/sharing, so that a page need not ask.
    shared_live_until: Mapped[datetime | None] = mapped_column(Timestamp)

    # Memory: read and written here at all; the last message the extraction has read; whether it owes us a look.
    uses_memory: Mapped[bool] = mapped_column(Boolean, default=True, server_default=text("1"))
    # Without `makes_memory` it is read only.
    makes_memory: Mapped[bool] = mapped_column(Boolean, default=True, server_default=text("1"))
    extracted_through: Mapped[int | None]
    extraction_due: Mapped[bool] = mapped_column(Boolean, default=False, server_default=text("0"))

    # Search: the last message whose vector was made; whether some wait for theirs. More messages than the context
    # should hold verbatim: whether a summary is owed.
    indexed_through: Mapped[int | None]
    index_due: Mapped[bool] = mapped_column(Boolean, default=False, server_default=text("0"))
    summary_due: Mapped[bool] = mapped_column(Boolean, default=False, server_default=text("0"))

    @property
    def is_unread(self) -> bool:
        """Return whether there is a reply that nobody has looked at."""
        if self.is_writing or self.seen_at is None or self.updated_at is None:
            return False
        return self.updated_at > self.seen_at

    @property
    def tags(self) -> list[str]:
        """Return the tags in the order they were given."""
        return (self.tag_lines or "").split("\n")[1:-1]

    @tags.setter
    def tags(self, value: list[str]) -> None:
        self.tag_lines = tag_lines_of(value)

    @property
    def is_shared_live(self) -> bool:
        """Return whether others see what is added here."""
        return self.shared_live_until is not None and self.shared_live_until > now()


def tag_lines_of(tags: list[str]) -> str | None:
    """Return tags as their column holds them."""
    return "\n" + "\n".join(tags) + "\n" if tags else None


class Message(Base):
    """A message; versions share their `parent_id`, and `reply_to_id` is the user message a reply answers.

    Messages with `superseded_by_id` were taken out by an edit, a regeneration or a restore, and are not shown.
    """

    __tablename__ = "messages"
    __table_args__ = (
        Index("ix_messages_conversation", "conversation_id", "superseded_by_id", "message_id"),
        Index("ix_messages_status", "status", "created_at"),
    )

    message_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    conversation_id: Mapped[int] = belongs_to("conversations.conversation_id")
    role: Mapped[str] = mapped_column(one_of(*ROLES, name="message_role"))
    content: Mapped[str] = mapped_column(LONG_TEXT)
    created_at: Mapped[datetime] = set_at(nullable=True)

    tool_calls: Mapped[list[dict[str, Any]] | None] = mapped_column(JSON(none_as_null=True))
    suggested_values: Mapped[Any | None] = mapped_column(JSON(none_as_null=True))
    suggested_actions: Mapped[Any | None] = mapped_column(JSON(none_as_null=True))
    custom_payload: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))

    status: Mapped[str] = mapped_column(
        one_of(*STATUSES, name="message_status"), default="complete", server_default="complete"
    )
    error_code: Mapped[str | None] = mapped_column(String(50))
    error_detail: Mapped[str | None] = mapped_column(String(500))
    model: Mapped[str | None] = mapped_column(String(200))
    prompt_version: Mapped[str | None] = mapped_column(String(100))
    prompt_tokens: Mapped[int | None]
    completion_tokens: Mapped[int | None]
    parent_id: Mapped[int | None] = refers_to("messages.message_id", index=True)
    reply_to_id: Mapped[int | None] = refers_to("messages.message_id", index=True)
    # Whose words it is made of: [start, end, origin] as the composer or a program said; whether others' words are in it
    # or, of a reply, were in its prompt.
    spans: Mapped[list[tuple[int, int, str]] | None] = mapped_column(JSON(none_as_null=True))
    is_tainted: Mapped[bool] = mapped_column(Boolean, default=False, server_default=text("0"))
    # No foreign key: to clear it when the other message goes would bring back what was taken out. It would also keep
    # InnoDB from deleting conversations: clearing it moves the row in the index that conversation_id is checked by.
    superseded_by_id: Mapped[int | None] = mapped_column(index=True)
    # What its owner thinks of it; loaded where a thread is shown.
    rating: Mapped[str | None] = query_expression()

    @property
    def provenance(self) -> tuple[tuple[int, int, str], ...]:
        """Start, end and origin of the spans that are known not to be typed."""
        return tuple((start, end, origin) for start, end, origin in self.spans or ())

    @property
    def said_at(self) -> datetime:
        """Return when the words were said: earlier than the message, if they are sent again."""
        with suppress(KeyError, TypeError, ValueError):  # an export may have been changed by hand
            return min(self.created_at, datetime.fromisoformat((self.custom_payload or {})[SAID_AT]))
        return self.created_at

    @property
    def is_cut(self) -> str:
        """Return what cut a finished reply short: "length", "filtered", or nothing."""
        payload = self.custom_payload or {}
        return "length" if payload.get("truncated") else "filtered" if payload.get("filtered") else ""

    @property
    def can_continue(self) -> bool:
        """Return whether the reply ended early, with text that another reply can continue from."""
        if self.status == "complete":
            return bool(self.is_cut)
        return self.status in ("stopped", "interrupted") and bool(self.content.strip())


class MessageReasoning(Base):
    """A model's reasoning for a reply, shown on a click: in no prompt, search, memory or link."""

    __tablename__ = "message_reasoning"

    message_id: Mapped[int] = belongs_to("messages.message_id", primary_key=True)
    content: Mapped[str] = mapped_column(LONG_TEXT)
    duration_ms: Mapped[int] = mapped_column(default=0, server_default=text("0"))


class MessageFeedback(Base):
    """A person's rating of a reply, and what wrote it; an admin may read the reply only if `may_read` is set."""

    __tablename__ = "message_feedback"
    __table_args__ = (
        Index("ix_message_feedback_user_id", "user_id"),
        Index("ix_message_feedback_created_at", "created_at"),
    )

    message_id: Mapped[int] = belongs_to("messages.message_id", primary_key=True)
    user_id: Mapped[int] = belongs_to("users.user_id")
    rating: Mapped[str] = mapped_column(one_of(*RATINGS, name="message_rating"))
    reasons: Mapped[list[str]] = mapped_column(JSON, default=list)
    comment: Mapped[str] = mapped_column(Text, default="")
    may_read: Mapped[bool] = mapped_column(Boolean, default=False, server_default=text("0"))
    model: Mapped[str | None] = mapped_column(Key(200))
    prompt_version: Mapped[str | None] = mapped_column(String(100))
    created_at: Mapped[datetime] = set_at()
    updated_at: Mapped[datetime] = set_at(onupdate=now)


def rating_of_message() -> Any:
    """Return the rating of a message, within a statement about messages."""
    return (
        select(MessageFeedback.rating).where(MessageFeedback.message_id == Message.message_id).correlate(Message)
    ).scalar_subquery()


@event.listens_for(Conversation, "before_update")
def _only_activity_moves_updated_at(_mapper: Any, _connection: Any, conversation: Conversation) -> None:
    # The documented column says ON UPDATE CURRENT_TIMESTAMP; archiving or renaming is not activity, and an explicit
    # value switches that clause off.
    flag_modified(conversation, "updated_at")
