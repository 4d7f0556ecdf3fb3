"""The audit's only table: rows are added and, when they expire, purged; they are never changed."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, Index, String, event
from sqlalchemy.orm import Mapped, mapped_column

from webapp.db.base import Base
from webapp.db.columns import Key, belongs_to, refers_to, set_at


class AuditEvent(Base):
    """An act on, or a reading of, somebody's account or data; names things, never quotes them."""

    __tablename__ = "audit_events"
    __table_args__ = (Index("ix_audit_events_listing", "user_id", "event_id"),)

    event_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    user_id: Mapped[int] = belongs_to("users.user_id")
    action: Mapped[str] = mapped_column(Key(50))
    actor_kind: Mapped[str] = mapped_column(Key(20))
    actor_id: Mapped[int | None] = refers_to("users.user_id", index=True)
    actor_name: Mapped[str] = mapped_column(String(200), default="", server_default="")
    token_id: Mapped[int | None]
    what: Mapped[str] = mapped_column(String(300), default="", server_default="")
    detail: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    address: Mapped[str] = mapped_column(String(64), default="", server_default="")
    created_at: Mapped[datetime] = set_at(index=True)


@event.listens_for(AuditEvent, "before_update")
def _refuse(*_: object) -> None:
    raise RuntimeError("the audit is only ever added to")
