"""The stored state of a guided conversation: its guide, the point it is at, and what the person set aside."""

from sqlalchemy import select

from webapp.conversations.models import Conversation
from webapp.conversations.service import get_conversation
from webapp.db.base import db, now
from webapp.db.conflicts import insert_unless_taken
from webapp.errors import NotFound
from webapp.journeys.models import ConversationPoint, JourneyGuide, PointMemory
from webapp.memories.learning.journey_points import Request


def guide_of(conversation_id: int) -> JourneyGuide:
    """Return the state of a conversation's guide; a new, unstored one if there is none yet."""
    row = db.session.get(JourneyGuide, conversation_id)
    return row or JourneyGuide(conversation_id=conversation_id, point_id=None, is_paused=False, report_due=False)


def hold_guide(conversation_id: int) -> JourneyGuide:
    """Return the stored guide of a conversation, created if necessary."""
    row = db.session.get(JourneyGuide, conversation_id)
    if row is not None:
        return row
    row = JourneyGuide(conversation_id=conversation_id, is_paused=False, report_due=False)
    if insert_unless_taken(row):
        return row
    return db.session.get_one(JourneyGuide, conversation_id, populate_existing=True)


def hold_memory(user_id: int, point: ConversationPoint) -> PointMemory:
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
    row = PointMemory(
        user_id=user_id,
        journey_id=point.journey_id,
        point_id=point.point_id,
        is_addressed=False,
        confidence_score=0.0,
        evidence_count=0,
        message_count_analyzed=0,
        manually_initiated=False,
    )
    if insert_unless_taken(row):
        return row
    return db.session.scalars(statement).one()  # another conversation's turn created it first


def note_opened(conversation: Conversation, point: ConversationPoint) -> None:
    """Note that the user opened a point themselves: it becomes the current one, even if it was set aside before."""
    row = hold_memory(conversation.user_id, point)
    row.manually_initiated = True
    row.set_aside = row.set_aside_at = None
    guide = hold_guide(conversation.conversation_id)
    guide.point_id, guide.is_paused = point.point_id, False


def set_point_aside(conversation: Conversation, point: ConversationPoint, choice: str | None) -> None:
    """Note that a point is to be skipped, left for later, or (None) asked about again."""
    row = hold_memory(conversation.user_id, point)
    row.set_aside, row.set_aside_at = choice, now() if choice else None
    guide = hold_guide(conversation.conversation_id)
    if guide.point_id == point.point_id:
        guide.point_id = None
    db.session.flush()


def pause(user_id: int, conversation_id: int, *, paused: bool) -> None:
    """Stop asking about the points of a conversation, or go on. Raises NotFound if it follows no journey."""
    conversation = get_conversation(user_id, conversation_id, lock=True)
    if conversation.journey_id is None:
        raise NotFound("This conversation follows no journey.")
    hold_guide(conversation_id).is_paused = paused


def apply_request(conversation: Conversation, point: ConversationPoint, request: Request) -> None:
    """Do what the person asked of the guide: leave a point aside, or stop asking about any, or go on."""
    if request in ("skip", "later"):
        set_point_aside(conversation, point, request)
    else:
        hold_guide(conversation.conversation_id).is_paused = request == "stop"
