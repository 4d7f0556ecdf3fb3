"""The guide of a conversation: its current point, what the user asks of it, and its section of the prompt."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.exc import IntegrityError

from webapp.conversations.models import Conversation
from webapp.db.base import db, now
from webapp.journeys.assessment import hold_memory
from webapp.journeys.evidence_matches import keyword_count
from webapp.journeys.guide_section import CurrentPoint, GuideNow, guide_section, without_knowledge
from webapp.journeys.models import ConversationPoint, JourneyGuide
from webapp.journeys.point_views import JourneyView, PointView
from webapp.journeys.points import journey_view
from webapp.journeys.wishes import Wish, wish_of

ELSEWHERE = 6


@dataclass(frozen=True, slots=True)
class Guidance:
    """The guide's section of a prompt; `kept` is what stays on record, without what was known about the user."""

    text: str
    kept: str


def guide_of(conversation_id: int) -> JourneyGuide:
    """The state of a conversation's guide; a new, unstored one if there is none yet."""
    row = db.session.get(JourneyGuide, conversation_id)
    return row or JourneyGuide(conversation_id=conversation_id, point_id=None, is_paused=False, report_due=False)


def hold_guide(conversation_id: int) -> JourneyGuide:
    """The stored guide of a conversation, created if necessary."""
    row = db.session.get(JourneyGuide, conversation_id)
    if row is not None:
        return row
    try:
        with db.session.begin_nested():
            row = JourneyGuide(conversation_id=conversation_id, is_paused=False, report_due=False)
            db.session.add(row)
        return row
    except IntegrityError:
        return db.session.get_one(JourneyGuide, conversation_id, populate_existing=True)


def current_point(view: JourneyView, guide: JourneyGuide) -> PointView | None:
    """The point that a conversation is at: the one opened last if it is still open, else the next one.

    If nothing is open, one whose answers should be checked; None if there is nothing to ask.
    """
    opened = next((item for item in view.points if item.point.point_id == guide.point_id), None)
    if opened is not None and opened.set_aside is None and (not opened.is_settled or opened.conflicts):
        return opened
    if view.next_slug is not None:
        return view.view(view.next_slug)
    return next((item for item in view.points if item.conflicts or (item.is_settled and item.to_check)), None)


def note_opened(conversation: Conversation, point: ConversationPoint) -> None:
    """Note that the user opened a point themselves: it becomes the current one, even if it was set aside before."""
    row = hold_memory(conversation.user_id, point)
    row.manually_initiated = True
    row.set_aside = row.set_aside_at = None
    guide = hold_guide(conversation.conversation_id)
    guide.point_id, guide.is_paused = point.point_id, False


def apply_request(conversation: Conversation, message: str) -> Wish | None:
    """Do and remember what a message asks of the guide: skip, later, stop asking, go on. Most ask for nothing."""
    wish = wish_of(message) if conversation.journey_id is not None else None
    if wish is None:
        return None
    guide = hold_guide(conversation.conversation_id)
    if wish in ("stop", "resume"):
        guide.is_paused = wish == "stop"
        return wish
    view = journey_view(conversation.user_id, conversation.journey_id, conversation, prefill=False)
    current = current_point(view, guide)
    if current is not None and not current.is_settled:
        set_point_aside(conversation, current.point, wish)
    return wish


def set_point_aside(conversation: Conversation, point: ConversationPoint, wish: str | None) -> None:
    """Note that a point is to be skipped, left for later, or (None) asked about again."""
    row = hold_memory(conversation.user_id, point)
    row.set_aside, row.set_aside_at = wish, now() if wish else None
    guide = hold_guide(conversation.conversation_id)
    if guide.point_id == point.point_id:
        guide.point_id = None
    db.session.flush()


def guidance_for(conversation: Conversation, asked: str) -> Guidance:
    """The section for the reply to a message in a conversation that follows a journey."""
    view = journey_view(conversation.user_id, conversation.journey_id, conversation)
    guide = guide_of(conversation.conversation_id)
    current = current_point(view, guide)
    following = view.view(view.after(current.point.slug) or "") if current else None
    moment = GuideNow(
        view.journey.title,
        view.addressed,
        len(view.points),
        _shown(current, view) if current else None,
        following.point.title if following else None,
        [item.point.title for item in view.points if item.is_skipped],
        [
            f"{item.point.title}: {pair.one_says} or {pair.other_says}"
            for item in view.points
            if item is not current
            for pair in item.conflicts
        ],
        guide.is_paused,
        wish_of(asked),
    )
    return Guidance(guide_section(moment), guide_section(without_knowledge(moment)))


def _shown(item: PointView, view: JourneyView) -> CurrentPoint:
    point = item.point
    known = item.extracted_points
    met = item.criteria_met
    answers = {quote.evidence_id: quote for quote in item.evidence}
    return CurrentPoint(
        point.title,
        point.description,
        point.system_message_template,
        item.new_goals or point.elicitation_goals,
        met,
        [text for text in point.completion_criteria if text not in met],
        item.new_goals,
        item.confidence,
        () if item.is_from_elsewhere else known,
        [f"{quote.question} — {quote.quote}" if quote.question else quote.quote for quote in answers.values()],
        known if item.is_from_elsewhere else (),
        item.faded,
        [(pair.one_says, pair.other_says) for pair in item.conflicts],
        _related_knowledge(item, view),
    )


def _related_knowledge(current: PointView, view: JourneyView) -> list[str]:
    """Return what other points and the user's memories say that is relevant to a point."""
    keywords = current.point.semantic_keywords
    said = [
        f"{item.point.title}: {text}"
        for item in view.points
        if item is not current
        for text in item.extracted_points
        if keyword_count(text, keywords)
    ]
    return [*said[:ELSEWHERE], *(f"from memory: {item.content}" for item in current.prefilled)]
