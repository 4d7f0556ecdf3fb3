"""The rows with what a point rests on: created from grounded assessments, and retired when replaced."""

from collections.abc import Sequence
from typing import Any

from webapp.conversations.current_messages import previous_messages
from webapp.conversations.models import Conversation, Message
from webapp.db.base import db, now
from webapp.journeys.assessment_merge import assign, assign_data, merge_texts
from webapp.journeys.models import ConversationPoint, PointEvidence, PointMemory
from webapp.journeys.point_views import Quote
from webapp.journeys.replacements import Replaced
from webapp.memories.learning.journey_points import GroundedAssessment
from webapp.memories.rules.state import Evidence

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


def retire(evidence_id: int, replacement: Replaced) -> bool:
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
