"""Journeys for their users: the list, how far each is, its points in a conversation, and starting afresh."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import false, func, select

from webapp.accounts.models import User
from webapp.background.queues import enqueue_after_commit
from webapp.conversations.models import Conversation
from webapp.conversations.schemas import NewConversation
from webapp.conversations.service import create_conversation, get_conversation, owned_conversations
from webapp.db.base import db, get_or_raise
from webapp.errors import Forbidden, NotFound, require
from webapp.http.paging import Keyset
from webapp.http.validation import Page, PageQuery
from webapp.journeys.answers import LockedPoint, forget_state, reset_point_state
from webapp.journeys.authoring import get_editable, visible_journey, visible_journeys
from webapp.journeys.definitions import definition_of, fixture_of, translate_journey_text
from webapp.journeys.guides import lock_point_memory, postpone_point
from webapp.journeys.models import ConversationPoint, Journey, PointMemory
from webapp.journeys.point_views import JourneyView
from webapp.journeys.points import find_point, journey_view, load_evidence, point_view, points_of
from webapp.memories.prompt.conversation_memory import memory_is_on

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
    forget_state(lock_point_memory(user_id, row))
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


@dataclass(frozen=True, slots=True)
class JourneyProgress:
    """A journey as one user sees it in a list, with the conversation they last began it in."""

    view: JourneyView
    conversation: Conversation | None

    @property
    def journey(self) -> Journey:
        """Return the journey itself."""
        return self.view.journey

    @property
    def state(self) -> Literal["new", "running", "finished"]:
        """Return whether the user can start the journey, continue it, or is done with it."""
        if self.view.is_complete:
            return "finished"
        return "running" if self.conversation is not None else "new"


def journeys_with_progress(user_id: int) -> list[JourneyProgress]:
    """Return the journeys available to a user in their order, each with its progress; a fixed number of statements."""
    journeys = list_journeys(user_id)
    ids = [row.journey_id for row in journeys]
    points: dict[int, list[ConversationPoint]] = defaultdict(list)
    for point in points_of(*ids):
        points[point.journey_id].append(point)
    stored = db.session.scalars(
        select(PointMemory).where(PointMemory.user_id == user_id, PointMemory.journey_id.in_(ids))
    ).all()
    evidence = load_evidence([row.point_memory_id for row in stored])
    conversations = _last_conversations(user_id)
    progress = []
    for journey in journeys:
        conversation = conversations.get(journey.journey_id)
        is_known = conversation is None or memory_is_on(conversation)
        memories = {row.point_id: row for row in stored if is_known}
        views = [point_view(point, memories.get(point.point_id), evidence) for point in points[journey.journey_id]]
        progress.append(JourneyProgress(JourneyView(journey, views), conversation))
    return progress


def _last_conversations(user_id: int) -> dict[int, Conversation]:
    """Return the conversation in which a user last began each journey, by the journey's id."""
    last = (
        owned_conversations(user_id)
        .where(Conversation.journey_id.is_not(None), Conversation.is_temporary == false())
        .with_only_columns(func.max(Conversation.conversation_id))
        .group_by(Conversation.journey_id)
    )
    rows = db.session.scalars(select(Conversation).where(Conversation.conversation_id.in_(last)))
    return {row.journey_id: row for row in rows if row.journey_id is not None}


def begin_journey(user_id: int, slug: str, language: str, *, restart: bool = False) -> Conversation:
    """Return the conversation in which a user follows a journey, created with a title in `language` if there is none.

    With `restart`, a finished journey begins again in a new one; an unfinished one goes on. Raises NotFound.
    """
    journey = require(visible_journey(user_id, slug), "There is no such journey.")
    journey_id = journey.journey_id
    last = _last_conversations(user_id).get(journey_id)
    if last is None:
        # A second click waits here, and finds what the first one created.
        get_or_raise(User, user_id, lock=True)
        last = _last_conversations(user_id).get(journey_id)
        if last is not None:
            return last
    elif restart:
        get_conversation(user_id, last.conversation_id, lock=True)
        newest = _last_conversations(user_id).get(journey_id, last)
        if newest.conversation_id != last.conversation_id:
            return newest
    is_restart = restart and journey_view(user_id, journey_id, last, prefill=False).is_complete
    if last is not None and not is_restart:
        return last
    conversation = create_conversation(user_id, NewConversation(journey=slug))
    conversation.title = translate_journey_text(journey, conversation.title or "", language)
    if is_restart:
        _ask_all_again(user_id, conversation)
    return conversation


def _ask_all_again(user_id: int, conversation: Conversation) -> None:
    """Move everything known about the points to their histories; the user can restore it point by point."""
    for point in points_of(conversation.journey_id or 0):
        lock = LockedPoint(user_id, conversation.conversation_id, point.slug)
        lock.remember()
        postpone_point(conversation, point, None)
        reset_point_state(lock)
    db.session.flush()
