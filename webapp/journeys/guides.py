"""The guide of a conversation: its current point, and a journey's parts of the prompt."""

from dataclasses import dataclass

from webapp.conversations.models import Conversation
from webapp.db.base import db
from webapp.journeys.evidence_matches import keyword_count
from webapp.journeys.guide_section import CurrentPoint, GuideSituation, guide_section, without_knowledge
from webapp.journeys.guide_state import guide_of
from webapp.journeys.models import Journey, JourneyGuide
from webapp.journeys.point_views import JourneyView, PointView
from webapp.journeys.points import journey_view
from webapp.prompts.values import source_of

ELSEWHERE = 6


@dataclass(frozen=True, slots=True)
class Guidance:
    """The guide's section of a prompt; `record` is what stays on record, without what was known about the user."""

    text: str
    record: str


def current_point(view: JourneyView, guide: JourneyGuide) -> PointView | None:
    """Return the point a conversation is at: the open one opened last, the next, or one to check; None if none."""
    current = next((item for item in view.points if item.point.point_id == guide.point_id), None)
    if current is not None and current.set_aside is None and (not current.is_settled or current.conflicts):
        return current
    if view.next_slug is not None:
        return view.view(view.next_slug)
    return next((item for item in view.points if item.conflicts or (item.is_settled and item.to_check)), None)


def guidance_for(conversation: Conversation) -> Guidance:
    """Return the section for a reply in a conversation that follows a journey."""
    view = journey_view(conversation.user_id, conversation.journey_id, conversation)
    guide = guide_of(conversation.conversation_id)
    current = current_point(view, guide)
    following = view.view(view.after(current.point.slug) or "") if current else None
    moment = GuideSituation(
        view.journey.title,
        view.addressed,
        len(view.points),
        _current_point(current, view) if current else None,
        following.point.title if following else None,
        [item.point.title for item in view.points if item.is_skipped],
        [
            f"{item.point.title}: {pair.one_says} or {pair.other_says}"
            for item in view.points
            if item is not current
            for pair in item.conflicts
        ],
        guide.is_paused,
    )
    return Guidance(guide_section(moment), guide_section(without_knowledge(moment)))


def _current_point(item: PointView, view: JourneyView) -> CurrentPoint:
    point = item.point
    facts = item.extracted_points
    criteria = item.criteria_met
    answers = {quote.evidence_id: quote for quote in item.evidence}
    return CurrentPoint(
        point.title,
        point.description,
        point.system_message_template,
        item.new_goals or point.elicitation_goals,
        criteria,
        [text for text in point.completion_criteria if text not in criteria],
        item.new_goals,
        item.confidence,
        () if item.is_from_elsewhere else facts,
        [f"{quote.question} — {quote.quote}" if quote.question else quote.quote for quote in answers.values()],
        facts if item.is_from_elsewhere else (),
        item.faded,
        [(pair.one_says, pair.other_says) for pair in item.conflicts],
        _related_knowledge(item, view),
    )


def _related_knowledge(current: PointView, view: JourneyView) -> list[str]:
    """Return what other points and the user's memories say that is relevant to a point."""
    keywords = current.point.semantic_keywords
    statements = [
        f"{item.point.title}: {text}"
        for item in view.points
        if item is not current
        for text in item.extracted_points
        if keyword_count(text, keywords)
    ]
    return [*statements[:ELSEWHERE], *(f"from memory: {item.content}" for item in current.prefilled)]


def journey_prompt(conversation: Conversation) -> list[str]:
    """Return the journey's own instructions for every reply; empty for a conversation without a journey."""
    journey = db.session.get(Journey, conversation.journey_id) if conversation.journey_id is not None else None
    return [journey.system_prompt] if journey is not None else []


@source_of("JOURNEY")
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
