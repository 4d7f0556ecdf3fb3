"""Webhooks, and what is still to be delivered to them."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, Boolean, Index, String, Text, text
from sqlalchemy.orm import Mapped, mapped_column

from webapp.db.base import Base
from webapp.db.columns import Key, Timestamp, belongs_to, one_of, set_at

STATUSES = ("waiting", "delivered", "failed", "skipped")


class Webhook(Base):
    """A URL that is told what happens. `kinds` is a list with commas, also at both ends; the secret is encrypted.

    It ends with the token (`token_id`) of its program. `failing_since` is when the current failures began.
    """

    __tablename__ = "webhooks"

    webhook_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    user_id: Mapped[int] = belongs_to("users.user_id", index=True)
    token_id: Mapped[int | None] = belongs_to("api_tokens.token_id", index=True)
    url: Mapped[str] = mapped_column(String(1_000))
    kinds: Mapped[str] = mapped_column(Key(500))
    secret: Mapped[str] = mapped_column(Text)
    with_content: Mapped[bool] = mapped_column(Boolean, default=False, server_default=text("0"))
    is_active: Mapped[bool] = mapped_column(Boolean, default=True, server_default=text("1"))
    disabled_reason: Mapped[str | None] = mapped_column(String(300))
    failing_since: Mapped[datetime | None] = mapped_column(Timestamp)
    created_at: Mapped[datetime] = set_at()

    @property
    def kind_list(self) -> list[str]:
        """Return the kinds of events it is told about."""
        return [kind for kind in self.kinds.split(",") if kind]


class WebhookDelivery(Base):
    """Something to tell a webhook: only ids; texts are added when it is sent, if they still exist."""

    __tablename__ = "webhook_deliveries"
    __table_args__ = (
        Index("ix_webhook_deliveries_due", "status", "due_at"),
        Index("ix_webhook_deliveries_webhook", "webhook_id", "delivery_id"),
    )

    delivery_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    webhook_id: Mapped[int] = belongs_to("webhooks.webhook_id")
    event_id: Mapped[str] = mapped_column(Key(40))
    kind: Mapped[str] = mapped_column(Key(40))
    data: Mapped[dict[str, Any]] = mapped_column(JSON)
    status: Mapped[str] = mapped_column(one_of(*STATUSES, name="webhook_delivery_status"), default="waiting")
    attempts: Mapped[int] = mapped_column(default=0, server_default=text("0"))
    answer: Mapped[str | None] = mapped_column(String(200))
    created_at: Mapped[datetime] = set_at(index=True)
    due_at: Mapped[datetime] = set_at()
