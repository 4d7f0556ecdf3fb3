"""Facts that a model call returned: grounded in the user's words, decided on by code, kept as private memories."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import select

from webapp.conversations.models import Conversation, Message
from webapp.db.base import db
from webapp.legacies.extraction_prompt import LegacyFact
from webapp.legacies.fact_list import MAX_SHOWN, KnownFacts, category_of, ground, list_known, side_by_side
from webapp.legacies.facts import legacy_of
from webapp.memories.learning.later_domains import Result
from webapp.memories.learning.model_call import worker_is_trusted
from webapp.memories.models import IN_USE, Memory
from webapp.memories.prompt.conversation_memory import memory_is_on
from webapp.memories.rules.decide import decide
from webapp.memories.rules.kinds import CONTENT_MAX
from webapp.memories.rules.operations import QUOTE_MAX, MemoryOperation
from webapp.memories.rules.state import SourceMessage, State
from webapp.memories.store import versions, writing
from webapp.memories.store.journal import Journal
from webapp.memories.store.tombstones import read_again, tombstone_set
from webapp.memories.store.writing import Vectors
from webapp.text.canonical import plain_text

log = logging.getLogger(__name__)

CONFIDENCE, IMPORTANCE = 0.8, 0.6
QUOTE_NOT_FOUND = "quote_not_found"


@dataclass(frozen=True, slots=True)
class Subject:
    """The person whom a user's conversation is about, and the user's newest facts of them in use, for the prompt."""

    user_id: int
    space_id: int
    name: str
    facts: KnownFacts


def subject_of(conversation: Conversation) -> Subject | None:
    """Return whom a conversation is read for facts about; None if about nobody, or with memory off."""
    legacy = legacy_of(conversation)
    if legacy is None or not extracts_facts(conversation):
        return None
    user_id, space_id = conversation.user_id, legacy.space_id
    newest = select(Memory.memory_id, Memory.content).where(
        Memory.user_id == user_id, Memory.space_id == space_id, *IN_USE
    )
    rows = db.session.execute(newest.order_by(Memory.memory_id.desc()).limit(MAX_SHOWN)).all()
    return Subject(user_id, space_id, legacy.name, list_known({row.memory_id: row.content for row in rows}))


def extracts_facts(conversation: Conversation) -> bool:
    """Return whether a conversation is read for facts: in a legacy, with memory on."""
    return conversation.makes_memory and legacy_of(conversation) is not None and memory_is_on(conversation)


def keep_facts(
    conversation_id: int,
    subject: Subject,
    statements: Sequence[LegacyFact],
    message_ids: Sequence[int],
    vectors: Vectors,
    cause: str = "summary",
) -> Result:
    """Store the proposed facts that the user said, by the rules of every memory; the conversation is locked."""
    if not statements:
        return Result(read=True)
    user_id, space_id, facts = subject.user_id, subject.space_id, subject.facts
    versions.begin_change(user_id)
    rows = db.session.scalars(
        select(Message).where(Message.message_id.in_(message_ids)).order_by(Message.message_id)
    ).all()
    tombstones = tombstone_set(user_id)
    sources = [
        SourceMessage(number, row.message_id, row.role, row.content, row.said_at, row.provenance)
        for number, row in enumerate(rows, 1)
    ]
    messages = read_again(sources, tombstones)
    user_messages = [message for message in messages if message.role == "user"]
    operations = [
        operation for item in statements if (operation := _operation(item, subject, user_messages)) is not None
    ]
    ungrounded = len(statements) - len(operations)
    if not operations:
        return Result(None, {"rejected": ungrounded}, {QUOTE_NOT_FOUND: ungrounded}, read=True)
    ids = writing.candidates(
        user_id, space_id, operations, {number for message in user_messages for number in message.versions}
    )
    ids |= set(facts.numbered.values())
    ids |= writing.similar(user_id, space_id, vectors)
    plan = decide(
        operations,
        State(
            messages=messages,
            memories=tuple(writing.load_known(ids)),
            numbered=facts.numbered,
            embeddings=vectors.by_text,
            context=tuple(row.content for row in rows if row.role != "user"),
            subject=subject.name,
            is_trusted=worker_is_trusted(),
            is_forgotten=tombstones.forbids,
        ),
    )
    plan = side_by_side(plan)
    counts = plan.counts | {"rejected": plan.counts["rejected"] + ungrounded}
    reasons = plan.reasons | ({QUOTE_NOT_FOUND: ungrounded} if ungrounded else {})
    log.info("facts proposed", extra={"conversation_id": conversation_id, "proposed": len(statements), **counts})
    if not plan.effects:
        return Result(None, counts, reasons, read=True)
    journal = Journal(user_id, cause, actor="extraction", conversation_id=conversation_id)
    writing.apply_plan(plan.effects, journal, space_id=space_id, vectors=vectors)
    change_set = journal.close(counts, reasons)
    change_set.through_message_id = max(message_ids)
    return Result(change_set.change_set_id, counts, reasons, read=True)


def _operation(item: LegacyFact, subject: Subject, user_messages: Sequence[SourceMessage]) -> MemoryOperation | None:
    content, numbered = plain_text(item.content), subject.facts.numbered
    grounds = ground(content, subject.name, user_messages, quote=item.quote, number=item.message) if content else None
    if grounds is None or len(content) > CONTENT_MAX:
        return None
    category = category_of(item.category)
    return MemoryOperation(
        action="supersede" if item.contradicts in numbered else "add",
        memory_number=item.contradicts if item.contradicts in numbered else None,
        message_number=grounds.number,
        quote=grounds.quote[:QUOTE_MAX],
        memory_type="preference" if category == "preference" else "fact",
        category=category,
        content=content,
        confidence=CONFIDENCE,
        importance=IMPORTANCE,
    )
