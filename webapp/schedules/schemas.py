"""Schedules as the form gives them, their runs and their calendar."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainSerializer, WithJsonSchema, field_validator

from webapp.accounts.preferences import TimeZone
from webapp.http.validation import Flag, Id, Instant, Line, MessageText
from webapp.schedules.models import ScheduleRun
from webapp.schedules.recurrence import LAST_YEAR, LONGEST, Repeat


def in_range(value: datetime) -> datetime:
    """Return a time that the tables can hold. Raises ValueError."""
    if not 2000 <= value.year <= LAST_YEAR:
        raise ValueError(f"must be between 2000 and {LAST_YEAR}")
    return value


def _local(value: datetime) -> datetime:
    if value.tzinfo is not None:
        raise ValueError("is a local time, without a zone or Z")
    return in_range(value).replace(second=0, microsecond=0)


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
    conversation_id: Id | None = Field(None, description="The conversation of a standing one, if there is one already.")
    is_paused: Flag = False
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
    conversation_id: Id | None = None
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


class FeedOut(BaseModel):
    url: str = Field(description="Whoever has it sees what is due, by its title.")
    created_at: Instant


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
