"""Runs of schedules: each is claimed once, whoever looks; its message is sent as an ordinary turn, by a worker."""

import logging
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Update, insert, select, true, update
from sqlalchemy.orm import aliased

from webapp.accounts.models import ApiToken, User
from webapp.accounts.scopes import is_sufficient
from webapp.accounts.tokens import is_in_use
from webapp.background import events
from webapp.background.events import Kind
from webapp.background.queues import enqueue_after_commit
from webapp.chat.service import StartedTurn, launch, retry_turn, start_turn
from webapp.chat.turns.follow import follow
from webapp.chat.turns.runtime import runtime
from webapp.conversations.messages import current_messages
from webapp.conversations.models import SAID_AT, Message
from webapp.conversations.schemas import NewConversation
from webapp.conversations.service import get_conversation
from webapp.db.base import count_rows, db, get_or_raise, now, rows_changed, write_transaction
from webapp.errors import Conflict, DomainError, NotFound, Unavailable
from webapp.extensions import this_app
from webapp.i18n.marks import N_
from webapp.llm.errors import split_reason
from webapp.schedules import mails
from webapp.schedules.models import Schedule, ScheduleRun
from webapp.schedules.recurrence import next_time
from webapp.usage.records import count_as_schedule
from webapp.usage.service import ReplyRunning

log = logging.getLogger(__name__)

BATCH = 200
CLAIM_SECONDS = 10.0
LATE_AFTER = timedelta(minutes=10)
MAX_FAILURES = 5
MAX_RUNS = 200
TURN_SECONDS = 600.0
RECENT = 1_000
_TIMES = select(Schedule.schedule_id, Schedule.next_at, Schedule.rrule, Schedule.at, Schedule.timezone)
TOKEN_ENDED = N_("The token that made it has ended. Resume it to have it sent for you.")


def claim_due() -> int:
    """Claim the schedules that are due, for one run each even if several were missed; return how many.

    The process that moves a schedule's `next_at` has it. CLAIM_SECONDS later, the rest is left to the next sweep.
    """
    moment, claimed = now(), 0
    until = time.monotonic() + CLAIM_SECONDS
    while due := _due(moment):
        claimed += _claim(due, moment)
        if len(due) < BATCH or time.monotonic() > until:
            break
    return claimed


def correct_times() -> int:
    """Correct when schedules are due next that ran in what is the future now: the clock was ahead. Returns how many."""
    moment = now()
    recent = select(ScheduleRun).order_by(ScheduleRun.run_id.desc()).limit(RECENT).subquery()
    is_ahead = (recent.c.due_at > moment + LATE_AFTER) | (recent.c.ended_at > moment + LATE_AFTER)
    ids = select(recent.c.schedule_id).where(is_ahead)
    rows = db.session.execute(
        _TIMES.where(Schedule.is_active.is_(True), Schedule.next_at > moment, Schedule.schedule_id.in_(ids))
    ).all()
    return sum(rows_changed(_move(row, moment)) for row in rows)


def _due(moment: datetime) -> Sequence[Any]:
    due = db.session.execute(
        _TIMES.join(User, User.user_id == Schedule.user_id)
        .where(Schedule.is_active.is_(True), Schedule.next_at <= moment, User.is_active == true())
        .order_by(Schedule.next_at, Schedule.schedule_id)
        .limit(BATCH)
    ).all()
    db.session.rollback()
    return due


def _claim(due: Sequence[Any], moment: datetime) -> int:
    """Move each of these on and add its run, in one transaction, unless another process has.

    A time that has its run already, as after the clock was set back, brings no other.
    """
    with write_transaction():
        moved = {(row.schedule_id, row.next_at): row for row in due if rows_changed(_move(row, moment)) == 1}
        runs = select(ScheduleRun.schedule_id, ScheduleRun.due_at).where(
            ScheduleRun.schedule_id.in_({key[0] for key in moved}), ScheduleRun.due_at.in_({key[1] for key in moved})
        )
        for schedule_id, due_at in db.session.execute(runs):
            moved.pop((schedule_id, due_at), None)
        rows = [
            {"schedule_id": row.schedule_id, "due_at": row.next_at, "is_late": moment - row.next_at > LATE_AFTER}
            for row in moved.values()
        ]
        if rows:
            db.session.execute(insert(ScheduleRun), rows)
    return len(rows)


