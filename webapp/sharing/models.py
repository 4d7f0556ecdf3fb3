"""Shared links. A link holds no text: what it shows is read from the messages, so forgetting reaches it."""

from datetime import datetime

from sqlalchemy import JSON, Boolean, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from webapp.db.base import Base, now
from webapp.db.columns import Key, Timestamp, belongs_to, one_of, set_at

AUDIENCES = ("anyone", "accounts")


class ConversationShare(Base):
    """A link to a conversation. A live one follows the conversation; a snapshot names its messages."""

    __tablename__ = "conversation_shares"
    __table_args__ = (Index("ix_conversation_shares_listing", "user_id", "share_id"),)

    share_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    user_id: Mapped[int] = belongs_to("users.user_id")
    conversation_id: Mapped[int] = belongs_to("conversations.conversation_id", index=True)
    token: Mapped[str] = mapped_column(Key(64), unique=True)
    is_live: Mapped[bool] = mapped_column(Boolean, default=False, server_default=text("0"))
    audience: Mapped[str] = mapped_column(one_of(*AUDIENCES, name="share_audience"), default="anyone")
    first_message_id: Mapped[int | None]
    last_message_id: Mapped[int | None]
    message_ids: Mapped[list[int] | None] = mapped_column(JSON(none_as_null=True))
    created_at: Mapped[datetime] = set_at()
    expires_at: Mapped[datetime | None] = mapped_column(Timestamp)

    @property
    def is_expired(self) -> bool:
        """Return whether the link has stopped working."""
        return self.expires_at is not None and self.expires_at <= now()
