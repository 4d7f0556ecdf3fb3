"""Schedules of a user: made, changed, and the next time each is due."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import ValidationError
from sqlalchemy import func, select

from webapp.accounts.models import User
from webapp.accounts.preferences import UserSettings
from webapp.accounts.site import schedules_per_person
from webapp.background.queues import enqueue_after_commit
from webapp.conversations.current_messages import current
from webapp.conversations.models import Message
from webapp.conversations.service import get_conversation
from webapp.db.base import db, get_or_raise, now
from webapp.errors import Conflict, Invalid, NotFound, TooMany
from webapp.i18n.marks import say
from webapp.journeys.authoring import visible_journey
from webapp.schedules.models import Schedule, ScheduleRun
from webapp.schedules.recurrence import next_time, rule_of, to_instant
from webapp.schedules.schemas import NewSchedule, ScheduleChanges

PROPOSAL = "propose_schedule"
SHOWN_RUNS = 50
TITLE_WORDS = 8


def list_schedules(user_id: int) -> Sequence[Schedule]:
    """A user's schedules: those due next first, then those that are over."""
    return db.session.scalars(
        select(Schedule)
        .where(Schedule.user_id == user_id)
        .order_by(Schedule.next_at.is_(None), Schedule.next_at, Schedule.schedule_id)
    ).all()


def get_schedule(user_id: int, schedule_id: int, *, lock: bool = False) -> Schedule:
    """One of a user's schedules. Raises NotFound."""
    wanted = select(Schedule).where(Schedule.schedule_id == schedule_id, Schedule.user_id == user_id)
    row = db.session.scalar(wanted.with_for_update() if lock else wanted)
    if row is None:
        raise NotFound("There is no such schedule.")
    return row


def create_schedule(user_id: int, wanted: NewSchedule, *, token_id: int | None = None) -> Schedule:
    """Add a schedule, for a program by its token.

    Raises Invalid for a rule or a time that has no future, NotFound for an unknown journey or conversation, TooMany.
    """
    owner = get_or_raise(User, user_id, lock=True)
    most = schedules_per_person()
    if (db.session.scalar(select(func.count()).where(Schedule.user_id == user_id)) or 0) >= most:
        raise TooMany(say("You have %(most)s schedules already.", most=most))
    _require_places(user_id, wanted.journey, wanted.conversation_id)
    zone = wanted.zone or UserSettings.of(owner.settings).timezone
    row = Schedule(
        user_id=user_id,
        title=wanted.title or title_of(wanted.content),
        content=wanted.content,
        rule=_rule(wanted),
        starts_at=wanted.starts_at,
        zone=zone,
        is_standing=wanted.is_standing,
        conversation_id=wanted.conversation_id if wanted.is_standing else None,
        is_paused=wanted.is_paused,
        journey=wanted.journey,
        sends_mail=wanted.sends_mail,
        token_id=token_id,
    )
    _set_next(row, now())
    db.session.add(row)
    db.session.flush()
    return row


def change_schedule(
    user_id: int, schedule_id: int, changes: ScheduleChanges, *, token_id: int | None = None
) -> Schedule:
    """Change a schedule; only the given fields. Resumed, it is due from now on. Raises NotFound, Invalid.

    It is the person's, or the program's with this token, from then on.
    """
    row = get_schedule(user_id, schedule_id, lock=True)
    given = changes.model_dump(exclude_unset=True)
    row.token_id = token_id
    _require_places(user_id, given.get("journey"), given.get("conversation_id"))
    timed = {"repeat", "rule", "starts_at", "zone"} & set(given)
    for name, value in given.items():
        if name not in ("repeat", "rule"):
            setattr(row, name, value)
    if "repeat" in given or "rule" in given:
        row.rule = _rule(
            NewSchedule(
                content=row.content,
                repeat=given.get("repeat", "custom"),
                rule=given.get("rule", row.rule),
                starts_at=row.starts_at,
            )
        )
    if given.get("is_paused") is False:
        row.paused_why, row.failures = None, 0
    if timed or given.get("is_paused") is False:
        _set_next(row, now())
    db.session.flush()
    return row


