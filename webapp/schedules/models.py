"""Schedules, and what became of each time that one was due."""

from datetime import datetime
from typing import Literal

from sqlalchemy import Boolean, DateTime, Index, String, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from webapp.db.base import Base
from webapp.db.columns import Key, Timestamp, belongs_to, one_of, refers_to, set_at

Place = Literal["new", "same"] | int
RUN_STATUSES = ("waiting", "running", "done", "failed")


class Schedule(Base):
    """A message that is sent for its owner, once or by a rule (RFC 5545) about local times of `timezone`.

    `at` is its first local time; `next_at` the next instant, empty after the last. A standing one has one conversation,
    another begins one each, of `journey` (a slug) where set. `failures` are in a row; `paused_why` says why it stopped
    by itself; `sends_mail` when it has run. Without the token `token_id` of the program that made it, it sends nothing.
    """

    __tablename__ = "schedules"
    __table_args__ = (Index("ix_schedules_due", "is_active", "next_at"),)

    schedule_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    user_id: Mapped[int] = belongs_to("users.user_id", index=True)
    conversation_id: Mapped[int | None] = refers_to("conversations.conversation_id", index=True)
    title: Mapped[str] = mapped_column(String(120))
    prompt: Mapped[str] = mapped_column(Text)
    rrule: Mapped[str] = mapped_column(String(500), default="", server_default="")
    at: Mapped[datetime] = mapped_column(DateTime)
    timezone: Mapped[str] = mapped_column(Key(64))
    journey: Mapped[str | None] = mapped_column(String(100))
    is_standing: Mapped[bool] = mapped_column(Boolean, default=False, server_default=text("0"))
    next_at: Mapped[datetime | None] = mapped_column(Timestamp)
    is_active: Mapped[bool] = mapped_column(Boolean, default=True, server_default=text("1"))
    paused_why: Mapped[str | None] = mapped_column(String(300))
    token_id: Mapped[int | None]
    sends_mail: Mapped[bool] = mapped_column(Boolean, default=False, server_default=text("0"))
    failures: Mapped[int] = mapped_column(default=0, server_default=text("0"))
    created_at: Mapped[datetime] = set_at()

    @property
    def conversation(self) -> Place:
        """Return where messages go: "new", "same" until the first has begun it, or an id."""
        return (self.conversation_id or "same") if self.is_standing else "new"

    @conversation.setter
    def conversation(self, place: Place) -> None:
        self.is_standing = place != "new"
        if isinstance(place, int):
            self.conversation_id = place


class ScheduleRun(Base):
    """One time that a schedule was due: the reply it brought, or why there is none. `is_late`: it was missed before.

    `mail_due_at`: from when on its owner is mailed that it has ended; empty if not, or no more.
    """

    __tablename__ = "schedule_runs"
    __table_args__ = (
        UniqueConstraint("schedule_id", "due_at", name="uq_schedule_runs_due"),
        Index("ix_schedule_runs_status", "status", "due_at"),
    )

    run_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    schedule_id: Mapped[int] = belongs_to("schedules.schedule_id")
    due_at: Mapped[datetime] = set_at()
    status: Mapped[str] = mapped_column(one_of(*RUN_STATUSES, name="schedule_run_status"), default="waiting")
    is_late: Mapped[bool] = mapped_column(Boolean, default=False, server_default=text("0"))
    message_id: Mapped[int | None] = refers_to("messages.message_id", index=True)
    problem: Mapped[str | None] = mapped_column(String(300))
    ended_at: Mapped[datetime | None] = mapped_column(Timestamp)
    mail_due_at: Mapped[datetime | None] = mapped_column(Timestamp, index=True)


class ScheduleFeed(Base):
    """The calendar that shows a user's schedules to whoever has its secret, of which only a digest is stored."""

    __tablename__ = "schedule_feeds"
    __table_args__ = (UniqueConstraint("digest", name="uq_schedule_feeds_digest"),)

    user_id: Mapped[int] = belongs_to("users.user_id", primary_key=True)
    digest: Mapped[str] = mapped_column(Key(64))
    created_at: Mapped[datetime] = set_at()
