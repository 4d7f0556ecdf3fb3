"""Connections to model servers, the models they offer, and their grades. Keys and headers are stored encrypted."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, Boolean, Float, String, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from webapp.db.base import Base
from webapp.db.columns import Key, Timestamp, belongs_to, one_of, set_at

AUDIENCES = ("everyone", "admins")
MIN_RECALL = 0.85
"""The share of the exam's right statements that a trusted model finds."""
MAX_FALSE_SHARE = 0.025
"""The most of its wrong ones that it makes: one of forty."""


class ModelConnection(Base):
    """An OpenAI-compatible server. `secrets` contains its key and headers, encrypted; they are never returned."""

    __tablename__ = "model_connections"

    connection_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    name: Mapped[str] = mapped_column(String(100))
    base_url: Mapped[str] = mapped_column(String(500))
    secrets: Mapped[str | None] = mapped_column(Text)
    key_set: Mapped[bool] = mapped_column(Boolean, default=False, server_default=text("0"))
    header_names: Mapped[list[str]] = mapped_column(JSON, default=list)
    is_enabled: Mapped[bool] = mapped_column(Boolean, default=True, server_default=text("1"))
    # Whether its models are offered arithmetic and dates (webapp/tools).
    builtin_tools: Mapped[bool] = mapped_column(Boolean, default=True, server_default=text("1"))
    # The model that makes the vectors of the whole site, on the one connection that was chosen for that.
    embedding_model: Mapped[str | None] = mapped_column(String(200))
    # The model that does the background work of the whole site, in the same way.
    background_model: Mapped[str | None] = mapped_column(String(200))
    test_result: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    tested_at: Mapped[datetime | None] = mapped_column(Timestamp)
    created_at: Mapped[datetime] = set_at()
    updated_at: Mapped[datetime] = set_at()


class ModelOffer(Base):
    """A model that a connection offers: its name on the server and here, its audience, and its parameters."""

    __tablename__ = "model_offers"
    __table_args__ = (UniqueConstraint("connection_id", "model", name="uq_model_offers_model"),)

    offer_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    connection_id: Mapped[int] = belongs_to("model_connections.connection_id")
    model: Mapped[str] = mapped_column(Key(200))
    label: Mapped[str] = mapped_column(String(100))
    # A character or two shown before its name, such as an emoji.
    icon: Mapped[str | None] = mapped_column(String(16))
    audience: Mapped[str] = mapped_column(one_of(*AUDIENCES, name="model_audience"), default="everyone")
    context_window: Mapped[int | None]
    parameters: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    input_price: Mapped[float | None] = mapped_column(Float)
    output_price: Mapped[float | None] = mapped_column(Float)
    is_default: Mapped[bool] = mapped_column(Boolean, default=False, server_default=text("0"))
    fallback_rank: Mapped[int | None]


class ModelOfferGroup(Base):
    """A group whose members can choose a model that is otherwise for admins."""

    __tablename__ = "model_offer_groups"

    offer_id: Mapped[int] = belongs_to("model_offers.offer_id", primary_key=True)
    group_id: Mapped[int] = belongs_to("user_groups.group_id", primary_key=True, index=True)


class MemoryGrade(Base):
    """A model's grade in the exam of those that write memories (`memories/learning/exam.py`).

    `recall` is the share of right statements that it found, `key_share` that of their keys, `false_share` that of the
    wrong ones that it made, of which there are `cases`. `model_key` is a hash of server and model.
    """

    __tablename__ = "memory_grades"

    model_key: Mapped[str] = mapped_column(Key(64), primary_key=True)
    recall: Mapped[float] = mapped_column(Float)
    key_share: Mapped[float] = mapped_column(Float)
    false_share: Mapped[float] = mapped_column(Float)
    cases: Mapped[int]
    examined_at: Mapped[datetime] = set_at()

    @property
    def is_trusted(self) -> bool:
        """Return whether the grade is good enough for the model's own wording."""
        return self.recall >= MIN_RECALL and self.false_share <= MAX_FALSE_SHARE
