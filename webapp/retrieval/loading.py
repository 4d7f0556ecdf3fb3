"""Rows into passages: the one place that says what of a user is searched."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Row, Select, bindparam, false, select

from webapp.conversations.models import Conversation, Message
from webapp.database import db
from webapp.memories.models import Memory
from webapp.retrieval.models import ConversationChunk, MessageEmbedding, PassageVerdict
from webapp.retrieval.passages import Key, Passage
from webapp.retrieval.scope import NOBODY
from webapp.spaces.models import DocumentChunk, SpaceDocument

BLOCK = 500
"""Rows read at a time: a large user must not pass through memory as a whole."""
CHUNKS_ONLY = 2**31 - 1
"""Where a change of a conversation begins that none of its messages has to do with."""
FINISHED = ("complete", "stopped", "interrupted")
"""States of messages that say something; one that failed, or is being written, does not."""


@dataclass(slots=True)
class Block:
    """Passages with their vectors: (key, vector) by generation, which is the model's name and its width."""

    passages: list[Passage] = field(default_factory=list)
    vectors: dict[str, list[tuple[Key, NDArray[np.float32]]]] = field(default_factory=lambda: defaultdict(list))

    def put(self, passage: Passage, model: str | None, raw: bytes | None) -> None:
        """Take on a passage and, if it has one, its vector."""
        self.passages.append(passage)
        if raw and model:
            vector = np.frombuffer(raw, np.float32)
            self.vectors[generation(model, len(vector))].append((passage.key, vector))


def generation(model: str, width: int) -> str:
    """Vectors with the same generation may be compared."""
    return f"{model}/{width}"


def model_of(name: str) -> str:
    """The model of a generation."""
    return name.rpartition("/")[0]


def usable_memories() -> Select[*tuple[Any, ...]]:
    """Memories that may be found: neither closed, nor set aside, nor waiting for their user."""
    return select(Memory).where(
        Memory.valid_to.is_(None), Memory.is_archived == false(), Memory.needs_review == false()
    )


def searchable_messages() -> Select[*tuple[Any, ...]]:
    """Messages that may be found, joined to their conversation: current, finished, in nothing hidden or temporary."""
    return (
        select(Message)
        .join(Conversation, Conversation.conversation_id == Message.conversation_id)
        .where(
            Message.superseded_by_id.is_(None),
            Message.status.in_(FINISHED),
            Message.content != "",
            Conversation.deleted_at.is_(None),
            Conversation.is_temporary == false(),
        )
    )


def searchable_chunks() -> Select[*tuple[Any, ...]]:
    """Chunks that may be found, joined to their conversation."""
    return (
        select(ConversationChunk)
        .join(Conversation, Conversation.conversation_id == ConversationChunk.conversation_id)
        .where(Conversation.deleted_at.is_(None), Conversation.is_temporary == false())
    )


def load_user(user_id: int) -> Iterator[Block]:
    """Everything of their own that a user can find, block by block."""
    yield from _blocks(_memories(Memory.user_id == user_id), Memory.memory_id, _memory)
    yield from load_conversations(Conversation.user_id == user_id)


def load_space(user_id: int, space_id: int) -> Iterator[Block]:
    """What others share with a user in a space, and its documents, block by block."""
    shared = _memories(Memory.user_id != user_id, Memory.space_id == space_id, Memory.visibility == "shared")
    yield from _blocks(shared, Memory.memory_id, _memory)
    documents = select(
        DocumentChunk.document_chunk_id,
        DocumentChunk.content,
        DocumentChunk.space_id,
        DocumentChunk.document_id,
        SpaceDocument.created_at,
        DocumentChunk.embedding_model,
        DocumentChunk.embedding,
    ).join(SpaceDocument, SpaceDocument.document_id == DocumentChunk.document_id)
    yield from _blocks(documents.where(DocumentChunk.space_id == space_id), DocumentChunk.document_chunk_id, _document)


def load_memories(user_id: int, memory_ids: Collection[int] | None = None) -> Iterator[Block]:
    """The user's usable memories: those of these ids, or all."""
    statement = _memories(Memory.user_id == user_id)
    if memory_ids is not None:
        statement = statement.where(Memory.memory_id.in_(memory_ids))
    yield from _blocks(statement, Memory.memory_id, _memory, few=memory_ids is not None)


def load_conversations(*conditions: Any) -> Iterator[Block]:
    """Chunks and messages of the conversations that meet the conditions."""
    yield from _blocks(_chunks().where(*conditions), ConversationChunk.chunk_id, _chunk)
    yield from _blocks(_messages().where(*conditions), Message.message_id, _message)


