"""Schedules in the words of the HTTP contract, for the API and MCP; the form and the table have their own."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema, field_validator

from webapp.accounts.models import User
from webapp.accounts.preferences import TimeZone, UserSettings
from webapp.db.base import get_or_raise, now
from webapp.errors import Invalid, NotFound
from webapp.http.validation import Flag, Id, Instant, Line, MessageText
from webapp.journeys.authoring import visible_journey
from webapp.schedules import service
from webapp.schedules.models import Schedule
from webapp.schedules.recurrence import LONGEST, to_instant
from webapp.schedules.schemas import NewSchedule, ScheduleChanges, in_range

_NAMES = {"content": "prompt", "rule": "rrule", "starts_at": "at", "zone": "timezone"}
At = Annotated[datetime, AfterValidator(in_range), WithJsonSchema({"type": "string", "examples": ["2026-12-06T18:00"]})]
"""A time: local in the schedule's time zone, or with an offset or Z."""
Place = Literal["new", "same"] | Id
Simple = Literal["daily", "weekdays", "weekly", "monthly"]


class ScheduleFields(BaseModel):
    """A schedule as a program asks for it."""

    model_config = ConfigDict(extra="forbid")

    title: Line | None = Field(None, max_length=120, description="The first words of the prompt without one.")
    prompt: MessageText | None = Field(None, description="The message that is sent; with a journey its title if empty.")
    journey: Line | None = Field(None, max_length=100, description="The slug of the journey whose conversations begin.")
    rrule: Line | None = Field(None, max_length=LONGEST, description="A rule of RFC 5545, hourly at most.")
    repeat: Simple | None = Field(None, description="Instead of a rule; monthly on the 31st is the last day.")
    at: At | None = Field(None, description="The only time, or the first of a rule; without one a rule begins now.")
    timezone: TimeZone | None = Field(None, description="The zone of its times; yours without one.")
    conversation: Place = Field("new", description="A new one each time, the same for all, or the id of one.")
    is_active: Flag = True
    sends_mail: Flag = Field(False, description="E-mails you when it has run, once your address is confirmed.")


class ScheduleEdit(BaseModel):
    """Changes of a schedule by a program: only what is given."""

    model_config = ConfigDict(extra="forbid")

    title: Line | None = Field(None, max_length=120)
    prompt: MessageText | None = None
    journey: Line | None = Field(None, max_length=100, description="With null, plain conversations again.")
    rrule: Line | None = Field(None, max_length=LONGEST, description="With null, once.")
    repeat: Simple | None = None
    at: At | None = None
    timezone: TimeZone | None = None
    conversation: Place | None = None
    is_active: Flag | None = None
    sends_mail: Flag | None = None

    @field_validator("title", "prompt", "repeat", "at", "timezone", "conversation", "is_active", "sends_mail")
    @classmethod
    def _not_null(cls, value: object) -> object:
        if value is None:
            raise ValueError("cannot be null")
        return value


class ScheduleOut(BaseModel):
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
    def of(cls, row: Schedule) -> ScheduleOut:
        same = ("schedule_id", "title", "journey", "next_at", "paused_why", "failures", "sends_mail", "created_at")
        return cls(
            **{name: getattr(row, name) for name in same},
            prompt=row.content,
            rrule=row.rule or None,
            at=to_instant(row.starts_at, row.zone),
            timezone=row.zone,
            conversation=(row.conversation_id or "same") if row.is_standing else "new",
            is_active=not row.is_paused,
        )


class ScheduleList(BaseModel):
    schedules: list[ScheduleOut]


def create(user_id: int, fields: ScheduleFields, *, token_id: int | None) -> Schedule:
    """Add a schedule. Raises Invalid, NotFound for a journey or conversation, TooMany."""
    zone = fields.timezone or UserSettings.of(get_or_raise(User, user_id).settings).timezone
    prompt = fields.prompt or _title_of_journey(user_id, fields.journey)
    if fields.rrule and fields.repeat:
        raise Invalid.field("repeat", "is not needed beside a rule")
    if fields.at is None and not (fields.rrule or fields.repeat):
        raise Invalid.field("at", "is needed, unless there is a rule")
    wanted = NewSchedule(
        content=prompt,
        title=fields.title or None,
        repeat="custom" if fields.rrule else fields.repeat or "once",
        rule=fields.rrule or "",
        starts_at=_local(fields.at or now(), zone),
        zone=zone,
        journey=fields.journey or None,
        is_paused=not fields.is_active,
        sends_mail=fields.sends_mail,
        **_place(fields.conversation),
    )
    try:
        return service.create_schedule(user_id, wanted, token_id=token_id)
    except Invalid as error:
        raise _in_contract(error) from None


def change(user_id: int, schedule_id: int, fields: ScheduleEdit, *, token_id: int | None) -> Schedule:
    """Change a schedule; only the given fields. Raises NotFound, Invalid."""
    row = service.get_schedule(user_id, schedule_id, lock=True)
    given = fields.model_dump(exclude_unset=True)
    changes: dict[str, Any] = {name: given[name] for name in ("title", "journey", "sends_mail") if name in given}
    if "prompt" in given:
        changes["content"] = given["prompt"]
    if "is_active" in given:
        changes["is_paused"] = not given["is_active"]
    if "conversation" in given:
        changes |= _place(given["conversation"])
    if "timezone" in given:
        changes["zone"] = given["timezone"]
    if "at" in given:
        changes["starts_at"] = _local(given["at"], given.get("timezone", row.zone))
    if "repeat" in given:
        changes["repeat"] = given["repeat"]
    elif "rrule" in given:
        changes |= {"repeat": "custom", "rule": given["rrule"]} if given["rrule"] else {"repeat": "once"}
    try:
        return service.change_schedule(user_id, schedule_id, ScheduleChanges(**changes), token_id=token_id)
    except Invalid as error:
        raise _in_contract(error) from None


def _title_of_journey(user_id: int, slug: str | None) -> str:
    if not slug:
        raise Invalid.field("prompt", "is needed, unless there is a journey")
    journey = visible_journey(user_id, slug)
    if journey is None:
        raise NotFound("There is no such journey.")
    return journey.title


def _local(at: datetime, zone: str) -> datetime:
    """Return a time as the clocks of a zone show it, to the minute."""
    shown = at if at.tzinfo is None else at.astimezone(ZoneInfo(zone)).replace(tzinfo=None)
    return shown.replace(second=0, microsecond=0)


def _place(conversation: str | int) -> dict[str, Any]:
    if isinstance(conversation, int):
        return {"is_standing": True, "conversation_id": conversation}
    return {"is_standing": conversation == "same"}


def _in_contract(error: Invalid) -> Invalid:
    """Return an error whose fields have the names of the contract."""
    renamed = [{**item, "loc": [_NAMES.get(str(part), part) for part in item["loc"]]} for item in error.errors or ()]
    return Invalid(error.detail, errors=renamed)
