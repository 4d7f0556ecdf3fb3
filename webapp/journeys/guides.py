"""The guide of a conversation: its current point, and a journey's parts of the prompt."""

from dataclasses import dataclass

from sqlalchemy import select

from webapp.conversations.models import Conversation
from webapp.conversations.service import get_conversation
from webapp.db.base import db, now
from webapp.db.conflicts import insert_unless_taken
from webapp.errors import require
from webapp.journeys.guidance import guide_section
from webapp.journeys.models import ConversationPoint, Journey, JourneyGuide, PointMemory
from webapp.journeys.point_views import JourneyView, PointView
from webapp.journeys.points import journey_view
from webapp.memories.learning.journey_points import Request
from webapp.prompts.values import source_of


@dataclass(frozen=True, slots=True)
class Guidance:
    """The guide's section of a prompt; `record` is what stays on record, without what was known about the user."""

    text: str
    record: str


def current_point(view: JourneyView, guide: JourneyGuide) -> PointView | None:
    """Return the point a conversation is at: the open one opened last, the next, or one to check; None if none."""
    current = next((item for item in view.points if item.point.point_id == guide.point_id), None)
    if current is not None and current.set_aside is None and (not current.is_settled or current.conflicts):
        return current
    to_check = (item for item in view.points if item.conflicts or (item.is_settled and item.needs_confirmation))
    return view.next_point() or next(to_check, None)


def guidance_for(conversation: Conversation) -> Guidance:
    """Return the section for a reply in a conversation that follows a journey."""
    view = journey_view(conversation.user_id, conversation.journey_id, conversation)
    guide = guide_of(conversation.conversation_id)
    current = current_point(view, guide)
    return Guidance(
        guide_section(view, current, is_paused=guide.is_paused),
        guide_section(view, current, is_paused=guide.is_paused, knows=False),
    )


def journey_prompt(conversation: Conversation) -> list[str]:
    """Return the journey's own instructions for every reply; empty for a conversation without a journey."""
    journey = db.session.get(Journey, conversation.journey_id) if conversation.journey_id is not None else None
    return [journey.system_prompt] if journey is not None else []


@source_of("JOURNEY")
def journey_lines(conversation: Conversation) -> list[str]:
    """`{{JOURNEY}}`: the points with what is known about each, those still open first."""
    if conversation.journey_id is None:
        return []
    view = journey_view(conversation.user_id, conversation.journey_id, conversation, prefill=False)
    return [
        f"{item.point.title} ({'addressed' if item.is_settled else 'open'})"
        + (f": {'; '.join(item.extracted_points)}" if item.extracted_points else "")
        for item in sorted(view.points, key=lambda item: item.is_settled)
    ]


def guide_of(conversation_id: int) -> JourneyGuide:
    """Return the state of a conversation's guide; a new, unstored one if there is none yet."""
    row = db.session.get(JourneyGuide, conversation_id)
    return row or JourneyGuide(conversation_id=conversation_id, point_id=None, is_paused=False, report_due=False)


def ensure_guide(conversation_id: int) -> JourneyGuide:
    """Return the stored guide of a conversation, created if necessary."""
    row = guide_of(conversation_id)
    if row in db.session or insert_unless_taken(row):
        return row
    return db.session.get_one(JourneyGuide, conversation_id, populate_existing=True)


def lock_point_memory(user_id: int, point: ConversationPoint) -> PointMemory:
    """Return the row of a point for the user, created if necessary, and locked until the transaction ends."""
    statement = (
        select(PointMemory)
        .where(PointMemory.user_id == user_id, PointMemory.point_id == point.point_id)
        .with_for_update()
        .execution_options(populate_existing=True)
    )
    row = db.session.scalar(statement)
    if row is not None:
        return row
    row = PointMemory(user_id=user_id, journey_id=point.journey_id, point_id=point.point_id)
    if insert_unless_taken(row):
        return row
    return db.session.scalars(statement).one()  # another conversation's turn created it first


def note_opened(conversation: Conversation, point: ConversationPoint) -> None:
    """Record that the user opened a point themselves: it becomes the current one, even if it was set aside before."""
    row = lock_point_memory(conversation.user_id, point)
    row.manually_initiated = True
    row.set_aside = row.set_aside_at = None
    guide = ensure_guide(conversation.conversation_id)
    guide.point_id, guide.is_paused = point.point_id, False


def postpone_point(conversation: Conversation, point: ConversationPoint, choice: str | None) -> None:
    """Record that a point is to be skipped, left for later, or (None) asked about again."""
    row = lock_point_memory(conversation.user_id, point)
    row.set_aside, row.set_aside_at = choice, now() if choice else None
    guide = ensure_guide(conversation.conversation_id)
    if guide.point_id == point.point_id:
        guide.point_id = None
    db.session.flush()


def pause(user_id: int, conversation_id: int, *, paused: bool) -> None:
    """Pause or resume the questions about a conversation's points. Raises NotFound if it follows no journey."""
    conversation = get_conversation(user_id, conversation_id, lock=True)
    require(conversation.journey_id, "This conversation follows no journey.")
    ensure_guide(conversation_id).is_paused = paused


def apply_request(conversation: Conversation, point: ConversationPoint, request: Request) -> None:
    """Apply a person's request to the guide: postpone a point, pause the questions, or resume them."""
    if request in ("skip", "later"):
        postpone_point(conversation, point, request)
    else:
        ensure_guide(conversation.conversation_id).is_paused = request == "stop"
