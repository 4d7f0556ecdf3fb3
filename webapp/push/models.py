"""Browsers to notify."""

from datetime import datetime

from sqlalchemy import Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from webapp.db.base import Base
from webapp.db.columns import Key, belongs_to, set_at


class PushSubscription(Base):
    """A browser's `endpoint` at its maker, found by `digest`, its key `p256dh`, and the session it belongs to."""

    __tablename__ = "push_subscriptions"
    __table_args__ = (UniqueConstraint("digest", name="uq_push_subscriptions_digest"),)

    subscription_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    user_id: Mapped[int] = belongs_to("users.user_id", index=True)
    session_id: Mapped[int] = belongs_to("user_sessions.session_id", index=True)
    endpoint: Mapped[str] = mapped_column(Text)
    digest: Mapped[str] = mapped_column(Key(64))
    p256dh: Mapped[str] = mapped_column(Key(100))
    auth: Mapped[str] = mapped_column(Key(40))
    created_at: Mapped[datetime] = set_at()
