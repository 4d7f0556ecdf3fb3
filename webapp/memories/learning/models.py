"""Proposals of the tool `forget`, until the person decides."""

from datetime import datetime

from sqlalchemy import Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from webapp.db.base import Base, belongs_to, set_at


class ForgetProposal(Base):
    """A memory that a reply proposes to forget. It goes with the memory and the reply, and holds no text."""

    __tablename__ = "forget_proposals"
    __table_args__ = (
        UniqueConstraint("message_id", "memory_id", name="uq_forget_proposals_once"),
        Index("ix_forget_proposals_user", "user_id", "proposal_id"),
    )

    proposal_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    user_id: Mapped[int] = belongs_to("users.user_id")
    memory_id: Mapped[int] = belongs_to("memories.memory_id", index=True)
    message_id: Mapped[int] = belongs_to("messages.message_id")
    created_at: Mapped[datetime] = set_at()
