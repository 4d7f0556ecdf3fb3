"""The open points in the extraction call of a turn: what is asked about them, and what is done with the answer."""

import logging
from collections.abc import Sequence
from typing import Any

from sqlalchemy import delete, select

from webapp.conversations.current_messages import current, previous_messages
from webapp.conversations.models import Conversation, Message
from webapp.db.base import db, now
from webapp.journeys.assessment_merge import (
    Assessment,
    PointState,
    Quote,
    Replacement,
    after_lost_evidence,
    assign,
    assign_data,
    find_replaced,
    is_settled,
    keep_settled,
    keyword_count,
    merge,
    merge_texts,
    shares_words,
)
from webapp.journeys.guides import apply_request, lock_point_memory
from webapp.journeys.models import ConversationPoint, JourneyGuide, PointEvidence, PointMemory
from webapp.journeys.point_views import PointView, aims_of
from webapp.journeys.points import journey_view, load_evidence, state_of
from webapp.journeys.report_job import request_reports
from webapp.journeys.reports import report_due
from webapp.memories.learning.journey_points import GroundedAssessment
from webapp.memories.learning.prompt import OpenPoint
from webapp.memories.rules.state import Evidence

log = logging.getLogger(__name__)

KNOWN_SHOWN = 8


def open_points(conversation: Conversation) -> Sequence[OpenPoint]:
    """Return the points for the next call with what is known, open ones first, then settled ones that were touched on.

    All of them if what was said touches none, since it may take something back.
    """
    if conversation.journey_id is None:
        return ()
    view = journey_view(conversation.user_id, conversation.journey_id, conversation, prefill=False)
    still_open = [item for item in view.points if not item.is_settled]
    settled_items = [item for item in view.points if item.is_settled]
    if settled_items:
        guide = db.session.get(JourneyGuide, conversation.conversation_id)
        point_id = guide.point_id if guide is not None else None
        unread = " \n".join(_unread(conversation))
        affected = [item for item in settled_items if item.point.point_id == point_id or _touches(unread, item)]
        if affected or any(_touches(unread, item) for item in still_open):
            settled_items = affected
    return [
        OpenPoint(
            item.point.title,
            goals="; ".join(item.new_goals or item.point.elicitation_goals),
            known=tuple(item.extracted_points[:KNOWN_SHOWN]),
            description=item.point.description,
            criteria=tuple(item.point.completion_criteria),
            keywords=tuple(item.point.semantic_keywords),
            is_settled=item.is_settled,
            key=item.point.point_id,
        )
        for item in (*still_open, *settled_items)
    ]


def _unread(conversation: Conversation) -> Sequence[str]:
    """Return what the user said since the last extraction."""
    return db.session.scalars(
        select(Message.content).where(
            current(conversation.conversation_id, "user"), Message.message_id > (conversation.extracted_through or 0)
        )
    ).all()


def _touches(unread: str, item: PointView) -> bool:
    text = " ".join([*item.extracted_points, *map(str, item.structured_data.values())])
    return bool(keyword_count(unread, item.point.semantic_keywords)) or shares_words(unread, text)


def store_assessments(
    conversation: Conversation, keys: Sequence[int], assessments: Sequence[GroundedAssessment], messages: int
) -> bool:
    """Merge what a call said about the points (`point_number` counts `keys` from 1) into what is known.

    True if the journey is complete and its summary is due. The caller holds the conversation's row.
    """
    if conversation.journey_id is None:
        return False
    for item in assessments:
        point = db.session.get(ConversationPoint, keys[item.assessment.point_number - 1])
        if point is None or point.is_archived:
            continue
        if item.assessment.request is not None:
            apply_request(conversation, point, item.assessment.request)
        if item.assessment.request is None or item.assessment.extracted_points:
            _merge(conversation, point, item, messages)
    db.session.flush()
    if not assessments:
        return False
    is_due = report_due(conversation)
    request_reports(conversation.user_id, conversation.journey_id, but=conversation.conversation_id if is_due else None)
    return is_due


def _merge(conversation: Conversation, point: ConversationPoint, grounded: GroundedAssessment, messages: int) -> None:
    row = lock_point_memory(conversation.user_id, point)
    quotes_of_point = load_evidence([row.point_memory_id], conversation.conversation_id)[row.point_memory_id]
    left = [item for item in quotes_of_point if item.retired_at is None]
    state = after_lost_evidence(state_of(row), len(left))
    if len(left) < row.evidence_count:
        drop_lost_evidence(row, quotes_of_point)
    new = new_evidence(conversation, row, quotes_of_point, grounded)
    db.session.add_all(new)
    replaced = _retire_replaced(left, new, grounded) if new else set()
    left = [item for item in left if item.evidence_id not in replaced]
    assessment = Assessment(
        grounded.assessment.is_addressed and _meets_criteria(point, left, grounded),
        grounded.assessment.confidence_score,
        now(),
        messages,
    )
    merged = merge(state, assessment, point.confidence_threshold, rests_on=len(left) + len(new))
    if is_settled(state, point.confidence_threshold) and (left or new):
        merged = keep_settled(merged, point.confidence_threshold)  # more evidence does not cast doubt on it
    write_state(row, merged)
    if row.is_addressed and grounded.assessment.is_addressed:
        row.settled_for = aims_of(point)
    if new:
        row.before_change = None
    db.session.flush()
    log.info(
        "point assessed",
        extra={
            "point": point.slug,
            "is_addressed": row.is_addressed,
            "confidence": round(row.confidence_score, 2),
            "conversation_id": conversation.conversation_id,
            "evidence": len(new),
            "replaced": len(replaced),
        },
    )


