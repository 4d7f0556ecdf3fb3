"""Summaries of summaries, made at night: however long a conversation is, its prompts keep all of it in some form.

An overview of a level stands for BATCH chunks below, if there is no room for them.
"""

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import aliased

from webapp.conversations.models import Conversation
from webapp.db.base import db, write_transaction
from webapp.errors import OutOfDate
from webapp.i18n.dates import full_date
from webapp.llm.errors import CutOffAnswer, MalformedOutput
from webapp.memories.store.tombstones import watch
from webapp.prompts import service as prompts
from webapp.prompts.transcript import TranscriptMessage
from webapp.providers.clients import completions
from webapp.retrieval.models import ConversationChunk
from webapp.summaries.prompt import (
    NAME,
    SUMMARY_CHARS,
    ConversationSummary,
    LegacySummary,
    answer_tokens,
    build_messages,
    parse_cut_off,
    restore_details,
    tidy,
)

log = logging.getLogger(__name__)

BATCH = 10
"""The number of chunks that one overview stands for."""
MIN_CHUNKS = BATCH + 5
"""An overview is due once this many chunks of a level have none."""
TASK = """

Here the messages are summaries of parts of one long conversation, oldest first. Give one summary of all of them, in \
at most 120 words: what a person would still want to know later. Keep names, numbers, dates and decisions."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The chunks that an overview would stand for, oldest first, and whether it may still be stored."""

    space_id: int | None
    chunks: Sequence[ConversationChunk]
    still_holds: Callable[[], bool]


def make_overview(conversation_id: int) -> bool:
    """Make a conversation's due overview, lowest level first, by one call; return whether it did. Raises ModelError."""
    parts = _due_parts(conversation_id)
    instructions = prompts.active("summaries").text
    db.session.remove()
    if parts is None:
        return False
    messages = [
        TranscriptMessage(row.chunk_id, "user", f"({full_date(row.created_at)}) {row.content}", row.created_at)
        for row in parts.chunks
    ]
    answer, model = ask(messages, "", instructions + TASK, with_facts=False)
    with suppress(OutOfDate), write_transaction():
        return _store(conversation_id, parts, answer.summary, model)
    return False


def conversations_awaiting_overview() -> Sequence[int]:
    rows = db.session.execute(
        select(ConversationChunk.conversation_id)
        .join(Conversation, Conversation.conversation_id == ConversationChunk.conversation_id)
        .where(Conversation.deleted_at.is_(None), Conversation.is_temporary.is_(False), _has_no_overview())
        .group_by(ConversationChunk.conversation_id, ConversationChunk.level)
        .having(func.count() >= MIN_CHUNKS)
        .limit(500)
    )
    return list(dict.fromkeys(row.conversation_id for row in rows))


def _due_parts(conversation_id: int) -> Parts | None:
    conversation = db.session.get(Conversation, conversation_id, populate_existing=True)
    if conversation is None or conversation.deleted_at is not None:
        return None
    still_holds = watch(conversation.user_id)
    rows = db.session.scalars(
        select(ConversationChunk)
        .where(ConversationChunk.conversation_id == conversation_id, _has_no_overview())
        .order_by(ConversationChunk.level, ConversationChunk.message_range_start)
        .execution_options(populate_existing=True)
    ).all()
    for level in sorted({row.level for row in rows}):
        rows_of_level = [row for row in rows if row.level == level]
        if len(rows_of_level) >= MIN_CHUNKS:
            return Parts(conversation.space_id, rows_of_level[:BATCH], still_holds)
    return None


def _has_no_overview() -> ColumnElement[bool]:
    """Return the condition that no overview of the next level stands for a chunk."""
    overview = aliased(ConversationChunk)
    return ~(
        select(overview.chunk_id)
        .where(
            overview.conversation_id == ConversationChunk.conversation_id,
            overview.level == ConversationChunk.level + 1,
            overview.message_range_start <= ConversationChunk.message_range_start,
            overview.message_range_end >= ConversationChunk.message_range_end,
        )
        .exists()
    )


def _store(conversation_id: int, parts: Parts, text: str, model: str) -> bool:
    """Insert an overview, unless what it stands for has changed in the meantime, or it is already there."""
    conversation = db.session.get(Conversation, conversation_id, with_for_update=True, populate_existing=True)
    if conversation is None or conversation.space_id != parts.space_id or not parts.still_holds():
        raise OutOfDate
    chunks = parts.chunks
    now = db.session.execute(
        select(ConversationChunk.chunk_id, ConversationChunk.content)
        .where(ConversationChunk.chunk_id.in_([row.chunk_id for row in chunks]), _has_no_overview())
        .order_by(ConversationChunk.message_range_start)
    ).all()
    if [tuple(row) for row in now] != [(row.chunk_id, row.content) for row in chunks]:
        log.info("overview not kept: its parts changed", extra={"conversation_id": conversation_id})
        raise OutOfDate
    db.session.add(
        ConversationChunk(
            conversation_id=conversation_id,
            user_id=conversation.user_id,
            space_id=parts.space_id,
            content=text,
            level=chunks[0].level + 1,
            message_range_start=chunks[0].message_range_start,
            message_range_end=chunks[-1].message_range_end,
            model=model[:200],
        )
    )
    return True


TEMPERATURE = 0.0
RESTORE_SHARE = 3
"""The share of what the user said that restored words may take up is one in this many."""


def ask(
    transcript: Sequence[TranscriptMessage], earlier: str, instructions: str, *, with_facts: bool
) -> tuple[ConversationSummary, str]:
    """Return a summary, in a legacy with facts, and the model's name; no connection may be held. Raises ModelError."""
    messages = build_messages(transcript, earlier, instructions=instructions)
    shape = LegacySummary if with_facts else ConversationSummary
    model = ""
    answer: ConversationSummary
    try:
        answer, completion = completions().complete_structured(
            messages, shape, NAME, max_tokens=answer_tokens(transcript, with_facts), temperature=TEMPERATURE
        )
        model = completion.model
    except CutOffAnswer as cut:
        rest = parse_cut_off(cut.text, with_facts)
        if rest is None:
            raise
        answer = rest
    text = tidy(answer.summary)
    if not text:
        raise MalformedOutput
    texts = [item.content for item in transcript if item.role == "user"]
    # A summary must stay shorter than what it covers, however much has to be restored.
    room = min(len(text) + sum(map(len, texts)) // RESTORE_SHARE, sum(len(item.content) for item in transcript))
    return answer.model_copy(update={"summary": restore_details(text, texts, min(SUMMARY_CHARS, room))}), model
