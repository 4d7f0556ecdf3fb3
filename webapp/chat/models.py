"""Tables of a turn besides its messages."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from webapp.db.base import Base
from webapp.db.columns import belongs_to, set_at


class PipelineStep(Base):
    """A step in the making of a reply, for the inspector; `context` names stored messages, to avoid copies."""

    __tablename__ = "pipeline_steps"
    __table_args__ = (UniqueConstraint("message_id", "ordinal"),)

    step_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    message_id: Mapped[int] = belongs_to("messages.message_id")
    ordinal: Mapped[int]
    name: Mapped[str] = mapped_column(String(50))
    model: Mapped[str | None] = mapped_column(String(200))
    duration_ms: Mapped[int | None]
    data: Mapped[dict[str, Any]] = mapped_column(JSON)
    created_at: Mapped[datetime] = set_at()
