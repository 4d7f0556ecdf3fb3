"""Schedules of a user: made, changed, and the next time each is due."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from pydantic import ValidationError
from sqlalchemy import select

from webapp.accounts.models import User
from webapp.accounts.preferences import UserSettings
from webapp.accounts.site import schedules_per_person
from webapp.background.queues import enqueue_after_commit
from webapp.conversations.current_messages import current
from webapp.conversations.models import Message
from webapp.conversations.service import get_conversation
from webapp.db.base import add_row, count_rows, db, delete_row, get_or_raise, now, own_row
from webapp.errors import Conflict, Invalid, NotFound, TooMany, require
from webapp.http.paging import EPOCH, Keyset, read_page
from webapp.http.validation import Page, PageQuery
from webapp.journeys.authoring import visible_journey
from webapp.schedules.models import Schedule, ScheduleRun
from webapp.schedules.recurrence import local_time, next_time, rule_of, to_instant
from webapp.schedules.schemas import Place, ScheduleEdit, ScheduleFields, Simple

PROPOSAL = "propose_schedule"
FORMER_NAMES = {"content": "prompt", "rule": "rrule", "starts_at": "at", "zone": "timezone"}
"""What stored proposals and exports made until November 2026 call the fields."""
TITLE_WORDS = 8


def list_schedules(user_id: int) -> Sequence[Schedule]:
    """Return a user's schedules: those due next first, then those that are over."""
    return db.session.scalars(
        select(Schedule)
        .where(Schedule.user_id == user_id)
        .order_by(Schedule.next_at.is_(None), Schedule.next_at, Schedule.schedule_id)
    ).all()


def page_of_schedules(user_id: int, query: PageQuery) -> Page[Schedule]:
    """Return a page of the schedules, those due next first. Raises Invalid for a foreign cursor."""
    return Keyset("schedules", query, int, datetime, int, scope=user_id).page_of(
        list_schedules(user_id), lambda row: (int(row.next_at is None), row.next_at or EPOCH, row.schedule_id)
    )


def get_schedule(user_id: int, schedule_id: int, *, lock: bool = False) -> Schedule:
    """Return one of a user's schedules. Raises NotFound."""
    return require(own_row(Schedule, user_id, schedule_id, lock=lock), "There is no such schedule.")


def create_schedule(user_id: int, fields: ScheduleFields, *, token_id: int | None = None) -> Schedule:
    """Add a schedule, for a program by its token. Raises Invalid for one without a future, NotFound, TooMany."""
    if fields.rrule and fields.repeat:
        raise Invalid.field("repeat", "is not needed beside a rule")
    if fields.at is None and not (fields.rrule or fields.repeat):
        raise Invalid.field("at", "is needed, unless there is a rule")
    prompt = fields.prompt or _title_of_journey(user_id, fields.journey)
    owner = get_or_raise(User, user_id, lock=True)
    limit = schedules_per_person()
    if count_rows(Schedule.user_id == user_id) >= limit:
        raise TooMany("You have %(most)s schedules already.", most=limit)
    journey = fields.journey or None
    _require_places(user_id, journey, fields.conversation)
    timezone = fields.timezone or UserSettings.of(owner.settings).timezone
    local = local_time(fields.at or now(), timezone)
    row = Schedule(
        user_id=user_id,
        title=fields.title or title_of(prompt),
        prompt=prompt,
        rrule=_rrule(fields.repeat, fields.rrule, local),
        at=local,
        timezone=timezone,
        conversation=fields.conversation,
        journey=journey,
        is_active=fields.is_active,
        sends_mail=fields.sends_mail,
        token_id=token_id,
    )
    _set_next(row, now())
    return add_row(row)


def change_schedule(user_id: int, schedule_id: int, changes: ScheduleEdit, *, token_id: int | None = None) -> Schedule:
    """Change the given fields, for the person or this token's program; resumed, it is due from now. Raises NotFound,
    Invalid.
    """
    row = get_schedule(user_id, schedule_id, lock=True)
    values = changes.model_dump(exclude_unset=True)
    row.token_id = token_id
    _require_places(user_id, values.get("journey"), values.get("conversation", "new"))
    for name in values.keys() - {"repeat", "rrule", "at"}:
        setattr(row, name, values[name])
    if "at" in values:
        row.at = local_time(values["at"], row.timezone)
    if {"repeat", "rrule"} & values.keys():
        row.rrule = _rrule(changes.repeat, changes.rrule, row.at)
    if changes.is_active:
        row.paused_why, row.failures = None, 0
    if changes.is_active or {"repeat", "rrule", "at", "timezone"} & values.keys():
        _set_next(row, now())
    db.session.flush()
    return row


def delete_schedule(user_id: int, schedule_id: int) -> None:
    """Delete a schedule; the replies to its messages stay. Raises NotFound."""
    delete_row(get_schedule(user_id, schedule_id, lock=True))


