"""Saved prompts. Members of its space can see a prompt; it still belongs to the person who created it."""

from datetime import datetime

from sqlalchemy import Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column, query_expression

from webapp.db.base import Base, now
from webapp.db.columns import belongs_to, set_at


class SavedPrompt(Base):
    """A text to start messages with; it contains the variables to fill in (webapp/saved_prompts/formats.py)."""

    __tablename__ = "saved_prompts"
    __table_args__ = (
        Index("ix_saved_prompts_listing", "user_id", "name", "saved_prompt_id"),
        Index("ix_saved_prompts_space_id", "space_id"),
    )

    saved_prompt_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    user_id: Mapped[int] = belongs_to("users.user_id")
    space_id: Mapped[int | None] = belongs_to("spaces.space_id")
    name: Mapped[str] = mapped_column(String(100))
    description: Mapped[str] = mapped_column(String(255), default="")
    content: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime] = set_at()
    updated_at: Mapped[datetime] = set_at(onupdate=now)
    # Whether the person who asks for it may change it; loaded by webapp/saved_prompts/service.py.
    can_edit: Mapped[bool] = query_expression()
