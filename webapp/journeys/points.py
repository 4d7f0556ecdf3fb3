"""Reads the current points of a journey for a user: definition, state, evidence, and relevant memories."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import false, select
from sqlalchemy.orm import load_only

from webapp.conversations.models import Conversation, Message
from webapp.db.base import db, get_or_raise, now
from webapp.errors import NotFound, require
from webapp.journeys.assessment_merge import PointState, Quote, after_lost_evidence, is_settled, keyword_count
from webapp.journeys.models import ConversationPoint, Journey, PointEvidence, PointMemory
from webapp.journeys.point_views import JourneyView, PastAnswer, PointView, PrefilledMemory
from webapp.journeys.relevance import relevant_memories
from webapp.memories.models import IN_USE, Memory, MemoryEvidence
from webapp.memories.prompt.conversation_memory import memory_is_on
from webapp.memories.rules.kinds import MemoryType

MAX_MEMORIES = 400
MAX_PREFILLS = 5
_SAME_FIELDS = (
    "evidence_id",
    "message_id",
    "memory_id",
    "said_at",
    "start",
    "end",
    "question",
    "retired_at",
    "retired_why",
)


def points_of(*journey_ids: int) -> Sequence[ConversationPoint]:
    """Return the points of journeys in order, without archived ones."""
    return db.session.scalars(
        select(ConversationPoint)
        .where(ConversationPoint.journey_id.in_(journey_ids), ConversationPoint.is_archived == false())
        .order_by(ConversationPoint.position, ConversationPoint.point_id)
    ).all()


def find_point(conversation: Conversation, slug: str) -> ConversationPoint:
    """Return the point with that slug in the conversation's journey. Raises NotFound."""
    row = None
    if conversation.journey_id is not None:
        row = db.session.scalar(
            select(ConversationPoint).where(
                ConversationPoint.journey_id == conversation.journey_id,
                ConversationPoint.slug == slug,
                ConversationPoint.is_archived == false(),
            )
        )
    return require(row, "There is no such point in this conversation.")


def journey_view(
    user_id: int, journey_id: int | None, conversation: Conversation | None = None, *, prefill: bool = True
) -> JourneyView:
    """Return a journey's state for a user, `conversation` being here; nothing is known while memory is off."""
    if journey_id is None:
        raise NotFound("This conversation has no journey.")
    points = points_of(journey_id)
    conversation_id = conversation.conversation_id if conversation is not None else None
    is_on = conversation is None or memory_is_on(conversation)
    stored = db.session.scalars(
        select(PointMemory).where(PointMemory.user_id == user_id, PointMemory.journey_id == journey_id)
    )
    memories = {row.point_id: row for row in stored} if is_on else {}
    evidence = load_evidence([row.point_memory_id for row in memories.values()], conversation_id)
    views = [point_view(point, memories.get(point.point_id), evidence) for point in points]
    if prefill and is_on:
        prefills = _prefilled_memories(user_id, views, memories, conversation)
        views = [replace(view, prefilled=prefills.get(view.point.point_id, [])) for view in views]
    return JourneyView(get_or_raise(Journey, journey_id), views)


def state_of(row: PointMemory | None) -> PointState:
    """Return what is stored about a point."""
    if row is None:
        return PointState()
    return PointState(
        row.is_addressed,
        row.confidence_score,
        row.evidence_count,
        row.first_addressed_at,
        row.last_analyzed_at,
        row.message_count_analyzed,
        analyzed=row.last_analyzed_at is not None,
    )


def load_evidence(point_memory_ids: Collection[int], current_id: int | None = None) -> dict[int, list[Quote]]:
    """Return the evidence of points for a user in the order it was said, replaced pieces included."""
    rows = db.session.execute(
        select(PointEvidence, Message.conversation_id, Memory.content)
        .outerjoin(Message, Message.message_id == PointEvidence.message_id)
        .outerjoin(Conversation, Conversation.conversation_id == Message.conversation_id)
        .outerjoin(Memory, Memory.memory_id == PointEvidence.memory_id)
        .where(
            PointEvidence.point_memory_id.in_(point_memory_ids),
            # What was edited away, is about to be deleted or no longer holds does not count, unless and until it is
            # restored.
            Message.superseded_by_id.is_(None),
            Conversation.deleted_at.is_(None),
            Memory.valid_to.is_(None),
        )
        .order_by(PointEvidence.said_at, PointEvidence.evidence_id)
    )
    quotes: dict[int, list[Quote]] = defaultdict(list)
    for row, conversation_id, statement in rows:
        # A memory that has since been edited says what it says now.
        retired = row.retired or []
        texts = [statement] if statement is not None else _without_retired(row.extracted_points, retired)
        names = {item["name"] for item in retired if "name" in item}
        quote = statement if statement is not None and row.message_id is None else row.quote
        quotes[row.point_memory_id].append(
            Quote(
                **{name: getattr(row, name) for name in _SAME_FIELDS},
                conversation_id=conversation_id,
                quote=quote,
                from_other_conversation=conversation_id != current_id,
                extracted_points=texts,
                structured_data={name: value for name, value in row.structured_data.items() if name not in names},
                criteria=row.criteria or (),
                retired=retired,
            )
        )
    return quotes