def load_changed(user_id: int, tails: Mapping[int, int], with_chunks: Collection[int]) -> Iterator[Block]:
    """What changed in some of the user's conversations: messages, by conversation from an id on, and chunks.

    Two statements, however many conversations. Some messages before the ids may come along.
    """
    if with_chunks:
        where = {"user": user_id, "conversations": sorted(with_chunks)}
        yield _block(map(_chunk, db.session.execute(_changed_chunks(), where)))
    whole = [number for number, from_id in tails.items() if not from_id]
    ends = [number for number, from_id in tails.items() if 0 < from_id < CHUNKS_ONLY]
    for conversations in filter(None, (whole, ends)):
        where = {"user": user_id, "conversations": sorted(conversations), "from": min(map(tails.get, conversations))}
        yield _block(map(_message, db.session.execute(_changed_messages(), where)))


# To build a statement costs about as much as to send it: those of every reply are built once.
@cache
def _changed_chunks() -> Select[*tuple[Any, ...]]:
    return _chunks().where(*_changed()).order_by(ConversationChunk.chunk_id)


@cache
def _changed_messages() -> Select[*tuple[Any, ...]]:
    return _messages().where(*_changed(), Message.message_id >= bindparam("from")).order_by(Message.message_id)


def _changed() -> tuple[Any, ...]:
    numbers = bindparam("conversations", expanding=True)
    return Conversation.conversation_id.in_(numbers), Conversation.user_id == bindparam("user")


def _chunks() -> Select[*tuple[Any, ...]]:
    return searchable_chunks().with_only_columns(
        ConversationChunk.chunk_id,
        ConversationChunk.content,
        Conversation.user_id,
        Conversation.space_id,
        Conversation.conversation_id,
        ConversationChunk.created_at,
        ConversationChunk.embedding_model,
        ConversationChunk.embedding,
    )


def _messages() -> Select[*tuple[Any, ...]]:
    return (
        searchable_messages()
        .outerjoin(MessageEmbedding, MessageEmbedding.message_id == Message.message_id)
        .with_only_columns(
            Message.message_id,
            Message.content,
            Conversation.user_id,
            Conversation.space_id,
            Conversation.conversation_id,
            Message.created_at,
            MessageEmbedding.model,
            MessageEmbedding.embedding,
        )
    )


def load_verdicts(user_id: int) -> dict[Key, list[frozenset[str]]]:
    """The words of the questions for which the user called a passage not relevant, by passage."""
    found: dict[Key, list[frozenset[str]]] = defaultdict(list)
    for kind, passage_id, terms in db.session.execute(
        select(PassageVerdict.kind, PassageVerdict.passage_id, PassageVerdict.terms).where(
            PassageVerdict.user_id == user_id, PassageVerdict.verdict == "not_relevant"
        )
    ):
        found[kind, passage_id].append(frozenset(terms))
    return dict(found)


def _memories(*conditions: Any) -> Select[*tuple[Any, ...]]:
    return (
        usable_memories()
        .with_only_columns(
            Memory.memory_id,
            Memory.content,
            Memory.user_id,
            Memory.space_id,
            Memory.visibility,
            Memory.created_at,
            Memory.fact_value,
            Memory.embedding_model,
            Memory.embedding,
        )
        .where(*conditions)
    )


def _memory(row: Row[*tuple[Any, ...]]) -> tuple[Passage, str | None, bytes | None]:
    memory_id, content, owner, space_id, visibility, at, value, model, vector = row
    if value and value.casefold() not in content.casefold():
        content = f"{content} {value}"
    return Passage("memory", memory_id, content, owner, at, space_id, visibility == "shared"), model, vector


def _chunk(row: Row[*tuple[Any, ...]]) -> tuple[Passage, str | None, bytes | None]:
    chunk_id, content, owner, space_id, conversation_id, at, model, vector = row
    return Passage("chunk", chunk_id, content, owner, at, space_id, group_id=conversation_id), model, vector


def _message(row: Row[*tuple[Any, ...]]) -> tuple[Passage, str | None, bytes | None]:
    message_id, content, owner, space_id, conversation_id, at, model, vector = row
    return Passage("message", message_id, content, owner, at, space_id, group_id=conversation_id), model, vector


def _document(row: Row[*tuple[Any, ...]]) -> tuple[Passage, str | None, bytes | None]:
    chunk_id, content, space_id, document_id, at, model, vector = row
    passage = Passage("document", chunk_id, content, NOBODY, at, space_id, True, group_id=document_id)
    return passage, model, vector


def _blocks(statement: Select[*tuple[Any, ...]], key: Any, convert: Any, *, few: bool = False) -> Iterator[Block]:
    """The rows of a statement in the order of its key; at once where they are few.

    Else the keys alone first: to sort all rows with their texts and vectors, for every page anew, is slow, and more
    than the sort buffer of a database holds.
    """
    if few:
        yield _block(map(convert, db.session.execute(statement.order_by(key))))
        return
    keys = sorted(db.session.scalars(statement.with_only_columns(key)))
    for start in range(0, len(keys), BLOCK):
        rows = db.session.execute(statement.where(key.in_(keys[start : start + BLOCK])).order_by(key))
        yield _block(map(convert, rows))


def _block(found: Iterable[tuple[Passage, str | None, bytes | None]]) -> Block:
    block = Block()
    for passage, model, raw in found:
        block.put(passage, model, raw)
    return block
