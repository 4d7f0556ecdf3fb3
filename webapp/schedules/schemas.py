"""Input and output of schedules."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainSerializer, WithJsonSchema, field_validator

from webapp.accounts.preferences import TimeZone
from webapp.http.validation import Flag, Id, Instant, Line, MessageText
from webapp.schedules.models import Schedule, ScheduleRun
from webapp.schedules.recurrence import LAST_YEAR, LONGEST, Repeat


def _local(value: datetime) -> datetime:
    if value.tzinfo is not None:
        raise ValueError("is a local time, without a zone or Z")
    if not 2000 <= value.year <= LAST_YEAR:
        raise ValueError(f"must be between 2000 and {LAST_YEAR}")
    return value.replace(second=0, microsecond=0)


_FORM = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d$"}
Local = Annotated[
    datetime,
    AfterValidator(_local),
    PlainSerializer(lambda value: value.strftime("%Y-%m-%dT%H:%M"), return_type=str, when_used="json"),
    WithJsonSchema(_FORM),
]
"""A local time, to the minute."""


class SchedulePath(BaseModel):
    schedule_id: Id


class NewSchedule(BaseModel):
    model_config = ConfigDict(extra="forbid")

    content: MessageText = Field(description="The message that is sent.")
    title: Line | None = Field(None, max_length=120, description="Its first words without one.")
    repeat: Repeat = "once"
    rule: Line = Field("", max_length=LONGEST, description="With repeat=custom: an RRULE of RFC 5545, hourly at most.")
    starts_at: Local = Field(description="The first time, local: 2026-12-06T18:00.")
    zone: TimeZone | None = Field(None, description="The zone of its times; yours without one.")
    is_standing: Flag = Field(False, description="All in one conversation, instead of a new one each time.")
    journey: Line | None = Field(None, max_length=100, description="The journey whose conversations it begins.")
    sends_mail: Flag = Field(False, description="E-mails you when it has run, once your address is confirmed.")


class ScheduleChanges(BaseModel):
    model_config = ConfigDict(extra="forbid")

    content: MessageText | None = None
    title: Line | None = Field(None, max_length=120)
    repeat: Repeat | None = None
    rule: Line | None = Field(None, max_length=LONGEST)
    starts_at: Local | None = None
    zone: TimeZone | None = None
    is_standing: Flag | None = None
    is_paused: Flag | None = None
    journey: Line | None = Field(None, max_length=100, description="With null, plain conversations again.")
    sends_mail: Flag | None = None

    @field_validator(
        "content", "title", "repeat", "rule", "starts_at", "zone", "is_standing", "is_paused", "sends_mail"
    )
    @classmethod
    def _not_null(cls, value: object) -> object:
        if value is None:
            raise ValueError("cannot be null")
        return value


class ScheduleOut(BaseModel):
    schedule_id: int
    title: str
    content: str
    rule: str = Field(description="RFC 5545; empty for once.")
    starts_at: Local = Field(description="Local time.")
    zone: str
    is_standing: bool
    journey: str | None
    conversation_id: int | None
    next_at: Instant | None
    is_paused: bool
    paused_why: str | None
    sends_mail: bool
    failures: int
    created_at: Instant

    @classmethod
    def of(cls, row: Schedule) -> ScheduleOut:
        return cls.model_validate(row, from_attributes=True)


class FeedOut(BaseModel):
    created_at: Instant | None = Field(description="When its URL was made; null without one.")


class NewFeedOut(BaseModel):
    url: str = Field(description="Shown once; whoever has it sees what is due, by its title.")


class ScheduleList(BaseModel):
    schedules: list[ScheduleOut]


class RunOut(BaseModel):
    run_id: int
    due_at: Instant
    status: Literal["waiting", "running", "done", "failed"]
    is_late: bool
    message_id: int | None
    conversation_id: int | None
    problem: str | None
    ended_at: Instant | None

    @classmethod
    def of(cls, row: ScheduleRun, conversation_id: int | None) -> RunOut:
        values: dict[str, Any] = {name: getattr(row, name) for name in cls.model_fields if name != "conversation_id"}
        return cls(**values, conversation_id=conversation_id)


class RunList(BaseModel):
    runs: list[RunOut]
