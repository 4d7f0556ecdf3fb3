"""Turns that the assistant begins by opening a point of a journey that the user has chosen."""

from webapp.chat.service import StartedTurn
from webapp.chat.turns.runtime import runtime
from webapp.conversations import messages
from webapp.conversations.models import Conversation, Message
from webapp.conversations.service import get_conversation
from webapp.db.base import db
from webapp.journeys.guides import note_opened
from webapp.journeys.points import find_point, journey_view
from webapp.journeys.service import begin_journey
from webapp.usage import service as usage

REPEATABLE_STATUSES = ("streaming", "complete", "stopped")
"""States of a point's question in which a second click on the point returns that question."""


def start_point(user_id: int, conversation_id: int, slug: str) -> tuple[StartedTurn, bool]:
    """Return the turn that asks about a point, and whether it is new. Raises NotFound, TooMany, Unavailable."""
    conversation = get_conversation(user_id, conversation_id, lock=True)
    point = find_point(conversation, slug)
    last_id = messages.last_message_id(conversation_id)
    last = db.session.get(Message, last_id, populate_existing=True) if last_id else None
    if last is not None and messages.point_opened_by(last) == slug and last.status in REPEATABLE_STATUSES:
        return StartedTurn(conversation, None, last), False
    runtime().runner.require_room()
    usage.require_room(user_id)
    note_opened(conversation, point)
    reply = messages.add_opening(conversation, {"point": slug}, parent_id=last_id)
    return StartedTurn(conversation, None, reply), True


def start_journey(
    user_id: int, slug: str, language: str, *, is_restart: bool = False
) -> tuple[Conversation, StartedTurn | None]:
    """Return a journey's conversation, and the turn that opens its first point if new. Raises as `start_point`."""
    conversation = begin_journey(user_id, slug, language, restart=is_restart)
    if conversation.message_count:
        return conversation, None
    first = journey_view(user_id, conversation.journey_id, conversation, prefill=False).next_slug
    if first is None:
        return conversation, None
    turn, is_new = start_point(user_id, conversation.conversation_id, first)
    return conversation, turn if is_new else None
