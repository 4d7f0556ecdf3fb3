"""Somebody's way through a journey: how it begins, and how far it is."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import false, func, select

from webapp.accounts.models import User
from webapp.conversations.models import Conversation
from webapp.conversations.schemas import NewConversation
from webapp.conversations.service import create_conversation, get_conversation, owned_conversations
from webapp.db.base import db, get_or_raise
from webapp.errors import require
from webapp.journeys.answers import LockedPoint, reset_point_state
from webapp.journeys.authoring import visible_journey
from webapp.journeys.definitions import translate_journey_text
from webapp.journeys.guides import set_point_aside
from webapp.journeys.models import ConversationPoint, Journey, PointMemory
from webapp.journeys.point_views import JourneyView, PointView
from webapp.journeys.points import journey_view, load_evidence, point_views, points_of
from webapp.journeys.service import list_journeys
from webapp.memories.prompt.conversation_memory import memory_is_on


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
        """Return whether its user can start it, continue it, or is done with it."""
        if self.view.is_complete:
            return "finished"
        return "running" if self.conversation is not None else "new"

    @property
    def next_point(self) -> PointView | None:
        """Return the topic to talk about next."""
        return self.view.view(self.view.next_slug) if self.view.next_slug else None


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
        views = point_views(points[journey.journey_id], memories, evidence)
        progress.append(JourneyProgress(JourneyView(journey, views), conversation))
    return progress


def last_conversation(user_id: int, journey_id: int) -> Conversation | None:
    """Return the conversation in which a user last began a journey."""
    query = (
        owned_conversations(user_id)
        .where(Conversation.journey_id == journey_id, Conversation.is_temporary == false())
        .order_by(Conversation.conversation_id.desc())
        .limit(1)
    )
    return db.session.scalar(query)


def _last_conversations(user_id: int) -> dict[int, Conversation]:
    """Return the same for all journeys at once."""
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
    last = last_conversation(user_id, journey_id)
    if last is None:
        # A second click waits here, and finds what the first one created.
        get_or_raise(User, user_id, lock=True)
        last = last_conversation(user_id, journey_id)
        if last is not None:
            return last
    elif restart:
        get_conversation(user_id, last.conversation_id, lock=True)
        newest = last_conversation(user_id, journey_id) or last
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
        set_point_aside(conversation, point, None)
        reset_point_state(lock)
    db.session.flush()
