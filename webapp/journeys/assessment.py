"""The open points in the one extraction call of a turn: what is asked about them, and what comes of the answer."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from sqlalchemy import delete, select
from sqlalchemy.exc import IntegrityError

from webapp.conversations.models import Conversation
from webapp.database import db, now
from webapp.journeys.matching import assign, assign_data
from webapp.journeys.merging import Assessment, PointState, as_it_stands, merge, merge_texts
from webapp.journeys.models import ConversationPoint, PointEvidence, PointMemory
from webapp.journeys.point_views import Quote
from webapp.journeys.points import journey_view, load_evidence, state_of
from webapp.journeys.reports import report_due
from webapp.memories.engine.state import Evidence
from webapp.memories.learning.guided import Guided, PointKey
from webapp.memories.learning.points import GroundedAssessment
from webapp.memories.learning.prompt import OpenPoint

log = logging.getLogger(__name__)

KNOWN_SHOWN = 8


def open_points(conversation: Conversation) -> Guided:
    """The points of the conversation's journey that still need a look, with what is known of them.

    Those addressed with high confidence are left out.
    """
    if conversation.journey_id is None:
        return Guided()
    view = journey_view(conversation.user_id, conversation.journey_id, conversation, prefill=False)
    still_open = [item for item in view.points if not item.is_settled]
    return Guided(
        keys=tuple(item.point.point_id for item in still_open),
        points=tuple(
            OpenPoint(
                item.point.title,
                goals="; ".join(item.point.elicitation_goals),
                known=tuple(item.extracted_points[:KNOWN_SHOWN]),
                description=item.point.description,
                criteria=tuple(item.point.completion_criteria),
                keywords=tuple(item.point.semantic_keywords),
            )
            for item in still_open
        ),
    )


def store_assessments(
    conversation: Conversation, keys: Sequence[PointKey], found: Sequence[GroundedAssessment], messages: int
) -> bool:
    """Merge what a call said about the points (`point_number` counts `keys` from 1) into what is known.

    True when the journey is complete and its summary is to be made. The conversation's row is held by the caller.
    """
    if conversation.journey_id is None:
        return False
    for item in found:
        point = db.session.get(ConversationPoint, keys[item.assessment.point_number - 1])
        if point is not None and not point.is_archived:
            _merge(conversation, point, item, messages)
    db.session.flush()
    return bool(found) and report_due(conversation)


def _merge(conversation: Conversation, point: ConversationPoint, found: GroundedAssessment, messages: int) -> None:
    row = hold_memory(conversation.user_id, point)
    left = load_evidence([row.point_memory_id], conversation.conversation_id)[row.point_memory_id]
    state = as_it_stands(state_of(row), len(left))
    if len(left) < row.evidence_count:
        drop_lost(row, left)
    new = _new_evidence(row, left, found)
    db.session.add_all(new)
    assessment = Assessment(
        found.assessment.is_addressed,
        found.assessment.confidence_score,
        now(),
        messages,
    )
    write_state(row, merge(state, assessment, point.confidence_threshold, rests_on=len(left) + len(new)))
    db.session.flush()
    log.info(
        "point assessed",
        extra={
            "point": point.slug,
            "is_addressed": row.is_addressed,
            "confidence": round(row.confidence_score, 2),
            "conversation_id": conversation.conversation_id,
            "evidence": len(new),
        },
    )


def _new_evidence(row: PointMemory, known: Sequence[Quote], found: GroundedAssessment) -> list[PointEvidence]:
    """Rows for quotes that are not there yet; each carries the statements and values that were taken from it."""
    seen = {(item.message_id, item.quote) for item in known}
    fresh: list[Evidence] = []
    for item in found.evidence:
        if (item.message_id, item.quote) not in seen and not any(item.overlaps(other) for other in fresh):
            fresh.append(item)
    if not fresh:
        return []
    said = [text for item in known for text in item.extracted_points]
    statements = merge_texts(said, found.assessment.extracted_points)[len(merge_texts((), said)) :]
    quotes = [item.quote for item in fresh]
    return [
        PointEvidence(
            point_memory_id=row.point_memory_id,
            message_id=item.message_id,
            quote=item.quote,
            start=item.start,
            end=item.end,
            said_at=item.said_at,
            extracted_points=texts,
            structured_data=data,
        )
        for item, texts, data in zip(
            fresh, assign(statements, quotes), assign_data(found.assessment.structured_data, quotes), strict=True
        )
    ]


def hold_memory(user_id: int, point: ConversationPoint) -> PointMemory:
    """The user's memory of a point, made if need be, and locked until the transaction ends."""
    held = (
        select(PointMemory)
        .where(PointMemory.user_id == user_id, PointMemory.point_id == point.point_id)
        .with_for_update()
        .execution_options(populate_existing=True)
    )
    row = db.session.scalar(held)
    if row is not None:
        return row
    try:
        with db.session.begin_nested():
            row = PointMemory(
                user_id=user_id,
                journey_id=point.journey_id,
                point_id=point.point_id,
                is_addressed=False,
                confidence_score=0.0,
                evidence_count=0,
                message_count_analyzed=0,
                manually_initiated=False,
            )
            db.session.add(row)
        return row
    except IntegrityError:
        return db.session.scalars(held).one()  # another conversation's turn made it first


def write_state(row: PointMemory, state: PointState) -> None:
    """Store a merged state."""
    row.is_addressed, row.confidence_score = state.is_addressed, state.confidence
    row.evidence_count = state.rests_on
    row.first_addressed_at, row.last_analyzed_at = state.first_addressed_at, state.last_analyzed_at
    row.message_count_analyzed = state.messages_analyzed
    row.updated_at = now()


def drop_lost(row: PointMemory, left: Sequence[Quote]) -> None:
    """Delete evidence that stands in messages which are no part of a conversation any more."""
    db.session.execute(
        delete(PointEvidence).where(
            PointEvidence.point_memory_id == row.point_memory_id,
            PointEvidence.evidence_id.not_in([item.evidence_id for item in left]),
        )
    )
