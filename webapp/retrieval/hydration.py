"""Reads what was found from the tables by id: whatever an index says, only what exists now and may be seen."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from itertools import chain
from typing import Any

from sqlalchemy import BindParameter, Select, String, and_, bindparam, exists, select, true, type_coerce

from webapp.conversations.models import Conversation, Message
from webapp.db.base import db, now, read_columns
from webapp.memories.models import Memory
from webapp.memories.rules.policy import retention
from webapp.retrieval.models import ConversationChunk
from webapp.retrieval.passage_rows import searchable_chunks, searchable_messages, usable_memories
from webapp.retrieval.passages import NO_OWNER, FoundPassage, Hit, Key, Scope, may_see
from webapp.retrieval.weights import ORDINARY
from webapp.spaces.chunks import is_picture, shows_page
from webapp.spaces.members import names_of
from webapp.spaces.models import DocumentChunk, SpaceDocument
from webapp.text.provenance import blank_out, forgotten_in

_Read = tuple[int, int | None, bool, FoundPassage]
"""A passage's owner, its space, whether it is shared there, and the passage."""


def load_hits(hits: Sequence[Hit], scope: Scope) -> list[FoundPassage]:
    """Return the hits' visible passages, best first, weighted by the worth of memories; one query per kind."""
    keys = [hit.key for hit in hits]
    rows = load_passages(keys, scope)
    passages = []
    for place, (key, hit) in enumerate(zip(keys, hits, strict=True)):
        row = rows.get(key)
        if row is not None and row.content[hit.start : hit.end or None].strip():
            factor = row.extra.get("worth", ORDINARY) / ORDINARY
            value = hit.score * factor if hit.score > 0 else hit.score
            # To a thousandth, like the ranking itself: among equals, the newest stays first.
            passages.append((-round(value, 3), place, row.piece(hit, value)))
    return [item for _, _, item in sorted(passages)]


def load_passages(keys: Iterable[Key], scope: Scope) -> dict[Key, FoundPassage]:
    """Return passages by kind and id as they are now, without those that are hidden or out of scope."""
    by_kind: dict[str, list[int]] = {}
    for kind, number in keys:
        by_kind.setdefault(kind, []).append(number)
    read = (_READERS[kind](ids) for kind, ids in by_kind.items() if kind in _READERS)
    return {item.key: item for item in _as_visible(chain.from_iterable(read), scope)}


def _as_visible(read: Iterable[_Read], scope: Scope) -> list[FoundPassage]:
    """Return passages as the reader may see them: shared ones with their owner's name, without the conversation."""
    seen = [(owner, item) for owner, space_id, shared, item in read if may_see(scope, owner, space_id, shared)]
    other_ids = {owner for owner, _ in seen} - {scope.user_id, NO_OWNER}
    names = names_of(other_ids) if other_ids else {}
    for owner, item in seen:
        if owner in other_ids:
            item.conversation_id = item.message_id = None
            item.extra["by"] = names.get(owner, "somebody")
    return [item for _, item in seen]


def load_memory_hits(statement: Select[*tuple[Any, ...]], scope: Scope, reason: str) -> list[FoundPassage]:
    """Usable memories that a statement selects, best first."""
    passages = [
        replace(item, score=item.extra["worth"] / ORDINARY, reason=reason)
        for item in _as_visible(_as_memories(read_columns(_of_memories(statement))), scope)
    ]
    return sorted(passages, key=lambda item: (-item.score, item.id))


def _ids() -> BindParameter[int]:
    return bindparam("ids", expanding=True)


def _memories(ids: Sequence[int]) -> Iterable[_Read]:
    return _as_memories(read_columns(_memories_by_id(), {"ids": ids}).all())


# Building a statement costs about as much as sending it: those of every reply are built once.
@cache
def _memories_by_id() -> Select[*tuple[Any, ...]]:
    return _of_memories(usable_memories().where(Memory.memory_id.in_(_ids())))


def _of_memories(statement: Select[*tuple[Any, ...]]) -> Select[*tuple[Any, ...]]:
    return statement.with_only_columns(
        Memory.memory_id,
        Memory.content,
        Memory.user_id,
        Memory.space_id,
        type_coerce(Memory.visibility, String),  # an Enum's values would be looked up one by one
        Memory.created_at,
        Memory.updated_at,
        Memory.last_accessed_at,
        Memory.confidence,
        Memory.importance,
        Memory.is_pinned,
        Memory.revision,
        Memory.source_conversation_id,
        Memory.source_message_id,
        type_coerce(Memory.memory_type, String),
        Memory.fact_key,
    )


