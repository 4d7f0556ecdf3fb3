"""The cost of replies and background work in tokens, and people's limits."""

from datetime import date, datetime

from sqlalchemy import BigInteger, Boolean, Date, Float, Index, String, text
from sqlalchemy.orm import Mapped, mapped_column

from webapp.db.base import Base
from webapp.db.columns import Key, belongs_to, one_of, refers_to, set_at

PERIODS = ("day", "month")
CHAT, SCHEDULE = "chat", "schedule"
REPLIES = (CHAT, SCHEDULE)
"""The kinds that are replies: to what somebody sent, and to what a schedule sent for them."""
BACKGROUND = "background"
"""The source of all that is no reply: memories, titles, summaries."""
SOURCES = (*REPLIES, BACKGROUND)


class UsageRecord(Base):
    """The tokens of one reply (REPLIES) or one background call. It outlives its conversation: the tokens were spent."""

    __tablename__ = "usage_records"
    __table_args__ = (
        Index("ix_usage_records_user", "user_id", "created_at"),
        Index("ix_usage_records_time", "created_at", "kind", "user_id"),
    )

    usage_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    user_id: Mapped[int] = belongs_to("users.user_id")
    conversation_id: Mapped[int | None] = refers_to("conversations.conversation_id", index=True)
    message_id: Mapped[int | None]
    kind: Mapped[str] = mapped_column(Key(40))
    target: Mapped[str | None] = mapped_column(String(220))
    model: Mapped[str | None] = mapped_column(String(200))
    input_tokens: Mapped[int] = mapped_column(default=0)
    cached_tokens: Mapped[int] = mapped_column(default=0, server_default=text("0"))
    estimated_tokens: Mapped[int | None]
    characters: Mapped[int | None]
    output_tokens: Mapped[int] = mapped_column(default=0)
    # Dollars per million tokens, as an admin had set them at the time; None: the current price of the model.
    input_price: Mapped[float | None] = mapped_column(Float)
    output_price: Mapped[float | None] = mapped_column(Float)
    is_estimated: Mapped[bool] = mapped_column(Boolean, default=False, server_default=text("0"))
    created_at: Mapped[datetime] = set_at()


class UsageSum(Base):
    """The records of one day (UTC) up to the mark, added up by what their cost depends on: those of one person or,
    without `user_id`, of everybody. Made from the records, and never read without those after the mark."""

    __tablename__ = "usage_sums"
    __table_args__ = (
        Index("ix_usage_sums_user", "user_id", "day"),
        Index("ix_usage_sums_people", "source", "day", "user_id"),
    )

    sum_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    user_id: Mapped[int | None] = belongs_to("users.user_id")
    day: Mapped[date] = mapped_column(Date)
    source: Mapped[str] = mapped_column(one_of(*SOURCES, name="usage_source"))
    model: Mapped[str | None] = mapped_column(String(200))
    target: Mapped[str | None] = mapped_column(String(220))
    input_price: Mapped[float | None] = mapped_column(Float)
    output_price: Mapped[float | None] = mapped_column(Float)
    input_tokens: Mapped[int] = mapped_column(BigInteger)
    cached_tokens: Mapped[int] = mapped_column(BigInteger)
    output_tokens: Mapped[int] = mapped_column(BigInteger)
    calls: Mapped[int]
    # How many of the calls were estimated.
    estimated: Mapped[int]


class UsageMark(Base):
    """One row: the last record that is in the sums. Whoever changes sums or records before it locks it first."""

    __tablename__ = "usage_marks"

    mark_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    usage_id: Mapped[int]


class Quota(Base):
    """The limit of a period: for one user, each member of a group, or everybody who has no other quota."""

    __tablename__ = "quotas"

    quota_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    user_id: Mapped[int | None] = belongs_to("users.user_id", index=True)
    group_id: Mapped[int | None] = belongs_to("user_groups.group_id", index=True)
    period: Mapped[str] = mapped_column(one_of(*PERIODS, name="quota_period"))
    tokens: Mapped[int | None]
    dollars: Mapped[float | None] = mapped_column(Float)

    @property
    def owner_kind(self) -> str:
        """Return whether the limit is somebody's own, a group's, or everybody's."""
        return "own" if self.user_id is not None else "group" if self.group_id is not None else "everybody"
