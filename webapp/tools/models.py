"""What tools that reach out are set up with. Keys are stored encrypted."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Boolean, String, Text, text
from sqlalchemy.orm import Mapped, mapped_column

from webapp.database import Base, Key, Timestamp, current_timestamp, now

ONLY = 1


class WebAccess(Base):
    """The search engine of the installation: a single row, none before an admin sets one up."""

    __tablename__ = "web_access"

    access_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True, default=ONLY)
    provider: Mapped[str] = mapped_column(Key(20))
    address: Mapped[str] = mapped_column(String(500))
    secrets: Mapped[str | None] = mapped_column(Text)
    key_set: Mapped[bool] = mapped_column(Boolean, default=False, server_default=text("0"))
    is_enabled: Mapped[bool] = mapped_column(Boolean, default=False, server_default=text("0"))
    updated_at: Mapped[datetime] = mapped_column(Timestamp, default=now, server_default=current_timestamp())
