"""Reading a whole conversation of a legacy, call by call, for facts about its person, at the user's request."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from flask import Flask
from sqlalchemy import select

from webapp.conversations.current_messages import count_current, current
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
from webapp.legacies.fact_learning import extracts_facts, keep_facts, list_facts, vectors_of
from webapp.legacies.fact_list import KnownFacts
from webapp.legacies.facts import legacy_of
from webapp.llm.errors import CutOffAnswer
from webapp.llm.structured import complete_items, readable_items
from webapp.memories.learning.later_domains import COUNTS, OnStart, Result, reader_of
from webapp.memories.rules.evidence import has_substance
from webapp.memories.store.tombstones import tombstone_set
from webapp.prompts.transcript import TranscriptMessage
from webapp.providers.clients import completions

MAX_CALLS = 4
"""The most model calls in one run; a longer conversation continues in the next one."""
TEMPERATURE = 0.0


@dataclass(frozen=True, slots=True)
class Batch:
    """The next messages of a conversation to be read, `messages`; `ids` has the empty ones, too."""

    user_id: int
    space_id: int
    name: str
    messages: tuple[TranscriptMessage, ...]
    ids: tuple[int, ...]
    facts: KnownFacts
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
    messages = build_messages(batch.messages, batch.name, batch.facts.text)
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
    vectors = vectors_of(facts)
    with write_transaction():
        conversation = db.session.get(Conversation, conversation_id, with_for_update=True, populate_existing=True)
        if conversation is None or conversation.space_id != batch.space_id or not extracts_facts(conversation):
            return Result()
        statement = select(Message.message_id).where(current(conversation_id), Message.message_id.in_(batch.ids))
        if len(db.session.scalars(statement).all()) != len(batch.ids):
            raise OutOfDate
        outcome = keep_facts(
            batch.user_id,
            batch.space_id,
            conversation_id,
            batch.name,
            facts,
            [item.id for item in batch.messages],
            vectors,
            batch.facts,
            cause="extraction",
        )
    counts = {name: outcome.counts.get(name, 0) for name in COUNTS} | {"malformed": len(items) - len(facts)}
    return Result(outcome.change_set_id, counts, dict(outcome.reasons), read=True)


def _next_batch(conversation_id: int, after: int, limit: int) -> Batch | None:
    """Return what to read next; None at the end, with memory off, or before an unfinished reply."""
    conversation = db.session.get(Conversation, conversation_id, populate_existing=True)
    if conversation is None or conversation.deleted_at is not None or not extracts_facts(conversation):
        return None
    legacy = legacy_of(conversation)
    rows = db.session.scalars(
        select(Message)
        .where(current(conversation_id), Message.message_id > after)
        .order_by(Message.message_id)
        .limit(CALL_MESSAGES)
        .execution_options(populate_existing=True)
    ).all()
    streaming = next((row for row in rows if row.status == "streaming"), None)
    if streaming is not None:
        rows = [row for row in rows if row.message_id < (streaming.reply_to_id or streaming.message_id)]
    if legacy is None or not rows:
        return None
    tombstones = tombstone_set(conversation.user_id)
    transcript = [
        TranscriptMessage(
            row.message_id, row.role, tombstones.without_quotes(row.content, row.provenance), row.created_at
        )
        for row in rows
        if row.content.strip()
    ]
    batch = first_batch(transcript, limit)
    is_complete = len(batch) == len(transcript)
    last_id = rows[-1].message_id if is_complete else batch[-1].id
    return Batch(
        conversation.user_id,
        legacy.space_id,
        legacy.name,
        tuple(batch),
        tuple(row.message_id for row in rows if row.message_id <= last_id),
        list_facts(conversation.user_id, legacy.space_id),
        count_current(conversation_id, after=last_id) > 0,
    )