def _as_memories(rows: Iterable[Any]) -> Iterable[_Read]:
    moment = now()
    for number, text, owner, space, visibility, created_at, updated_at, last_used_at, sure, weight, *rest in rows:
        is_pinned, revision, conversation_id, message_id, memory_type, fact_key = rest
        last_sign = max(filter(None, (last_used_at, updated_at, created_at)))
        value = retention(1.0 if sure is None else sure, weight, last_sign, moment, is_pinned=bool(is_pinned))
        extra = {"worth": value, "memory_type": memory_type, "fact_key": fact_key}
        item = FoundPassage(
            "memory", number, text, created_at, 0.0, "", revision, conversation_id, message_id, extra=extra
        )
        yield owner, space, visibility == "shared", item


@cache
def _messages_by_id() -> Select[*tuple[Any, ...]]:
    return (
        searchable_messages()
        .where(Message.message_id.in_(_ids()))
        .with_only_columns(
            Message.message_id,
            Message.content,
            Message.spans,
            Message.created_at,
            type_coerce(Message.role, String),
            Conversation.user_id,
            Conversation.conversation_id,
            Conversation.title,
            Conversation.space_id,
            Message.is_tainted,
        )
    )


def _messages(ids: Sequence[int]) -> Iterable[_Read]:
    """Yield messages, with blanks in place of what was forgotten: nothing is told from it again."""
    for number, text, spans, created_at, role, owner, *place in read_columns(_messages_by_id(), {"ids": ids}).all():
        conversation_id, title, space, is_tainted = place
        text = blank_out(text, forgotten_in(spans))
        item = FoundPassage("message", number, text, created_at, 0.0, "", None, conversation_id, number, title, role)
        item.extra["is_tainted"] = is_tainted
        yield owner, space, False, item


_is_summed_up = and_(
    Message.conversation_id == ConversationChunk.conversation_id,
    Message.superseded_by_id.is_(None),
    Message.message_id.between(ConversationChunk.message_range_start, ConversationChunk.message_range_end),
)


@cache
def _chunks_by_id() -> Select[*tuple[Any, ...]]:
    return (
        searchable_chunks()
        .where(ConversationChunk.chunk_id.in_(_ids()))
        .with_only_columns(
            ConversationChunk.chunk_id,
            ConversationChunk.content,
            ConversationChunk.created_at,
            Conversation.space_id,
            ConversationChunk.message_range_start,
            Conversation.user_id,
            Conversation.conversation_id,
            Conversation.title,
            exists().where(_is_summed_up, Message.is_tainted == true()),
        )
    )


def _chunks(ids: Sequence[int]) -> Iterable[_Read]:
    rows = read_columns(_chunks_by_id(), {"ids": ids}).all()
    for number, text, created_at, space, first_id, owner, *place, is_tainted in rows:
        item = FoundPassage("chunk", number, text, created_at, 0.0, "", None, place[0], first_id, place[1])
        item.extra["is_tainted"] = is_tainted
        yield owner, space, False, item


def _documents(ids: Sequence[int]) -> Iterable[_Read]:
    rows = db.session.execute(
        select(
            DocumentChunk.document_chunk_id,
            DocumentChunk.content,
            DocumentChunk.space_id,
            DocumentChunk.document_id,
            DocumentChunk.page,
            SpaceDocument.title,
            SpaceDocument.created_at,
            SpaceDocument.digest,
            SpaceDocument.media_type,
            SpaceDocument.size,
            SpaceDocument.pages,
        )
        .join(SpaceDocument, SpaceDocument.document_id == DocumentChunk.document_id)
        .where(DocumentChunk.document_chunk_id.in_(ids))
    )
    for row in rows:
        title = f"{row.title}, page {row.page}" if row.page else row.title
        extra = {"document_id": row.document_id, "space_id": row.space_id} | _picture(row)
        item = FoundPassage("document", row.document_chunk_id, row.content, row.created_at, title=title, extra=extra)
        yield NO_OWNER, row.space_id, True, item


def _picture(row: Any) -> dict[str, Any]:
    """Return title, content, kind and pages of a document that is a picture, has such pages, or of one page."""
    if row.digest and is_picture(row.size, row.pages):
        return {"picture": (row.title, row.digest, row.media_type, range(1, row.pages + 1))}
    if row.digest and shows_page(row.content, row.page):
        return {"picture": (row.title, row.digest, row.media_type, range(row.page, row.page + 1))}
    return {}


_READERS = {"memory": _memories, "message": _messages, "chunk": _chunks, "document": _documents}
