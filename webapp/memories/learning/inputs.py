"""The input of an extraction: the new messages of a conversation, and the memories that they may be about."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from sqlalchemy import false, select

from webapp.accounts.service import time_zone_of
from webapp.conversations import titles
from webapp.conversations.current_messages import before_unfinished, count_current, current
from webapp.conversations.models import Conversation, Message
from webapp.conversations.tool_records import outside_texts
from webapp.db.base import db
from webapp.db.index_hints import use_index
from webapp.llm.errors import ModelError
from webapp.llm.structured import Part, instructions_of
from webapp.memories.learning import journey_points
from webapp.memories.learning.later_domains import guide
from webapp.memories.learning.prompt import ConversationLine, ExtractionCall, build_extraction
from webapp.memories.models import Memory
from webapp.memories.prompt.conversation_memory import is_extraction_on
from webapp.memories.prompt.profile import profile_values
from webapp.memories.rules import statements
from webapp.memories.rules.evidence import has_substance
from webapp.memories.rules.state import KnownMemory
from webapp.memories.store import writing
from webapp.memories.store.tombstones import tombstone_set, watch
from webapp.prompts import service as prompts
from webapp.providers.clients import embedder

CONTEXT_MESSAGES = 6
MAX_LINES = 400
SHOW_ALL_LIMIT = 40
"""Up to here all of a user's memories are shown; beyond, those nearest to what was said, which takes an embedding."""
RELATED_LIMIT = 30


@dataclass(frozen=True)
class ExtractionInput:
    """One extraction call ready to be made, and where the watermark was."""

    conversation_id: int
    user_id: int
    space_id: int | None
    watermark: int | None
    call: ExtractionCall
    has_substance: bool
    wants_title: bool
    first_words: str
    still_holds: Callable[[], bool]
    points: tuple[int, ...] = ()
    parts: tuple[Part, ...] = ()


def read(conversation_id: int, after: int | None = None, limit: int | None = None) -> ExtractionInput | None:
    """Return what to ask about some `limit` user messages after the watermark, or a message; None if nothing is to be
    done.

    Ends with no transaction open.
    """
    conversation = db.session.get(Conversation, conversation_id, populate_existing=True)
    if conversation is None or not is_extraction_on(conversation):
        return None
    user_id, space_id, watermark = conversation.user_id, conversation.space_id, conversation.extracted_through
    zone, still_holds = time_zone_of(user_id), watch(user_id)
    lines = _lines(conversation, after if after is not None else watermark or 0)
    wants_title = conversation.title_source == "none" and any(line.role == "assistant" for line in lines)
    first = next((line.text for line in lines if line.role == "user"), "")
    user_lines = [line for line in lines if line.is_new and line.role == "user"]
    has_words = any(has_substance(line.text, line.text) for line in user_lines)
    profile = profile_values(user_id) if has_words and space_id is None else {}
    new_ids = [line.message_id for line in lines if line.is_new]
    related = _related_memories(user_id, space_id, new_ids, user_lines) if has_words else []
    points = guide().open_points(conversation) if user_lines else ()
    parts = [Part(statements.FIELD, {}, prompts.active("extraction").text)]
    if points:
        parts.append(Part(journey_points.FIELD, journey_points.points_schema(), prompts.active("points").text))
    if wants_title:
        parts.append(titles.part(prompts.active("titles").text))
    db.session.rollback()
    call = build_extraction(
        lines, related, profile, points, instructions=instructions_of(parts), limit=limit, zone=zone
    )
    numbers = [source.number for source in call.sources]
    parts[0] = replace(parts[0], schema=statements.statements_schema(numbers, list(call.numbered)))
    return ExtractionInput(
        conversation_id,
        user_id,
        space_id,
        watermark,
        call,
        has_words or bool(points),  # in a guided conversation a bare "no" is an answer
        wants_title,
        first,
        still_holds,
        tuple(point.key for point in points[: call.points]),
        tuple(parts),
    )


def batches(conversation_id: int, after: int | None) -> Iterator[ExtractionInput]:
    """Yield what to ask about next and, while answers are cut off at once, half of the messages, down to one."""
    limit: int | None = None
    while limit != 0 and (batch := read(conversation_id, after, limit)) is not None:
        db.session.remove()
        yield batch
        limit = len({source.message_id for source in batch.call.sources}) // 2
    db.session.remove()


def has_newer(conversation: Conversation, watermark: int) -> bool:
    """Return whether the user said something in the conversation after a message."""
    return count_current(conversation.conversation_id, "user", after=watermark) > 0


def _lines(conversation: Conversation, after: int) -> list[ConversationLine]:
    """Return the messages after one, with a few before it, without those waiting for a reply."""
    redact = tombstone_set(conversation.user_id).without_quotes
    messages = select(Message).where(current(conversation.conversation_id))
    new = db.session.scalars(
        messages.where(Message.message_id > after).order_by(Message.message_id).limit(MAX_LINES)
    ).all()
    before = db.session.scalars(
        messages.where(Message.message_id <= after).order_by(Message.message_id.desc()).limit(CONTEXT_MESSAGES)
    ).all()
    return [
        ConversationLine(
            row.message_id,
            row.role,
            row.content,
            row.said_at,
            row.message_id > after,
            row.provenance,
            tuple(outside_texts(row.tool_calls)),
            redact,
        )
        for row in [*reversed(before), *before_unfinished(new)]
        if row.content.strip()
    ]


def _related_memories(
    user_id: int, space_id: int | None, message_ids: Sequence[int], user_lines: Sequence[ConversationLine]
) -> list[KnownMemory]:
    """Return open memories that the messages may be about: those resting on them, the nearest, the important ones."""
    ids = sorted(writing.memories_from_messages(user_id, space_id, message_ids))
    open_ones = select(Memory.memory_id).where(
        *writing.scope_of(user_id, space_id), Memory.is_archived == false(), Memory.is_closed == false()
    )
    latest = open_ones.order_by(Memory.updated_at.desc(), Memory.memory_id.desc()).limit(SHOW_ALL_LIMIT + 1)
    # A space has few of them compared to the rest of the user's.
    newest = list(db.session.scalars(use_index(latest, Memory, f"ix_memories_{'space' if space_id else 'listing'}")))
    if len(newest) <= SHOW_ALL_LIMIT:
        ids += newest
    else:
        client = embedder()
        db.session.remove()
        with suppress(ModelError):
            vectors = client.embed_passages([line.text[:2_000] for line in user_lines[-20:]])
            ids += writing.find_nearest(user_id, space_id, client.model, list(vectors), RELATED_LIMIT)
        ids += writing.find_most_important(user_id, space_id, RELATED_LIMIT)
    order = {memory_id: place for place, memory_id in reversed(list(enumerate(ids)))}
    memories = [memory for memory in writing.load_known(list(order)) if memory.is_open and not memory.is_archived]
    return sorted(memories, key=lambda memory: order[memory.ref])
