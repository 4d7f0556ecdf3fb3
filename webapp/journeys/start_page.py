"""Offers to continue on the page of a new conversation: the last conversations, and journeys that are under way."""

from collections.abc import Sequence
from dataclasses import dataclass

from webapp.conversations.models import Conversation
from webapp.db.base import now
from webapp.journeys.point_views import JourneyView
from webapp.journeys.points import journey_view

MOST = 4
MOST_JOURNEYS = 2


@dataclass(frozen=True, slots=True)
class ConversationToContinue:
    """A conversation to continue, with its journey as far as that has come."""

    conversation: Conversation
    journey: JourneyView | None = None


def conversations_to_continue(conversations: Sequence[Conversation]) -> list[ConversationToContinue]:
    """Return up to four conversations of a list, newest first: at most two are journeys, each once, unfinished."""
    newest = sorted(conversations, key=lambda row: row.updated_at or now(), reverse=True)
    last_of = {row.journey_id: row for row in reversed(newest) if row.journey_id is not None}
    guided = [row for row in newest if row.journey_id is not None and last_of[row.journey_id] is row]
    views = (
        ConversationToContinue(row, journey_view(row.user_id, row.journey_id, row, prefill=False))
        for row in guided[:MOST]
    )
    under_way = [item for item in views if item.journey is not None and not item.journey.is_complete][:MOST_JOURNEYS]
    others = [ConversationToContinue(row) for row in newest if row.journey_id is None][: MOST - len(under_way)]
    return sorted([*under_way, *others], key=lambda item: item.conversation.updated_at or now(), reverse=True)
