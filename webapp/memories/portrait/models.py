"""The portrait of a person or a space."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from webapp.db.base import Base
from webapp.db.columns import Key, Timestamp, belongs_to


class Portrait(Base):
    """The sentences about a person or a space, and those before; each is {text, memories: [[id, revision]]}.

    `made_from` is the digest of the memories; it was requested at `asked_at`; `problem` says why nothing came of it.
    """

    __tablename__ = "portraits"
    __table_args__ = (
        UniqueConstraint("user_id", name="uq_portraits_user_id"),
        UniqueConstraint("space_id", name="uq_portraits_space_id"),
    )

    portrait_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    user_id: Mapped[int | None] = belongs_to("users.user_id")
    space_id: Mapped[int | None] = belongs_to("spaces.space_id")
    sentences: Mapped[list[dict[str, Any]]] = mapped_column(JSON, default=list)
    before: Mapped[list[dict[str, Any]]] = mapped_column(JSON, default=list)
    made_from: Mapped[str | None] = mapped_column(Key(64))
    made_at: Mapped[datetime | None] = mapped_column(Timestamp)
    asked_at: Mapped[datetime | None] = mapped_column(Timestamp)
    model: Mapped[str | None] = mapped_column(String(200))
    problem: Mapped[str | None] = mapped_column(String(300))
