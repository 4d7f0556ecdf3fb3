"""Starting a journey: once, however often the button is clicked, and over when it is finished."""

from webapp.accounts.models import User
from webapp.conversations.journey_links import find_journey
from webapp.conversations.models import Conversation
from webapp.conversations.schemas import NewConversation
from webapp.conversations.service import create_conversation, get_conversation
from webapp.db.base import db, get_or_raise
from webapp.errors import require
from webapp.journeys.answers import LockedPoint, open_again
from webapp.journeys.builtin import translate_journey_text
from webapp.journeys.guide_state import set_point_aside
from webapp.journeys.models import Journey
from webapp.journeys.points import journey_view, points_of
from webapp.journeys.progress import last_conversation


def begin_journey(user_id: int, slug: str, language: str, *, over: bool = False) -> Conversation:
    """Return the conversation in which a user follows a journey, created with a title in `language` if there is none.

    With `over`, a finished journey begins again in a new one; an unfinished one goes on. Raises NotFound.
    """
    journey = require(find_journey(slug, user_id), "There is no such journey.")
    journey_id, _title = journey
    last = last_conversation(user_id, journey_id)
    if last is None:
        # A second click waits here, and finds what the first one created.
        get_or_raise(User, user_id, lock=True)
        last = last_conversation(user_id, journey_id)
        if last is not None:
            return last
    elif over:
        get_conversation(user_id, last.conversation_id, lock=True)
        newest = last_conversation(user_id, journey_id) or last
        if newest.conversation_id != last.conversation_id:
            return newest
    starts_over = over and journey_view(user_id, journey_id, last, prefill=False).is_complete
    if last is not None and not starts_over:
        return last
    conversation = create_conversation(user_id, NewConversation(journey=slug))
    conversation.title = translate_journey_text(db.session.get(Journey, journey_id), conversation.title or "", language)
    if starts_over:
        _ask_all_again(user_id, conversation)
    return conversation


def _ask_all_again(user_id: int, conversation: Conversation) -> None:
    """Move everything known about the points to their histories; the user can restore it point by point."""
    for point in points_of(conversation.journey_id or 0):
        lock = LockedPoint(user_id, conversation.conversation_id, point.slug)
        lock.remember()
        set_point_aside(conversation, point, None)
        open_again(lock)
    db.session.flush()