def run_now(user_id: int, schedule_id: int) -> ScheduleRun:
    """Send a schedule's message now, in addition to its times. Raises NotFound, Conflict while one is being sent."""
    row = get_schedule(user_id, schedule_id, lock=True)
    under_way = ScheduleRun.status.in_(("waiting", "running"))
    if db.session.scalar(select(ScheduleRun.run_id).where(ScheduleRun.schedule_id == schedule_id, under_way).limit(1)):
        raise Conflict("It is on its way already.")
    run = add_row(ScheduleRun(schedule_id=row.schedule_id, due_at=now(), status="waiting"))
    enqueue_after_commit("scheduled_turn", run_id=run.run_id)
    return run


def list_runs(user_id: int, schedule_id: int, query: PageQuery) -> Page[tuple[ScheduleRun, int | None]]:
    """Return the times a schedule was due, newest first, with the conversation of each. Raises NotFound, Invalid."""
    get_schedule(user_id, schedule_id)
    statement = (
        select(ScheduleRun, Message.conversation_id)
        .outerjoin(Message, Message.message_id == ScheduleRun.message_id)
        .where(ScheduleRun.schedule_id == schedule_id)
    )
    page = read_page("runs of a schedule", query, statement, ScheduleRun.due_at, scope=schedule_id)
    return page.map(lambda row: (row[0], row[1]))


@dataclass(frozen=True, slots=True)
class ProposedSchedule:
    """A schedule that a reply proposes, when it would first be due, and whether it has been made."""

    fields: ScheduleFields
    at: datetime
    is_made: bool

    @property
    def form(self) -> dict[str, Any]:
        """Return the fields of the form that makes it."""
        return self.fields.model_dump(include={"prompt", "timezone"}) | {
            "at": f"{self.fields.at:%Y-%m-%dT%H:%M}",
            "repeat": self.fields.repeat or "once",
        }


def proposed_by(user_id: int, calls: Iterable[Mapping[str, Any]] | None) -> list[ProposedSchedule]:
    """Return what a reply's tool calls propose to schedule."""
    schedules = []
    for call in calls or ():
        output = call.get("output") if call.get("tool_name") == PROPOSAL else None
        if not isinstance(output, Mapping) or not isinstance(proposal := output.get("schedule"), Mapping):
            continue
        values = {FORMER_NAMES.get(name, name): value for name, value in proposal.items()}
        if values.get("repeat") == "once":
            del values["repeat"]
        try:
            fields = ScheduleFields.model_validate(values)
        except ValidationError:
            continue  # a restored reply may hold anything
        if output.get("status") != "proposed" or fields.at is None or not fields.prompt or not fields.timezone:
            continue
        local = local_time(fields.at, fields.timezone)
        statement = select(Schedule.schedule_id).where(
            Schedule.user_id == user_id, Schedule.at == local, Schedule.prompt == fields.prompt
        )
        is_made = db.session.scalar(statement.limit(1)) is not None
        schedules.append(ProposedSchedule(fields, to_instant(local, fields.timezone), is_made))
    return schedules


def last_message(user_id: int, conversation_id: int) -> str:
    """Return what a user said last in a conversation, "" if nothing. Raises NotFound."""
    get_conversation(user_id, conversation_id)
    latest = select(Message.content).where(current(conversation_id, "user")).order_by(Message.message_id.desc())
    return db.session.scalar(latest.limit(1)) or ""


def title_of(prompt: str) -> str:
    """Return the first words of a message."""
    words = " ".join(prompt.split())[:200].split(" ")
    return " ".join(words[:TITLE_WORDS])[:119] + ("…" if len(words) > TITLE_WORDS else "")


def _title_of_journey(user_id: int, slug: str | None) -> str:
    if not slug:
        raise Invalid.field("prompt", "is needed, unless there is a journey")
    return require(visible_journey(user_id, slug), "There is no such journey.").title


def _require_places(user_id: int, journey: str | None, conversation: Place) -> None:
    if journey is not None and visible_journey(user_id, journey) is None:
        raise NotFound("There is no such journey.")
    if isinstance(conversation, int) and get_conversation(user_id, conversation).is_temporary:
        raise Conflict("A temporary conversation ends when you leave it.")


def _rrule(repeat: Simple | None, rrule: str | None, local: datetime) -> str:
    try:
        return rule_of(repeat or ("custom" if rrule else "once"), rrule or "", local)
    except ValueError as error:
        raise Invalid.field("rrule", str(error)) from None


def _set_next(row: Schedule, after: datetime) -> None:
    row.next_at = next_time(row.rrule, row.at, row.timezone, after)
    if row.next_at is None:
        beginning = to_instant(row.at, row.timezone) - timedelta(days=1)
        if next_time(row.rrule, row.at, row.timezone, beginning) is None:
            raise Invalid.field("rrule", "never comes due; nothing would be sent")
        raise Invalid.field("rrule" if row.rrule else "at", "has passed; nothing would be sent")
