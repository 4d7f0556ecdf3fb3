"""The digest of a conversation, under its documented name, and every version it had."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, String, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from webapp.db.base import Base
from webapp.db.columns import belongs_to, one_of, set_at

SOURCES = ("model", "user", "service")


class ConversationMemory(Base):
    """The digest of one conversation. It is stale once `as_of` is before the conversation's `updated_at`."""

    __tablename__ = "conversation_memories"
    __table_args__ = (UniqueConstraint("conversation_id"),)

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    conversation_id: Mapped[int] = belongs_to("conversations.conversation_id")
    memory_data: Mapped[dict[str, Any]] = mapped_column(JSON)
    created_at: Mapped[datetime] = set_at()
    updated_at: Mapped[datetime] = set_at()
    version: Mapped[int] = mapped_column(default=1, server_default=text("1"))
    as_of: Mapped[datetime] = set_at()


class ConversationMemoryVersion(Base):
    """A digest as it was written: by the model (with which prompt), by its owner, or by a service."""

    __tablename__ = "conversation_memory_versions"
    __table_args__ = (UniqueConstraint("conversation_memory_id", "version"),)

    version_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    conversation_memory_id: Mapped[int] = belongs_to("conversation_memories.id")
    version: Mapped[int]
    memory_data: Mapped[dict[str, Any]] = mapped_column(JSON)
    source: Mapped[str] = mapped_column(one_of(*SOURCES, name="digest_source"))
    model: Mapped[str | None] = mapped_column(String(200))
    prompt_version: Mapped[str | None] = mapped_column(String(100))
    created_at: Mapped[datetime] = set_at()
