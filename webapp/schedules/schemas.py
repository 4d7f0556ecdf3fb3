"""Schedules in the words of the HTTP contract, their runs and their calendar."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, Field, WithJsonSchema

from webapp.accounts.preferences import TimeZone
from webapp.http.validation import Changes, Flag, Id, Input, Instant, Line, ListOut, MessageText, Output, Time
from webapp.schedules.models import Schedule, ScheduleRun
from webapp.schedules.recurrence import LAST_YEAR, MAX_RULE_LENGTH, to_instant


def in_range(value: datetime) -> datetime:
    """Return a time that the tables can hold. Raises ValueError."""
    if not 2000 <= value.year <= LAST_YEAR:
        raise ValueError(f"must be between 2000 and {LAST_YEAR}")
    return value


At = Annotated[Time, AfterValidator(in_range), WithJsonSchema({"type": "string", "examples": ["2026-12-06T18:00"]})]
"""A time: local in the schedule's time zone, or with an offset or Z."""
Place = Literal["new", "same"] | Id
Simple = Literal["daily", "weekdays", "weekly", "monthly"]


Prompt = Annotated[MessageText, Field(max_length=16_000)]  # what TEXT holds on MySQL, of any script


class ScheduleFields(Input):
    """A schedule as a program asks for it."""

    title: Line | None = Field(None, max_length=120, description="The first words of the prompt without one.")
    prompt: Prompt | None = Field(None, description="The message that is sent; with a journey its title if empty.")
    journey: Line | None = Field(None, max_length=100, description="The slug of the journey whose conversations begin.")
    rrule: Line | None = Field(None, max_length=MAX_RULE_LENGTH, description="A rule of RFC 5545, hourly at most.")
    repeat: Simple | None = Field(None, description="Instead of a rule; monthly on the 31st is the last day.")
    at: At | None = Field(None, description="The only time, or the first of a rule; without one a rule begins now.")
    timezone: TimeZone | None = Field(None, description="The zone of its times; yours without one.")
    conversation: Place = Field("new", description="A new one each time, the same for all, or the id of one.")
    is_active: Flag = True
    sends_mail: Flag = Field(False, description="E-mails you when it has run, once your address is confirmed.")


class ScheduleEdit(Changes):
    """Changes of a schedule by a program: only what is given."""

    nullable = ("journey", "rrule")

    title: Line | None = Field(None, max_length=120)
    prompt: Prompt | None = None
    journey: Line | None = Field(None, max_length=100, description="With null, plain conversations again.")
    rrule: Line | None = Field(None, max_length=MAX_RULE_LENGTH, description="With null, once.")
    repeat: Simple | None = None
    at: At | None = None
    timezone: TimeZone | None = None
    conversation: Place | None = None
    is_active: Flag | None = None
    sends_mail: Flag | None = None


class ScheduleOut(Output):
    schedule_id: int
    title: str
    prompt: str
    journey: str | None
    rrule: str | None = Field(description="RFC 5545, of times in its time zone; null for once.")
    at: Instant = Field(description="The first time.")
    timezone: str
    conversation: Literal["new", "same"] | int = Field(description='"same" until the first run has begun it.')
    next_at: Instant | None
    is_active: bool
    paused_why: str | None = Field(description="Why it stopped by itself.")
    failures: int
    sends_mail: bool
    created_at: Instant

    @classmethod
    def of(cls, row: Schedule) -> "ScheduleOut":
        return cls.from_row(row, rrule=row.rrule or None, at=to_instant(row.at, row.timezone))


class ScheduleList(ListOut):
    schedules: list[ScheduleOut]


class FeedOut(BaseModel):
    url: str = Field(description="Whoever has it sees what is due, by its title.")
    created_at: Instant


class RunOut(Output):
    run_id: int
    due_at: Instant
    status: Literal["waiting", "running", "done", "failed"]
    is_late: bool
    message_id: int | None
    conversation_id: int | None
    problem: str | None
    ended_at: Instant | None

    @classmethod
    def of(cls, row: ScheduleRun, conversation_id: int | None) -> "RunOut":
        return cls.from_row(row, conversation_id=conversation_id)


class RunList(ListOut):
    runs: list[RunOut]
