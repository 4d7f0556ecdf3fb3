"""Journeys for their users: which there are, how the points of a conversation stand, and what the user says of them."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import delete, false, select

from webapp.conversations.models import Conversation
from webapp.conversations.service import get_conversation
from webapp.database import db, now
from webapp.errors import Conflict, NotFound
from webapp.journeys.assessment import hold_memory, write_state
from webapp.journeys.merging import Assessment, PointState, as_it_stands, merge
from webapp.journeys.models import ConversationPoint, Journey, PointEvidence, PointMemory
from webapp.journeys.point_views import JourneyView, PointView
from webapp.journeys.points import journey_view, load_evidence, points_of, state_of
from webapp.memories.models import Memory, MemoryEvidence
from webapp.memories.service import get_memory
from webapp.queueing import enqueue_after_commit

REREAD = 20
"""How many of a journey's conversations are read again when a point is reset."""


def list_journeys() -> Sequence[Journey]:
    """The journeys on offer, in order."""
    return db.session.scalars(
        select(Journey).where(Journey.is_archived == false()).order_by(Journey.position, Journey.journey_id)
    ).all()


def get_journey(slug: str) -> tuple[Journey, Sequence[ConversationPoint]]:
    """A journey with its points. Raises NotFound."""
    row = db.session.scalar(select(Journey).where(Journey.slug == slug, Journey.is_archived == false()))
    if row is None:
        raise NotFound("There is no such journey.")
    return row, points_of(row.journey_id)


def conversation_view(user_id: int, conversation_id: int) -> tuple[Conversation, JourneyView | None]:
    """A conversation with the state of its journey; None for one without a journey. Raises NotFound."""
    conversation = get_conversation(user_id, conversation_id)
    if conversation.journey_id is None:
        return conversation, None
    return conversation, journey_view(user_id, conversation.journey_id, conversation)


def find_point(conversation: Conversation, slug: str) -> ConversationPoint:
    """The point of that slug in the conversation's journey. Raises NotFound."""
    row = None
    if conversation.journey_id is not None:
        row = db.session.scalar(
            select(ConversationPoint).where(
                ConversationPoint.journey_id == conversation.journey_id,
                ConversationPoint.slug == slug,
                ConversationPoint.is_archived == false(),
            )
        )
    if row is None:
        raise NotFound("There is no such point in this conversation.")
    return row


def note_initiated(conversation: Conversation, point: ConversationPoint) -> None:
    """Note that the user opened a point themselves."""
    hold_memory(conversation.user_id, point).manually_initiated = True


def confirm_memory(user_id: int, conversation_id: int, slug: str, memory_id: int) -> PointView:
    """The user says that a memory from elsewhere still holds: it becomes evidence of the point.

    Raises NotFound, and Conflict for a memory that is not current any more.
    """
    conversation = get_conversation(user_id, conversation_id, lock=True)
    point = find_point(conversation, slug)
    memory = get_memory(user_id, memory_id)
    if memory.user_id != user_id or memory.valid_to is not None or memory.is_archived:
        raise Conflict("This memory does not hold any more.")
    row = hold_memory(user_id, point)
    left = load_evidence([row.point_memory_id])[row.point_memory_id]
    if all(item.memory_id != memory_id for item in left):
        db.session.add(_from_memory(row, memory))
        said = Assessment(True, memory.confidence if memory.confidence is not None else 1.0, now())
        state = as_it_stands(state_of(row), len(left))
        write_state(row, merge(state, said, point.confidence_threshold, rests_on=len(left) + 1))
    row.confirmed_at = now()
    db.session.flush()
    return _point_of(user_id, conversation, slug)