def _move(row: Any, moment: datetime) -> Update:
    try:
        following = next_time(row.rrule, row.at, row.timezone, moment)
    except (ValueError, OverflowError):
        log.exception("schedule without a next time", extra={"schedule_id": row.schedule_id})
        following = None
    as_it_was = (Schedule.schedule_id == row.schedule_id, Schedule.next_at == row.next_at)
    return update(Schedule).where(*as_it_was, Schedule.is_active.is_(True)).values(next_at=following)


def runs_to_resume() -> Sequence[int]:
    """Return the claimed runs that wait to be sent, or whose reply's end was not noted."""
    is_over = Message.message_id.is_(None) | (Message.status != "streaming")
    return db.session.scalars(
        select(ScheduleRun.run_id)
        .outerjoin(Message, Message.message_id == ScheduleRun.message_id)
        .where(ScheduleRun.status.in_(("waiting", "running")), (ScheduleRun.status == "waiting") | is_over)
        .order_by(ScheduleRun.due_at, ScheduleRun.run_id)
    ).all()


def run(run_id: int) -> bool:
    """Send a claimed message and wait for its reply; return whether there is one. Safe to repeat."""
    turn = None
    try:
        with write_transaction():
            turn = _begin(run_id)
    except Unavailable:
        raise
    except ReplyRunning as busy:
        raise Unavailable(busy.detail) from busy
    except DomainError as error:
        _end(run_id, error.detail)
        return False
    if turn is not None:
        launch(turn)
    turn_id = _turn_of(run_id)
    if turn_id is None:  # unless it has ended already
        _end(run_id, "What it sent was deleted.")
        return False
    for _entry in follow(this_app(), runtime().hub, turn_id, patience=TURN_SECONDS, launched=turn is not None):
        pass
    return _note_end(run_id, turn_id)


def _begin(run_id: int) -> StartedTurn | None:
    """Store a waiting run's turn, or that of one to repeat; None if that was done, or its program may not any more."""
    run_row = db.session.get(ScheduleRun, run_id, with_for_update=True, populate_existing=True)
    if run_row is None or run_row.status not in ("waiting", "running"):
        return None
    if run_row.status == "running":
        return _repeat(run_row)
    schedule = get_or_raise(Schedule, run_row.schedule_id, lock=True)
    if not get_or_raise(User, schedule.user_id, fresh=True).is_active:
        raise Conflict("The account is not in use.")
    if schedule.token_id is not None and not is_in_use(schedule.token_id):
        _close(run_row, schedule, TOKEN_ENDED, pauses=True)
        return None
    conversation_id = schedule.conversation_id if schedule.is_standing else None
    if conversation_id is not None:
        try:
            get_conversation(schedule.user_id, conversation_id)
        except NotFound:
            conversation_id = None  # it has been deleted: the next one begins here
    turn = start_turn(
        schedule.user_id,
        schedule.prompt,
        conversation_id=conversation_id,
        new=None if conversation_id else NewConversation(title=schedule.title, journey=schedule.journey),
        custom_payload={"schedule": schedule.schedule_id, **_when_said(schedule)},
        spans=() if _counts_as_typed(schedule) else [(0, len(schedule.prompt), "pasted")],
    )
    turn.consent = "none"
    db.session.flush()
    if schedule.is_standing:
        schedule.conversation_id = turn.conversation.conversation_id
    run_row.status, run_row.message_id = "running", turn.turn_id
    return turn


def _when_said(schedule: Schedule) -> dict[str, str]:
    """Return when the message's words were said, if they were sent before: what was said since is later."""
    reply = aliased(Message)
    question = db.session.scalar(
        select(Message)
        .join(reply, reply.reply_to_id == Message.message_id)
        .join(ScheduleRun, ScheduleRun.message_id == reply.message_id)
        .where(ScheduleRun.schedule_id == schedule.schedule_id)
        .order_by(ScheduleRun.run_id.desc())
        .limit(1)
    )
    if question is None or question.content != schedule.prompt:
        return {}
    return {SAID_AT: question.said_at.isoformat()}


