"""Reading a whole conversation of a legacy, call by call, for facts about its person, at the user's request."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from flask import Flask
from sqlalchemy import select

from webapp.conversations.current_messages import before_unfinished, count_current, current
from webapp.conversations.models import Conversation, Message
from webapp.db.base import db, write_transaction
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
from webapp.legacies.fact_learning import Subject, extracts_facts, keep_facts, subject_of
from webapp.legacies.facts import legacy_of
from webapp.llm.errors import CutOffAnswer
from webapp.llm.structured import complete_items, readable_items
from webapp.memories.learning.later_domains import COUNTS, OnStart, Result, reader_of
from webapp.memories.learning.model_call import vectors_of
from webapp.memories.rules.evidence import has_substance
from webapp.memories.store.tombstones import readable_transcript
from webapp.prompts.transcript import TranscriptMessage
from webapp.providers.clients import completions
from webapp.text.canonical import plain_text

MAX_CALLS = 4
"""The most model calls in one run; a longer conversation continues in the next one."""
TEMPERATURE = 0.0


@dataclass(frozen=True, slots=True)
class Batch:
    """The next messages of a conversation to be read, `messages`; `ids` has the empty ones, too."""

    subject: Subject
    messages: tuple[TranscriptMessage, ...]
    ids: tuple[int, ...]
    has_more: bool

    @property
    def has_statements(self) -> bool:
        """Return whether the user says anything that could be a fact."""
        return any(item.role == "user" and has_substance(item.content, item.content) for item in self.messages)


def init_legacy_extraction(app: Flask) -> None:
    """Let "Extract memories" read conversations of legacies."""
    reader_of.put(app, lambda conversation: read_facts if legacy_of(conversation) is not None else None)


def read_facts(conversation_id: int, after: int, on_start: OnStart = None) -> Result:
    """Read a conversation for facts, after a message, up to `last_id`. Raises ModelError; earlier facts stay."""
    total = Result()
    for _ in range(MAX_CALLS):
        step = _step(conversation_id, after, on_start)
        on_start = None
        total, after = total.plus(step), step.last_id
        if not step.read or not step.has_more:
            break
    return total


def _step(conversation_id: int, after: int, on_start: OnStart) -> Result:
    """Make one call and store its effects; with fewer messages if the answer was cut off before any usable fact."""
    limit = CALL_MESSAGES
    while True:
        batch = _next_batch(conversation_id, after, limit)
        db.session.remove()
        if batch is None:
            return Result()
        if on_start is not None:
            on_start()
            on_start = None
        if not batch.has_statements:
            return Result(read=True, has_more=batch.has_more, last_id=batch.ids[-1])
        try:
            items, last_id = _ask(batch)
        except CutOffAnswer:
            if len(batch.messages) == 1:
                return Result(read=True, has_more=batch.has_more, last_id=batch.ids[-1], calls=1, unreadable=1)
            limit = len(batch.messages) // 2
            continue
        has_more = batch.has_more or last_id != batch.ids[-1]
        with suppress(OutOfDate):
            return replace(_keep(conversation_id, batch, items), has_more=has_more, last_id=last_id, calls=1)


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


def _keep(conversation_id: int, batch: Batch, items: Sequence[object]) -> Result:
    """Ground and store the facts. Raises OutOfDate if the messages have changed meanwhile, ModelError."""
    facts = readable_items(LegacyFact, items)
    vectors = vectors_of(plain_text(fact.content) for fact in facts)
    with write_transaction():
        conversation = db.session.get(Conversation, conversation_id, with_for_update=True, populate_existing=True)
        if conversation is None or conversation.space_id != batch.subject.space_id or not extracts_facts(conversation):
            return Result()
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
        subject,
        tuple(batch),
        tuple(row.message_id for row in rows if row.message_id <= last_id),
        count_current(conversation_id, after=last_id) > 0,
    )