def delete_schedule(user_id: int, schedule_id: int) -> None:
    """Delete a schedule; what it brought stays. Raises NotFound."""
    db.session.delete(get_schedule(user_id, schedule_id, lock=True))
    db.session.flush()


def run_now(user_id: int, schedule_id: int) -> ScheduleRun:
    """Have a schedule's message sent at once, beside its times. Raises NotFound, Conflict while one is on its way."""
    row = get_schedule(user_id, schedule_id, lock=True)
    under_way = ScheduleRun.status.in_(("waiting", "running"))
    if db.session.scalar(select(ScheduleRun.run_id).where(ScheduleRun.schedule_id == schedule_id, under_way).limit(1)):
        raise Conflict("It is on its way already.")
    run = ScheduleRun(schedule_id=row.schedule_id, due_at=now(), status="waiting")
    db.session.add(run)
    db.session.flush()
    enqueue_after_commit("scheduled_turn", run_id=run.run_id)
    return run


def list_runs(user_id: int, schedule_id: int) -> list[tuple[ScheduleRun, int | None]]:
    """The latest times a schedule was due, newest first, each with the conversation it went to. Raises NotFound."""
    get_schedule(user_id, schedule_id)
    rows = db.session.execute(
        select(ScheduleRun, Message.conversation_id)
        .outerjoin(Message, Message.message_id == ScheduleRun.message_id)
        .where(ScheduleRun.schedule_id == schedule_id)
        .order_by(ScheduleRun.due_at.desc(), ScheduleRun.run_id.desc())
        .limit(SHOWN_RUNS)
    )
    return [(run, conversation_id) for run, conversation_id in rows]


@dataclass(frozen=True, slots=True)
class ProposedSchedule:
    """A schedule that a reply proposes, when it would first be due, and whether it has been made."""

    fields: NewSchedule
    at: datetime
    is_made: bool

    @property
    def form(self) -> dict[str, Any]:
        """Return the fields of the form that makes it."""
        return self.fields.model_dump(
            mode="json", include={"content", "starts_at", "zone", "repeat"}, exclude_none=True
        )


def proposed_by(user_id: int, calls: Iterable[Mapping[str, Any]] | None) -> list[ProposedSchedule]:
    """Return what a reply's tool calls propose to schedule."""
    found = []
    for call in calls or ():
        output = call.get("output") if call.get("tool_name") == PROPOSAL else None
        if not isinstance(output, Mapping) or output.get("status") != "proposed":
            continue
        try:
            fields = NewSchedule.model_validate(output.get("schedule"))
        except ValidationError:
            continue  # a restored reply may hold anything
        same = select(Schedule.schedule_id).where(
            Schedule.user_id == user_id, Schedule.starts_at == fields.starts_at, Schedule.content == fields.content
        )
        at = to_instant(fields.starts_at, fields.zone or "UTC")
        found.append(ProposedSchedule(fields, at, db.session.scalar(same.limit(1)) is not None))
    return found


def last_message(user_id: int, conversation_id: int) -> str:
    """Return what a user said last in a conversation, "" if nothing. Raises NotFound."""
    get_conversation(user_id, conversation_id)
    latest = select(Message.content).where(current(conversation_id, "user")).order_by(Message.message_id.desc())
    return db.session.scalar(latest.limit(1)) or ""


def title_of(content: str) -> str:
    """Return the first words of a message."""
    words = " ".join(content.split())[:200].split(" ")
    return " ".join(words[:TITLE_WORDS])[:119] + ("…" if len(words) > TITLE_WORDS else "")


def _require_places(user_id: int, journey: str | None, conversation_id: int | None) -> None:
    if journey is not None and visible_journey(user_id, journey) is None:
        raise NotFound("There is no such journey.")
    if conversation_id is not None and get_conversation(user_id, conversation_id).is_temporary:
        raise Conflict("A temporary conversation ends when you leave it.")


def _rule(wanted: NewSchedule) -> str:
    try:
        return rule_of(wanted.repeat, wanted.rule, wanted.starts_at)
    except ValueError as error:
        raise Invalid.field("rule", str(error)) from None


def _set_next(row: Schedule, after: datetime) -> None:
    row.next_at = next_time(row.rule, row.starts_at, row.zone, after)
    if row.next_at is None:
        raise Invalid.field("starts_at", "has passed; nothing would be sent")
