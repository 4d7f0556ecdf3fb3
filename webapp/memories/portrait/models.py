"""The portrait of a user."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from webapp.db.base import Base, Key, Timestamp


class Portrait(Base):
    """The sentences about a user as a model wrote them, and those before; each is {text, memories: [[id, revision]]}.

    `made_from` is the digest of the memories it was made from. It was asked for at `asked_at`; `problem` says why
    nothing came of it.
    """

    __tablename__ = "portraits"

    user_id: Mapped[int] = mapped_column(
        ForeignKey("users.user_id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    sentences: Mapped[list[dict[str, Any]]] = mapped_column(JSON, default=list)
    before: Mapped[list[dict[str, Any]]] = mapped_column(JSON, default=list)
    made_from: Mapped[str | None] = mapped_column(Key(64))
    made_at: Mapped[datetime | None] = mapped_column(Timestamp)
    asked_at: Mapped[datetime | None] = mapped_column(Timestamp)
    model: Mapped[str | None] = mapped_column(String(200))
    problem: Mapped[str | None] = mapped_column(String(300))
