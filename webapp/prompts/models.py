"""Prompts, their versions and which of them is in use."""

from datetime import datetime

from sqlalchemy import ForeignKeyConstraint, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from webapp.db.base import Base
from webapp.db.columns import Key, one_of, refers_to, set_at
from webapp.prompts.catalogue import CATALOGUE, Definition

ORIGINS = ("default", "admin")


class PromptVersion(Base):
    """One text of a prompt; never changed. `origin` tells a shipped text from one that an admin wrote."""

    __tablename__ = "prompt_versions"
    __table_args__ = (UniqueConstraint("name", "version"),)

    version_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    name: Mapped[str] = mapped_column(Key(100))
    version: Mapped[int]
    prompt_text: Mapped[str] = mapped_column(Text)
    origin: Mapped[str] = mapped_column(one_of(*ORIGINS, name="prompt_origin"))
    note: Mapped[str | None] = mapped_column(String(500))
    created_at: Mapped[datetime] = set_at()
    created_by: Mapped[int | None] = refers_to("users.user_id", index=True)


class Prompt(Base):
    """The version of a prompt that is in use. Each prompt has one row, so exactly one version is in use at any time."""

    __tablename__ = "prompts"
    __table_args__ = (
        ForeignKeyConstraint(
            ["name", "active_version"],
            ["prompt_versions.name", "prompt_versions.version"],
            name="fk_prompts_active_version",
        ),
    )

    name: Mapped[str] = mapped_column(Key(100), primary_key=True)
    active_version: Mapped[int]
    activated_at: Mapped[datetime] = set_at()
    activated_by: Mapped[int | None] = refers_to("users.user_id", index=True)

    @property
    def definition(self) -> Definition:
        """Return what the catalogue says of it."""
        return CATALOGUE[self.name]


class PromptActivation(Base):
    """A version was put into use, by whom and when; without a user it was the product itself."""

    __tablename__ = "prompt_activations"
    __table_args__ = (
        ForeignKeyConstraint(
            ["name", "version"],
            ["prompt_versions.name", "prompt_versions.version"],
            name="fk_prompt_activations_version",
        ),
    )

    activation_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    name: Mapped[str] = mapped_column(Key(100))
    version: Mapped[int]
    activated_at: Mapped[datetime] = set_at()
    activated_by: Mapped[int | None] = refers_to("users.user_id", index=True)
