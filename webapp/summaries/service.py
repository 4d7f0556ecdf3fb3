"""Rolling summaries: when too many messages are open, the oldest become a chunk, by one model call, all or nothing."""

import logging
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate

import numpy as np
from sqlalchemy import Row, delete, func, select, true

from webapp.conversations.current_messages import count_current, current, with_last_answers
from webapp.conversations.messages import messages_lost
from webapp.conversations.models import Conversation, Message
from webapp.conversations.signals import messages_changed
from webapp.db.base import add_row, db, get_or_raise, reads_only, write_transaction
from webapp.errors import OutOfDate
from webapp.extensions import app_settings
from webapp.legacies.extraction_prompt import LegacyFact, fact_task
from webapp.legacies.fact_learning import Subject, extracts_facts, keep_facts, subject_of
from webapp.memories.learning.model_call import vectors_of
from webapp.memories.store.tombstones import readable_transcript, watch
from webapp.memories.store.writing import Vectors
from webapp.prompts import service as prompts
from webapp.prompts.transcript import TranscriptMessage
from webapp.providers.clients import embedder
from webapp.retrieval import changes
from webapp.retrieval.changes import Change
from webapp.retrieval.models import ConversationChunk
from webapp.retrieval.passage_rows import CHUNKS_ONLY, FINISHED
from webapp.summaries.overviews import ask
from webapp.summaries.prompt import LegacySummary
from webapp.text.canonical import plain_text
from webapp.text.tokens import estimate_tokens

log = logging.getLogger(__name__)


MIN_BATCH = 4
"""A summary takes the place of a turn's extraction; standing for two turns, it leaves every other one to that."""
FEW_OPEN = MIN_BATCH + 1
"""The last exchange stays open."""


@dataclass(frozen=True, slots=True)
class SummaryInput:
    """The part that a summary will cover: what was said in it, as stored by message, and the summary before it."""

    user_id: int
    is_temporary: bool
    messages: tuple[TranscriptMessage, ...]
    earlier: str
    stored: Mapping[int, str]
    still_holds: Callable[[], bool]
    space_id: int | None = None
    subject: Subject | None = None


@dataclass(frozen=True, slots=True)
class ClosedChunk:
    """A chunk that was made; `has_more` tells whether the next one is due already."""

    chunk_id: int
    start: int
    end: int
    has_more: bool


def closed_through(conversation_id: int) -> int:
    """Return the last message covered by a chunk; 0 when there is none. All later ones are open."""
    return (
        db.session.scalar(
            select(func.max(ConversationChunk.message_range_end)).where(
                ConversationChunk.conversation_id == conversation_id
            )
        )
        or 0
    )


def chunks_of(conversation_id: int) -> Sequence[Row[int, str, int, int, datetime, int]]:
    """Return a conversation's chunks, oldest first: id, content, first and last message, time, level."""
    return db.session.execute(
        select(
            ConversationChunk.chunk_id,
            ConversationChunk.content,
            ConversationChunk.message_range_start,
            ConversationChunk.message_range_end,
            ConversationChunk.created_at,
            ConversationChunk.level,
        )
        .where(ConversationChunk.conversation_id == conversation_id)
        .order_by(ConversationChunk.message_range_start, ConversationChunk.level)
    ).all()


def is_due(conversation_id: int, fills_prompt: bool) -> bool:
    """Return whether more messages are open than the context should hold verbatim: few, if they fill a prompt."""
    open_count = count_current(conversation_id, after=closed_through(conversation_id))
    return open_count > (FEW_OPEN if fills_prompt else app_settings().summary_threshold)


def summarise(conversation_id: int) -> ClosedChunk | None:
    """Summarise the oldest open messages, if too many are; None when there was nothing to do. Raises ModelError.

    One model call, or two if something was forgotten; the embedder is tried before anything is paid for.
    """
    with reads_only():
        with suppress(OutOfDate):
            return _summarise(conversation_id)
        return _summarise(conversation_id)


def _summarise(conversation_id: int) -> ClosedChunk | None:
    chunk = _next_input(conversation_id)
    instructions = prompts.active("summaries").text
    db.session.remove()
    if chunk is None:
        return None
    client = embedder()
    if not chunk.is_temporary:
        client.embed_passages([chunk.messages[0].content[:200] if chunk.messages else "summary"])
    if chunk.subject:
        instructions += fact_task(chunk.subject.name) + chunk.subject.facts.text
    answer, model = ask(chunk.messages, chunk.earlier, instructions, with_facts=chunk.subject is not None)
    text = answer.summary
    vector = None if chunk.is_temporary else client.embed_passages([text])[0]
    facts = answer.readable if isinstance(answer, LegacySummary) else []
    vectors = vectors_of(plain_text(fact.content) for fact in facts)
    with write_transaction():
        return _store(conversation_id, chunk, text, vector, client.model, model, facts, vectors)