def _counts_as_typed(schedule: Schedule) -> bool:
    """Return whether the words count as the person's: a program's do if it may hold conversations for them."""
    token = db.session.get(ApiToken, schedule.token_id) if schedule.token_id is not None else None
    return token is None or is_sufficient(token.scopes, {"chat"})


def _repeat(run_row: ScheduleRun) -> StartedTurn | None:
    """Store another reply in place of one that is to be repeated, if it is."""
    reply = db.session.get(Message, run_row.message_id) if run_row.message_id is not None else None
    if reply is None or not _is_cut_off(reply):
        return None
    schedule = get_or_raise(Schedule, run_row.schedule_id, lock=True)
    turn = retry_turn(schedule.user_id, reply.message_id)
    turn.consent = "none"
    run_row.message_id = turn.turn_id
    return turn


def _is_cut_off(reply: Message) -> bool:
    """Return whether the process that wrote a reply died, for the first time, and nobody has gone on since."""
    return (
        reply.error_code in ("interrupted", "shutdown")
        and reply.superseded_by_id is None
        and count_rows(Message.reply_to_id == reply.reply_to_id) == 1
        and not current_messages(reply.conversation_id, after=reply.message_id)
    )


def _turn_of(run_id: int) -> int | None:
    run_row = db.session.get(ScheduleRun, run_id, populate_existing=True)
    turn_id = run_row.message_id if run_row is not None and run_row.status == "running" else None
    db.session.rollback()
    return turn_id


def _note_end(run_id: int, turn_id: int) -> bool:
    reply = db.session.get(Message, turn_id, populate_existing=True)
    status, problem = (reply.status, reply.error_detail) if reply is not None else ("failed", None)
    is_cut_off = reply is not None and _is_cut_off(reply)
    db.session.rollback()
    if status == "streaming" or is_cut_off:
        return False  # the sweep finishes it, or finds it to be repeated, and asks for this again
    _end(run_id, None if status in ("complete", "stopped") else problem or "The reply was interrupted.")
    return status in ("complete", "stopped")


def _end(run_id: int, problem: str | None) -> None:
    with write_transaction():
        run_row = db.session.get(ScheduleRun, run_id, with_for_update=True, populate_existing=True)
        if run_row is None or run_row.status in ("done", "failed"):
            return
        schedule = get_or_raise(Schedule, run_row.schedule_id, lock=True)
        _close(run_row, schedule, problem)
        old = (
            select(ScheduleRun.run_id)
            .where(ScheduleRun.schedule_id == run_row.schedule_id)
            .order_by(ScheduleRun.run_id.desc())
            .offset(MAX_RUNS)
            .limit(BATCH)
        )
        for row in db.session.scalars(old).all():
            db.session.delete(db.session.get_one(ScheduleRun, row))


def _close(run_row: ScheduleRun, schedule: Schedule, problem: str | None, *, pauses: bool = False) -> None:
    """Record how a run ended, pause its schedule if necessary, and notify its owner: once, with the run."""
    run_row.status, run_row.ended_at = "failed" if problem else "done", now()
    run_row.problem = split_reason(problem)[0][:300] if problem else None  # forgetting does not come here
    schedule.failures = schedule.failures + 1 if problem else 0
    reply = db.session.get(Message, run_row.message_id) if run_row.message_id is not None else None
    event: dict[str, int | str] = {"schedule_id": schedule.schedule_id, "run_id": run_row.run_id}
    event |= {"is_late": run_row.is_late, "status": reply.status if reply else "failed"}
    if reply is not None:
        event |= {"conversation_id": reply.conversation_id, "message_id": reply.message_id}
        count_as_schedule(reply.message_id)
        enqueue_after_commit("push", message_id=reply.message_id)
    mails.queue_mail(run_row, schedule)
    events.note(schedule.user_id, Kind.SCHEDULE_FAILED if problem else Kind.SCHEDULE_FINISHED, event)
    if (pauses or schedule.failures >= MAX_FAILURES) and schedule.is_active:
        schedule.is_active, schedule.paused_why = False, run_row.problem
        events.note(schedule.user_id, Kind.SCHEDULE_PAUSED, {"schedule_id": schedule.schedule_id})
        log.warning("schedule paused", extra={"schedule_id": schedule.schedule_id})