def _meets_criteria(point: ConversationPoint, left: Sequence[Quote], assessment: GroundedAssessment) -> bool:
    """Return whether all criteria are met, if the assessment says which ones it settles; otherwise its word counts."""
    if not assessment.assessment.criteria_met:
        return True
    criteria = {text for item in left for text in item.criteria} | set(criteria_of(point, assessment))
    return criteria >= set(point.completion_criteria)


def _retire_replaced(left: Sequence[Quote], new: Sequence[PointEvidence], assessment: GroundedAssessment) -> set[int]:
    """Remove what the new words replace from what is known; returns the ids of the rows with nothing left."""
    points = merge_texts((), (text for item in left for text in item.extracted_points))[:KNOWN_SHOWN]
    unread = assessment.assessment
    replaced = find_replaced(
        [points[number - 1] for number in unread.corrects if number <= len(points)],
        unread.extracted_points,
        unread.structured_data,
        [item for item in left if item.message_id not in {row.message_id for row in new}],
    )
    return {evidence_id for evidence_id, replacement in replaced.items() if retire(evidence_id, replacement)}


def write_state(row: PointMemory, state: PointState) -> None:
    """Store a merged state."""
    row.is_addressed, row.confidence_score = state.is_addressed, state.confidence
    row.evidence_count = state.rests_on
    row.first_addressed_at, row.last_analyzed_at = state.first_addressed_at, state.last_analyzed_at
    row.message_count_analyzed = state.messages_analyzed
    row.updated_at = now()


def drop_lost_evidence(row: PointMemory, left: Sequence[Quote]) -> None:
    """Delete evidence in messages that are no longer part of a conversation."""
    db.session.execute(
        delete(PointEvidence).where(
            PointEvidence.point_memory_id == row.point_memory_id,
            PointEvidence.evidence_id.not_in([item.evidence_id for item in left]),
        )
    )


SHORT_WORDS = 5
"""An answer of up to this many words is quoted with its question."""
MAX_QUESTION = 500


def new_evidence(
    conversation: Conversation, row: PointMemory, existing: Sequence[Quote], assessment: GroundedAssessment
) -> list[PointEvidence]:
    """Return rows for new quotes, each with its statements and values; `existing` includes replaced rows."""
    seen = {(item.message_id, item.quote) for item in existing} | {(item.message_id, item.start) for item in existing}
    fresh: list[Evidence] = []
    for item in assessment.evidence:
        is_there = (item.message_id, item.quote) in seen or (item.message_id, item.start) in seen
        if not is_there and not any(item.overlaps(other) for other in fresh):
            fresh.append(item)
    if not fresh:
        return []
    earlier = [text for item in existing if item.retired_at is None for text in item.extracted_points]
    statements = merge_texts(earlier, assessment.assessment.extracted_points)[len(merge_texts((), earlier)) :]
    quotes = [item.quote for item in fresh]
    point = db.session.get_one(ConversationPoint, row.point_id)
    return [
        PointEvidence(
            point_memory_id=row.point_memory_id,
            **vars(item),
            extracted_points=texts,
            structured_data=data,
            question=question_before(conversation, item.message_id) if len(item.quote.split()) <= SHORT_WORDS else None,
            criteria=criteria_of(point, assessment) or None,
        )
        for item, texts, data in zip(
            fresh, assign(statements, quotes), assign_data(assessment.assessment.structured_data, quotes), strict=True
        )
    ]


def criteria_of(point: ConversationPoint, assessment: GroundedAssessment) -> list[str]:
    """Return the criteria that an assessment says are settled, by their numbers from 1."""
    criteria = point.completion_criteria
    return [criteria[number - 1] for number in assessment.assessment.criteria_met or () if number <= len(criteria)]


def question_before(conversation: Conversation, message_id: int) -> str | None:
    """Return the assistant's last question before a message, if it asked one."""
    before = previous_messages(conversation.conversation_id, message_id, "assistant").with_only_columns(Message.content)
    return last_question(db.session.scalar(before) or "")


def last_question(text: str) -> str | None:
    """Return the last question in a text."""
    end = max(text.rfind(mark) for mark in "?？")
    begin = max(text.rfind(mark, 0, max(end, 0)) for mark in ".!?…\n")
    return " ".join(text[begin + 1 : end + 1].split()).lstrip("-*•> ")[:MAX_QUESTION] or None


def retire(evidence_id: int, replacement: Replacement) -> bool:
    """Move statements and values of a row to its history; true if nothing of it is left."""
    row = db.session.get_one(PointEvidence, evidence_id)
    moment = now()
    said_so: list[dict[str, Any]] = [
        *({"statement": text, "why": "replaced", "at": moment.isoformat()} for text in replacement.statements),
        *(
            {"name": name, "value": row.structured_data.get(name), "why": "replaced", "at": moment.isoformat()}
            for name in replacement.names
        ),
    ]
    row.retired = [*(row.retired or ()), *said_so]
    statements = set(row.extracted_points) - {item.get("statement") for item in row.retired}
    names = set(row.structured_data) - {item.get("name") for item in row.retired}
    if statements or names:
        return False
    row.retired_at, row.retired_why = moment, "replaced"
    return True