def conversations_awaiting_summary() -> Sequence[int]:
    return db.session.scalars(
        select(Conversation.conversation_id)
        .where(Conversation.summary_due == true(), Conversation.deleted_at.is_(None))
        .order_by(Conversation.updated_at.desc())
    ).all()


@messages_changed.connect
def _messages_changed(_sender: object, *, conversation: Conversation, first_id: int) -> None:
    """Drop chunks over messages that changed, in the same transaction: prompts show those verbatim again."""
    db.session.execute(
        delete(ConversationChunk).where(
            ConversationChunk.conversation_id == conversation.conversation_id,
            ConversationChunk.message_range_end >= first_id,
        )
    )
    conversation.summary_due = is_due(conversation.conversation_id, fills_prompt=False)


def _next_input(conversation_id: int) -> SummaryInput | None:
    conversation = db.session.get(Conversation, conversation_id, populate_existing=True)
    if conversation is None or conversation.deleted_at is not None:
        return None
    # What fills a prompt is known at the end of a turn only, which has noted it.
    if not is_due(conversation_id, conversation.summary_due):
        if conversation.summary_due:
            with write_transaction():
                row = get_or_raise(Conversation, conversation_id, lock=True)
                row.summary_due = is_due(conversation_id, fills_prompt=False)
        return None
    still_holds = watch(conversation.user_id)
    settings = app_settings()
    rows = _batch(_open_rows(conversation_id, max(settings.summary_threshold + 1, settings.summary_batch)))
    if any(row.status == "streaming" for row in rows):
        return None  # this is asked again when that reply ends
    before = _newest_summary(conversation_id)
    said = [row for row in with_last_answers(rows) if row.role == "user" or row.status in FINISHED]
    return SummaryInput(
        conversation.user_id,
        conversation.is_temporary,
        tuple(readable_transcript(conversation.user_id, said)),
        before,
        {row.message_id: row.content for row in rows},
        still_holds,
        conversation.space_id,
        subject_of(conversation),
    )


def _batch(rows: Sequence[Message]) -> Sequence[Message]:
    """Return the oldest of the open messages, which a summary is to cover: of a few that fill a prompt about half."""
    settings = app_settings()
    if len(rows) > settings.summary_threshold:
        return rows[: settings.summary_batch]
    sizes = list(accumulate(estimate_tokens(row.content) for row in rows))
    half = bisect_left(sizes, sizes[-1] // 2) + 1
    count = min(max(half, MIN_BATCH), len(rows) - 2)
    end = next((place for place in range(count, len(rows)) if rows[place].role == "user"), count)
    return rows[: min(end, settings.summary_batch)]


def _newest_summary(conversation_id: int) -> str:
    newest = (
        select(ConversationChunk.content)
        .where(ConversationChunk.conversation_id == conversation_id, ConversationChunk.level == 0)
        .order_by(ConversationChunk.message_range_end.desc())
        .limit(1)
    )
    return db.session.scalar(newest) or ""


def _open_rows(conversation_id: int, limit: int) -> Sequence[Message]:
    return db.session.scalars(
        select(Message)
        .where(current(conversation_id), Message.message_id > closed_through(conversation_id))
        .order_by(Message.message_id)
        .limit(limit)
        .execution_options(populate_existing=True)
    ).all()


def _store(
    conversation_id: int,
    source: SummaryInput,
    text: str,
    vector: np.ndarray | None,
    embedding_model: str,
    model: str,
    facts: Sequence[LegacyFact],
    vectors: Vectors,
) -> ClosedChunk | None:
    """Insert the chunk, unless its messages changed while the model was writing, or it is already there."""
    conversation = db.session.get(Conversation, conversation_id, with_for_update=True, populate_existing=True)
    if conversation is None or conversation.space_id != source.space_id:
        return None
    ids = list(source.stored)
    if [row.message_id for row in _open_rows(conversation_id, len(ids))] != ids:
        log.info("summary not kept: the messages changed", extra={"conversation_id": conversation_id})
        return None
    is_unchanged = _newest_summary(conversation_id) == source.earlier
    if not source.still_holds() or messages_lost(source.stored) or not is_unchanged:
        log.info("summary not kept: what it tells was forgotten", extra={"conversation_id": conversation_id})
        raise OutOfDate
    chunk = ConversationChunk(
        conversation_id=conversation_id,
        user_id=source.user_id,
        space_id=source.space_id,
        content=text,
        embedding=np.asarray(vector, np.float32).tobytes() if vector is not None else None,
        embedding_model=embedding_model if vector is not None else None,
        message_range_start=ids[0],
        message_range_end=ids[-1],
        model=model[:200],
    )
    add_row(chunk)
    if source.subject is not None and extracts_facts(conversation):
        keep_facts(conversation_id, source.subject, facts, [item.id for item in source.messages], vectors)
    has_more = is_due(conversation_id, fills_prompt=False)
    conversation.summary_due = has_more
    if not conversation.is_temporary:
        changes.note(source.user_id, Change("conversation", conversation_id, CHUNKS_ONLY))
    return ClosedChunk(chunk.chunk_id, ids[0], ids[-1], has_more)
