"""Journeys for their users: the list, the state of a conversation's points, and starting a point afresh."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import select

from webapp.background.queues import enqueue_after_commit
from webapp.conversations.models import Conversation
from webapp.conversations.service import get_conversation
from webapp.db.base import db
from webapp.errors import Forbidden, NotFound, require
from webapp.http.paging import Keyset
from webapp.http.validation import Page, PageQuery
from webapp.journeys.answers import forget_state
from webapp.journeys.authoring import get_editable, visible_journey, visible_journeys
from webapp.journeys.definitions import definition_of, fixture_of
from webapp.journeys.guides import hold_memory
from webapp.journeys.models import ConversationPoint, Journey, PointMemory
from webapp.journeys.point_views import JourneyView
from webapp.journeys.points import find_point, journey_view, points_of

REREAD = 20
"""The most conversations of a journey that are read again when a point is reset; the latest ones."""


def list_journeys(user_id: int) -> Sequence[Journey]:
    """Return the journeys available to a user, in order; the user's own come last."""
    return db.session.scalars(visible_journeys(user_id).order_by(Journey.position, Journey.journey_id)).all()


def page_of_journeys(user_id: int, query: PageQuery) -> Page[Journey]:
    """Return a page of the published journeys, in their order. Raises Invalid for a foreign cursor."""
    keyset = Keyset("journeys", query, int, int, scope=user_id)
    return keyset.page_of(list_journeys(user_id), lambda row: (row.position, row.journey_id))


def get_journey(user_id: int, slug: str) -> dict[str, Any]:
    """Return the definition of a journey available to a user, or of their unpublished draft. Raises NotFound."""
    row = visible_journey(user_id, slug)
    if row is not None:
        return definition_of(fixture_of(row, points_of(row.journey_id)))
    try:
        work = get_editable(user_id, slug)
    except Forbidden:
        raise NotFound("There is no such journey.") from None
    if work.status != "draft":
        raise NotFound("There is no such journey.")
    return work.definition


def conversation_view(user_id: int, conversation_id: int) -> tuple[Conversation, JourneyView | None]:
    """Return a conversation with the state of its journey; None for one without a journey. Raises NotFound."""
    conversation = get_conversation(user_id, conversation_id)
    if conversation.journey_id is None:
        return conversation, None
    return conversation, journey_view(user_id, conversation.journey_id, conversation)


def reset_point(user_id: int, journey_slug: str, slug: str) -> int:
    """Forget a point and have the journey's conversations read again; return how many. Raises NotFound."""
    row = db.session.scalar(
        select(ConversationPoint)
        .join(Journey, Journey.journey_id == ConversationPoint.journey_id)
        .where(Journey.slug == journey_slug, ConversationPoint.slug == slug)
    )
    return reset_point_and_reread(user_id, require(row, "There is no such point."))


def reset_point_and_reread(user_id: int, row: ConversationPoint) -> int:
    """Forget what is known about a point and have the journey's conversations read again; returns how many."""
    forget_state(hold_memory(user_id, row))
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


def reset_here(user_id: int, conversation_id: int, slug: str) -> int:
    """Do the same for a point of one of the user's conversations. Raises NotFound."""
    return reset_point_and_reread(user_id, find_point(get_conversation(user_id, conversation_id, lock=True), slug))


def journeys_of(user_id: int) -> list[JourneyView]:
    """Return every journey about which something is known for a user, including archived ones."""
    ids = db.session.scalars(
        select(PointMemory.journey_id).where(PointMemory.user_id == user_id).distinct().order_by(PointMemory.journey_id)
    ).all()
    return [journey_view(user_id, journey_id) for journey_id in ids]
