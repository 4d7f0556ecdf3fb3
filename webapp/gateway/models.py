"""The conversations of resent histories."""

from datetime import datetime

from sqlalchemy import Index
from sqlalchemy.orm import Mapped, mapped_column

from webapp.db.base import Base
from webapp.db.columns import Key, belongs_to, set_at


class GatewayThread(Base):
    """A turn that came through the gateway: the fingerprint of everything up to its user message, and its reply."""

    __tablename__ = "gateway_threads"
    __table_args__ = (Index("ix_gateway_threads_fingerprint", "user_id", "fingerprint"),)

    thread_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    user_id: Mapped[int] = belongs_to("users.user_id")
    fingerprint: Mapped[str] = mapped_column(Key(64))
    conversation_id: Mapped[int] = belongs_to("conversations.conversation_id", index=True)
    message_id: Mapped[int]
    created_at: Mapped[datetime] = set_at()