def _from_memory(row: PointMemory, memory: Memory) -> PointEvidence:
    said = db.session.scalar(
        select(MemoryEvidence)
        .where(MemoryEvidence.memory_id == memory.memory_id)
        .order_by(MemoryEvidence.said_at.desc())
        .limit(1)
    )
    taken = said is not None and db.session.scalar(
        select(PointEvidence.evidence_id).where(
            PointEvidence.point_memory_id == row.point_memory_id,
            PointEvidence.message_id == said.message_id,
            PointEvidence.start == said.start,
            PointEvidence.end == said.end,
        )
    )
    if said is None or taken:
        return PointEvidence(
            point_memory_id=row.point_memory_id,
            memory_id=memory.memory_id,
            quote=memory.content,
            said_at=memory.created_at or now(),
            extracted_points=[memory.content],
            structured_data={},
        )
    return PointEvidence(
        point_memory_id=row.point_memory_id,
        memory_id=memory.memory_id,
        message_id=said.message_id,
        quote=said.quote,
        start=said.start,
        end=said.end,
        said_at=said.said_at,
        extracted_points=[memory.content],
        structured_data={},
    )


def dismiss_memory(user_id: int, conversation_id: int, slug: str, memory_id: int) -> PointView:
    """The user says that a memory does not answer this point; it stays a memory. Raises NotFound."""
    conversation = get_conversation(user_id, conversation_id, lock=True)
    point = find_point(conversation, slug)
    get_memory(user_id, memory_id)
    row = hold_memory(user_id, point)
    row.dismissed_memory_ids = sorted({*(row.dismissed_memory_ids or ()), memory_id})
    db.session.flush()
    return _point_of(user_id, conversation, slug)


def confirm_point(user_id: int, conversation_id: int, slug: str) -> PointView:
    """The user says that what other conversations established still holds. Raises NotFound."""
    conversation = get_conversation(user_id, conversation_id, lock=True)
    point = find_point(conversation, slug)
    hold_memory(user_id, point).confirmed_at = now()
    db.session.flush()
    return _point_of(user_id, conversation, slug)


def reopen_point(user_id: int, conversation_id: int, slug: str) -> PointView:
    """The user says that what is known of a point does not hold any more: it begins anew. Raises NotFound."""
    conversation = get_conversation(user_id, conversation_id, lock=True)
    _forget_state(hold_memory(user_id, find_point(conversation, slug)))
    return _point_of(user_id, conversation, slug)


def reset_point(user_id: int, journey_slug: str, slug: str) -> int:
    """Forget what is known of a point and have the journey's conversations read again; how many. Raises NotFound."""
    row = db.session.scalar(
        select(ConversationPoint)
        .join(Journey, Journey.journey_id == ConversationPoint.journey_id)
        .where(Journey.slug == journey_slug, ConversationPoint.slug == slug)
    )
    if row is None:
        raise NotFound("There is no such point.")
    _forget_state(hold_memory(user_id, row))
    ids = db.session.scalars(
        select(Conversation.conversation_id)
        .where(
            Conversation.user_id == user_id,
            Conversation.journey_id == row.journey_id,
            Conversation.deleted_at.is_(None),
        )
        .order_by(Conversation.updated_at.desc())
        .limit(REREAD)
    ).all()
    for conversation_id in ids:
        enqueue_after_commit("extract", conversation_id=conversation_id, from_start=True)
    return len(ids)


def _forget_state(row: PointMemory) -> None:
    db.session.execute(delete(PointEvidence).where(PointEvidence.point_memory_id == row.point_memory_id))
    write_state(row, PointState())
    row.confirmed_at = None
    db.session.flush()


def _point_of(user_id: int, conversation: Conversation, slug: str) -> PointView:
    view = journey_view(user_id, conversation.journey_id, conversation).view(slug)
    if view is None:
        raise NotFound("There is no such point in this conversation.")
    return view


def journeys_of(user_id: int) -> list[JourneyView]:
    """Every journey of which something is known for a user, archived ones included."""
    ids = db.session.scalars(
        select(PointMemory.journey_id).where(PointMemory.user_id == user_id).distinct().order_by(PointMemory.journey_id)
    ).all()
    return [journey_view(user_id, journey_id) for journey_id in ids]
