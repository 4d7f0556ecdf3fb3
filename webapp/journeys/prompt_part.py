"""A journey's part of the prompts of its conversations."""

from webapp.conversations.models import Conversation
from webapp.db.base import db
from webapp.journeys.models import Journey
from webapp.journeys.points import journey_view
from webapp.prompts.values import lines_for


def journey_prompt(conversation: Conversation) -> list[str]:
    """Return the journey's own instructions for every reply; empty for a conversation without a journey."""
    journey = db.session.get(Journey, conversation.journey_id) if conversation.journey_id is not None else None
    return [journey.system_prompt] if journey is not None else []


@lines_for("JOURNEY")
def journey_lines(conversation: Conversation) -> list[str]:
    """`{{JOURNEY}}`: the points with what is known about each, those still open first."""
    if conversation.journey_id is None:
        return []
    view = journey_view(conversation.user_id, conversation.journey_id, conversation, prefill=False)
    ordered = sorted(view.points, key=lambda item: item.is_settled)
    return [
        f"{item.point.title} ({'addressed' if item.is_settled else 'open'})"
        + (f": {'; '.join(item.extracted_points)}" if item.extracted_points else "")
        for item in ordered
    ]