def _without_retired(texts: Sequence[str], retired: Sequence[dict[str, Any]]) -> list[str]:
    statements = {item["statement"] for item in retired if "statement" in item}
    return [text for text in texts if text not in statements]


def point_view(point: ConversationPoint, row: PointMemory | None, evidence: Mapping[int, list[Quote]]) -> PointView:
    """Return a point with what is known about it; `evidence` by point memory."""
    if row is None:
        return PointView(point, PointState(), [], now())
    all_quotes = evidence.get(row.point_memory_id, [])
    quotes = [item for item in all_quotes if item.retired_at is None]
    stored = state_of(row)
    state = after_lost_evidence(stored, len(quotes))
    return PointView(
        point,
        state,
        quotes,
        now(),
        row.manually_initiated,
        row.confirmed_at,
        was_reopened=stored.is_addressed and not state.is_addressed,
        history=_replaced_pieces(all_quotes),
        set_aside=row.set_aside,
        settled_for=row.settled_for,
        settled_conflicts=row.settled_conflicts or (),
        can_undo=row.before_change is not None,
    )


def _replaced_pieces(evidence: Sequence[Quote]) -> list[PastAnswer]:
    """Return what was said and replaced, oldest first."""
    versions = []
    for item in evidence:
        if item.retired_at is not None:
            statements = [part["statement"] for part in item.retired if "statement" in part]
            text = "; ".join([*item.extracted_points, *statements]) or item.quote
            versions.append(PastAnswer(text, item.quote, item.said_at, item.retired_at, item.retired_why or ""))
            continue
        for part in item.retired:
            text = part.get("statement") or f"{part.get('name', '').replace('_', ' ')}: {part.get('value')}"
            versions.append(PastAnswer(str(text), item.quote, item.said_at, None, str(part.get("why", "replaced"))))
    return versions


def _prefilled_memories(
    user_id: int,
    views: Sequence[PointView],
    rows: dict[int, PointMemory],
    conversation: Conversation | None,
) -> dict[int, list[PrefilledMemory]]:
    """Return memories from elsewhere that are relevant to points still open, best first, at most PREFILLED for each."""
    if conversation is None or conversation.space_id is not None:
        return {}  # what is known about the user elsewhere does not belong in a space
    memories = db.session.scalars(
        select(Memory)
        .where(
            Memory.user_id == user_id,
            Memory.space_id.is_(None),
            *IN_USE,
            # How somebody wants to be answered says nothing about a topic.
            Memory.memory_type != MemoryType.INSTRUCTION.value,
        )
        .options(load_only(Memory.memory_id, Memory.content, Memory.created_at))  # no vectors
        .order_by(Memory.importance.desc(), Memory.memory_id.desc())
        .limit(MAX_MEMORIES)
    ).all()
    by_id = {memory.memory_id: memory for memory in memories}
    hits: dict[int, dict[int, int]] = {}
    for view in views:
        point, row = view.point, rows.get(view.point.point_id)
        if is_settled(view.state, point.confidence_threshold):
            continue
        rejected_ids = set(row.dismissed_memory_ids or ()) if row is not None else set()
        rejected_ids |= {item.memory_id for item in view.evidence if item.memory_id is not None}
        counted = {
            memory.memory_id: count
            for memory in memories
            if memory.memory_id not in rejected_ids
            and (count := keyword_count(memory.content, point.semantic_keywords))
        }
        best = sorted(counted, key=lambda memory_id: -counted[memory_id])[: 4 * MAX_PREFILLS]
        hits[point.point_id] = {memory_id: counted[memory_id] for memory_id in best}
    prefills = {
        point_id: [by_id[memory_id] for memory_id in sorted(scores, key=lambda memory_id: -scores[memory_id])]
        for point_id, scores in relevant_memories([view.point for view in views], hits).items()
    }
    sources = newest_evidence({memory.memory_id for items in prefills.values() for memory in items})
    conversation_id = conversation.conversation_id
    return {point_id: _relevant_memories(items, sources, conversation_id) for point_id, items in prefills.items()}


def _relevant_memories(
    memories: Sequence[Memory], sources: dict[int, tuple[MemoryEvidence, int]], current_id: int
) -> list[PrefilledMemory]:
    relevant = []
    for memory in memories:
        row, conversation_id = sources.get(memory.memory_id, (None, None))
        if conversation_id == current_id:
            continue  # what was said in this conversation is assessed from it
        relevant.append(
            PrefilledMemory(
                memory.memory_id,
                memory.content,
                row.quote if row else None,
                row.message_id if row else None,
                conversation_id,
                row.said_at if row else memory.created_at,
            )
        )
    return relevant[:MAX_PREFILLS]


def newest_evidence(memory_ids: Collection[int]) -> dict[int, tuple[MemoryEvidence, int]]:
    """Return the newest evidence of each memory, with the conversation it was said in."""
    rows = db.session.execute(
        select(MemoryEvidence, Message.conversation_id)
        .join(Message, Message.message_id == MemoryEvidence.message_id)
        .where(MemoryEvidence.memory_id.in_(memory_ids))
        .order_by(MemoryEvidence.said_at)
    )
    return {row.memory_id: (row, conversation_id) for row, conversation_id in rows}
