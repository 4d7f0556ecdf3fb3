"""Facts about the person of a legacy: found by a model, grounded in the user's words, kept as private memories.

They come with the summaries, and from reading a whole conversation at the user's request.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from flask import Flask
from sqlalchemy import select

from webapp.conversations.current_messages import before_unfinished, count_current, current
from webapp.conversations.models import Conversation, Message
from webapp.db.base import db, get_or_raise, write_transaction
from webapp.errors import OutOfDate
from webapp.legacies.extraction_prompt import (
    CALL_MESSAGES,
    NAME,
    LegacyFact,
    LegacyFacts,
    answer_tokens,
    build_messages,
    first_batch,
)
from webapp.legacies.fact_list import MAX_SHOWN, KnownFacts, category_of, ground, list_known, side_by_side
from webapp.llm.errors import CutOffAnswer
from webapp.llm.structured import complete_items, readable_items
from webapp.memories.learning.later_domains import COUNTS, Reader, Result, reader_of
from webapp.memories.learning.model_call import background_model_is_trusted, vectors_of
from webapp.memories.models import IN_USE, Memory
from webapp.memories.prompt.conversation_memory import memory_is_on
from webapp.memories.rules.decide import decide
from webapp.memories.rules.evidence import has_substance
from webapp.memories.rules.kinds import CONTENT_MAX
from webapp.memories.rules.operations import QUOTE_MAX, MemoryOperation
from webapp.memories.rules.state import SourceMessage
from webapp.memories.store import versions, writing
from webapp.memories.store.journal import Journal
from webapp.memories.store.tombstones import read_again, readable_transcript, tombstone_set
from webapp.memories.store.writing import Vectors
from webapp.prompts.transcript import TranscriptMessage
from webapp.providers.clients import completions
from webapp.spaces.models import Space
from webapp.spaces.service import is_legacy
from webapp.text.canonical import plain_text

log = logging.getLogger(__name__)

CONFIDENCE, IMPORTANCE = 0.8, 0.6
TEMPERATURE = 0.0
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
    user_id, space_id = conversation.user_id, conversation.space_id
    if space_id is None or not extracts_facts(conversation):
        return None
    newest = select(Memory.memory_id, Memory.content).where(
        Memory.user_id == user_id, Memory.space_id == space_id, *IN_USE
    )
    rows = db.session.execute(newest.order_by(Memory.memory_id.desc()).limit(MAX_SHOWN)).all()
    return Subject(
        user_id, space_id, get_or_raise(Space, space_id).name, list_known({row.memory_id: row.content for row in rows})
    )


def extracts_facts(conversation: Conversation) -> bool:
    """Return whether a conversation is read for facts: in a legacy, with memory on."""
    return conversation.makes_memory and is_legacy(conversation.space_id) and memory_is_on(conversation)


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
        return Result()
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
        return Result(None, {"rejected": ungrounded}, {QUOTE_NOT_FOUND: ungrounded})
    state = writing.load_state(
        user_id,
        space_id,
        messages,
        operations,
        writing.find_similar(user_id, space_id, vectors),
        numbered=facts.numbered,
        embeddings=vectors.by_text,
        context=tuple(row.content for row in rows if row.role != "user"),
        subject=subject.name,
        is_trusted=background_model_is_trusted(),
        is_forgotten=tombstones.forbids,
    )
    plan = side_by_side(decide(operations, state))
    counts = plan.counts | {"rejected": plan.counts["rejected"] + ungrounded}
    reasons = plan.reasons | ({QUOTE_NOT_FOUND: ungrounded} if ungrounded else {})
    log.info("facts proposed", extra={"conversation_id": conversation_id, "proposed": len(statements), **counts})
    if not plan.effects:
        return Result(None, counts, reasons)
    journal = Journal(user_id, cause, conversation_id=conversation_id)
    writing.apply_plan(plan.effects, journal, space_id=space_id, vectors=vectors)
    change_set = journal.close(counts, reasons)
    change_set.through_message_id = max(message_ids)
    return Result(change_set.change_set_id, counts, reasons)


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


@dataclass(frozen=True, slots=True)
class Batch:
    """The next messages of a conversation to be read, `messages`; `ids` has the empty ones, too."""

    conversation_id: int
    subject: Subject
    messages: tuple[TranscriptMessage, ...]
    ids: tuple[int, ...]
    has_more: bool

    @property
    def has_statements(self) -> bool:
        """Return whether the user says anything that could be a fact."""
        return any(item.role == "user" and has_substance(item.content, item.content) for item in self.messages)


def init_fact_learning(app: Flask) -> None:
    """Let "Extract memories" read conversations of legacies."""
    reader = Reader(_batches, _read, _skip)
    reader_of.put(app, lambda conversation: reader if is_legacy(conversation.space_id) else None)


def _batches(conversation_id: int, after: int | None) -> Iterator[Batch]:
    """Yield what to ask about next and, while answers are cut off at once, half of the messages, down to one."""
    limit = CALL_MESSAGES
    while limit and (batch := _next_batch(conversation_id, after or 0, limit)) is not None:
        db.session.remove()
        yield batch
        limit = len(batch.messages) // 2
    db.session.remove()


def _skip(batch: Batch) -> Result:
    return Result(has_more=batch.has_more, last_id=batch.ids[-1])


def _read(batch: Batch) -> Result:
    """Make one call, if the user says anything, and store its effects; what has changed meanwhile is read again."""
    if not batch.has_statements:
        return _skip(batch)
    items, last_id = _ask(batch)
    has_more = batch.has_more or last_id != batch.ids[-1]
    try:
        result = _keep(batch, items)
    except OutOfDate:
        return Result(has_more=True, last_id=batch.ids[0] - 1)
    return Result() if result is None else replace(result, has_more=has_more, last_id=last_id)


def _ask(batch: Batch) -> tuple[Sequence[object], int]:
    """Return the facts of an answer, and the id of the last message it covers. Raises CutOffAnswer if there is none."""
    messages = build_messages(batch.messages, batch.subject.name, batch.subject.facts.text)
    try:
        answer, _ = completions().complete_structured(
            messages, LegacyFacts, NAME, max_tokens=answer_tokens(batch.messages), temperature=TEMPERATURE
        )
    except CutOffAnswer as cut:
        items = complete_items(cut.text, "facts")
        numbers = [fact.message for fact in readable_items(LegacyFact, items) if fact.message is not None]
        reached = max((number for number in numbers if 1 <= number <= len(batch.messages)), default=None)
        if reached is None:
            raise
        # The message it was cut off in is read again, unless it is the first: it would be cut off at the same place.
        return items, batch.messages[max(reached - 2, 0)].id
    return answer.facts, batch.ids[-1]


def _keep(batch: Batch, items: Sequence[object]) -> Result | None:
    """Ground and store the facts; None if the conversation is gone, moved or without memory. Raises OutOfDate if the
    messages have changed meanwhile, ModelError."""
    facts = readable_items(LegacyFact, items)
    vectors = vectors_of(plain_text(fact.content) for fact in facts)
    with write_transaction():
        conversation_id = batch.conversation_id
        conversation = db.session.get(Conversation, conversation_id, with_for_update=True, populate_existing=True)
        if conversation is None or conversation.space_id != batch.subject.space_id or not extracts_facts(conversation):
            return None
        statement = select(Message.message_id).where(current(conversation_id), Message.message_id.in_(batch.ids))
        if len(db.session.scalars(statement).all()) != len(batch.ids):
            raise OutOfDate
        message_ids = [item.id for item in batch.messages]
        result = keep_facts(conversation_id, batch.subject, facts, message_ids, vectors, cause="extraction")
    counts = {name: result.counts.get(name, 0) for name in COUNTS} | {"malformed": len(items) - len(facts)}
    return replace(result, counts=counts)


def _next_batch(conversation_id: int, after: int, limit: int) -> Batch | None:
    """Return what to read next; None at the end, with memory off, or before an unfinished reply."""
    conversation = db.session.get(Conversation, conversation_id, populate_existing=True)
    if conversation is None or conversation.deleted_at is not None:
        return None
    rows = db.session.scalars(
        select(Message)
        .where(current(conversation_id), Message.message_id > after)
        .order_by(Message.message_id)
        .limit(CALL_MESSAGES)
        .execution_options(populate_existing=True)
    ).all()
    rows = before_unfinished(rows)
    subject = subject_of(conversation) if rows else None
    if subject is None:
        return None
    transcript = readable_transcript(conversation.user_id, rows)
    batch = first_batch(transcript, limit)
    is_complete = len(batch) == len(transcript)
    last_id = rows[-1].message_id if is_complete else batch[-1].id
    return Batch(
        conversation_id,
        subject,
        tuple(batch),
        tuple(row.message_id for row in rows if row.message_id <= last_id),
        count_current(conversation_id, after=last_id) > 0,
    )
