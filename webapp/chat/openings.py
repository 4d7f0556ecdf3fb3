"""Turns that the assistant begins by opening a point of a journey that the user has chosen."""

from __future__ import annotations

from webapp.chat.service import Started
from webapp.chat.turns.runtime import runtime
from webapp.conversations import messages
from webapp.conversations.models import Message
from webapp.conversations.service import get_conversation
from webapp.database import db
from webapp.journeys.guides import note_opened
from webapp.journeys.points import find_point

WAITS = ("streaming", "complete", "stopped")
"""States of a point's question in which a second click on the point returns that question."""


def start_point(user_id: int, conversation_id: int, slug: str) -> tuple[Started, bool]:
    """A turn in which the assistant asks about a point, and whether it is new: False if the question is already there.

    While the last message is the point's own unanswered question, every further click returns it. Raises NotFound, and
    Unavailable when this process takes no more turns.
    """
    conversation = get_conversation(user_id, conversation_id, lock=True)
    point = find_point(conversation, slug)
    last_id = messages.last_message_id(conversation_id)
    last = db.session.get(Message, last_id, populate_existing=True) if last_id else None
    if last is not None and messages.opened_point(last) == slug and last.status in WAITS:
        return Started(conversation, None, last), False
    runtime().runner.require_room()
    note_opened(conversation, point)
    reply = messages.add_opening(conversation, {"point": slug}, parent_id=last_id)
    return Started(conversation, None, reply), True
