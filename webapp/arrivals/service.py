"""Things that came since last time, each kind as one line; none is said again once it was dismissed."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import func, or_, select

from webapp.accounts.models import User
from webapp.accounts.preferences import UserSettings
from webapp.audit.actions import Action
from webapp.audit.models import AuditEvent
from webapp.conversations.models import Conversation, Message
from webapp.db.base import db, get_or_raise, now
from webapp.memories.models import Memory
from webapp.memories.service import readable, visible
from webapp.schedules.models import Schedule, ScheduleRun
from webapp.spaces.models import Space, SpaceMember
from webapp.spaces.service import member_space_ids

KINDS = ("invitation", "removal", "schedule", "review", "shared")
RECENT_PERIOD = timedelta(days=14)


@dataclass(frozen=True, slots=True)
class Arrival:
    """Things of one kind (one of KINDS): how many, and the ever growing `newest`, with title and ids."""

    kind: str
    count: int
    newest: int
    title: str = ""
    conversation_id: int | None = None
    space_id: int | None = None


def dismiss(user_id: int, kind: str, newest: int) -> None:
    """Dismiss the arrivals of one kind up to `newest`, on every device. Raises NotFound."""
    user = get_or_raise(User, user_id, lock=True, fresh=True)
    settings = UserSettings.of(user.settings)
    settings.dismissed_arrivals = {
        **settings.dismissed_arrivals,
        kind: max(newest, settings.dismissed_arrivals.get(kind, 0)),
    }
    user.settings = settings.model_dump(mode="json")
    db.session.flush()


def arrivals_of(user_id: int, dismissed: Mapping[str, int]) -> list[Arrival]:
    """Return what came for a user, without what was `dismissed`: by kind, the newest of then."""
    counts = (
        _invitations(user_id),
        _removals(user_id),
        _replies(user_id),
        _pending_memories(user_id),
        _shares(user_id),
    )
    return [item for item in counts if item is not None and item.newest > dismissed.get(item.kind, 0)]


def _invitations(user_id: int) -> Arrival | None:
    """Return the spaces that the user is invited to."""
    rows = db.session.execute(
        select(SpaceMember.space_member_id, Space.name, Space.space_id)
        .join(Space, Space.space_id == SpaceMember.space_id)
        .where(SpaceMember.user_id == user_id, SpaceMember.status == "invited")
        .order_by(SpaceMember.space_member_id.desc())
        .limit(20)
    ).all()
    if not rows:
        return None
    newest = rows[0]
    return Arrival("invitation", len(rows), newest.space_member_id, newest.name, space_id=newest.space_id)


def _removals(user_id: int) -> Arrival | None:
    """Return the spaces that the user lately belonged to until somebody else ended it."""
    events = db.session.scalars(
        select(AuditEvent)
        .where(
            AuditEvent.user_id == user_id,
            AuditEvent.action == Action.SPACE_LEFT,
            or_(AuditEvent.actor_id.is_(None), AuditEvent.actor_id != user_id),
            AuditEvent.created_at > now() - RECENT_PERIOD,
        )
        .order_by(AuditEvent.event_id.desc())
        .limit(20)
    ).all()
    current = member_space_ids(user_id) if events else ()
    events = [event for event in events if (event.detail or {}).get("space_id") not in current]
    return Arrival("removal", len(events), events[0].event_id, events[0].what) if events else None


def _replies(user_id: int) -> Arrival | None:
    """Return the replies of schedules that nobody has looked at."""
    rows = db.session.execute(
        select(ScheduleRun.run_id, Schedule.title, Conversation.conversation_id)
        .join(Schedule, Schedule.schedule_id == ScheduleRun.schedule_id)
        .join(Message, Message.message_id == ScheduleRun.message_id)
        .join(Conversation, Conversation.conversation_id == Message.conversation_id)
        .where(
            Schedule.user_id == user_id,
            ScheduleRun.status == "done",
            Conversation.user_id == user_id,
            Conversation.deleted_at.is_(None),
            Conversation.is_archived.is_(False),
            Conversation.updated_at > Conversation.seen_at,
        )
        .order_by(ScheduleRun.run_id.desc())
        .limit(20)
    ).all()
    if not rows:
        return None
    newest = rows[0]
    return Arrival("schedule", len(rows), newest.run_id, newest.title, newest.conversation_id)


def _pending_memories(user_id: int) -> Arrival | None:
    """Return the memories that wait for a decision."""
    statement = visible(user_id).where(
        Memory.needs_review.is_(True), Memory.is_archived.is_(False), Memory.valid_to.is_(None)
    )
    count, newest = db.session.execute(
        statement.with_only_columns(func.count(), func.max(Memory.memory_id)).order_by(None)
    ).one()
    return Arrival("review", count, newest) if count else None


def _shares(user_id: int) -> Arrival | None:
    """Return what other members have shared lately."""
    rows = db.session.execute(
        readable(user_id)
        .where(Memory.user_id != user_id, Memory.updated_at > now() - RECENT_PERIOD)
        .with_only_columns(Memory.memory_id, Memory.space_id)
        .order_by(Memory.memory_id.desc())
        .limit(20)
    ).all()
    return Arrival("shared", len(rows), rows[0].memory_id, space_id=rows[0].space_id) if rows else None
