"""Rows into passages: the one place that defines what is searched for a user."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from sqlalchemy import BindParameter, Row, Select, bindparam, case, false, func, select

from webapp.conversations.models import Conversation, Message
from webapp.db.base import db, read_columns
from webapp.db.index_hints import use_primary_key
from webapp.memories.models import IN_USE, Memory
from webapp.memories.prompt import always_used
from webapp.retrieval.models import ConversationChunk, MessageEmbedding, PassageVerdict
from webapp.retrieval.passages import NO_OWNER, Key, Passage
from webapp.retrieval.vectors import Block
from webapp.spaces.models import DocumentChunk, SpaceDocument
from webapp.text.message_pieces import pieces_of
from webapp.tour import answers

BLOCK = 500  # rows read at a time: a large user's data must not be in memory all at once
CHUNKS_ONLY = 2**31 - 1
"""The `from_id` of a change of a conversation that affects none of its messages."""
_IN_PIECES = (Message.message_id, MessageEmbedding.piece)
FINISHED = ("complete", "stopped", "interrupted")
"""States of messages that are searched; one that failed, or is being written, is not."""


def usable_memories() -> Select[*tuple[Any, ...]]:
    """Select memories that may be retrieved."""
    return select(Memory).where(*IN_USE)


def searchable_messages() -> Select[*tuple[Any, ...]]:
    """Return messages that may be found, with their conversation: current, finished, not hidden, temporary or of the
    screen tour."""
    return (
        select(Message)
        .join(Conversation, Conversation.conversation_id == Message.conversation_id)
        .where(
            Message.superseded_by_id.is_(None),
            Message.status.in_(FINISHED),
            Message.content != "",
            Message.model.is_distinct_from(answers.MODEL),
            Conversation.deleted_at.is_(None),
            Conversation.is_temporary == false(),
        )
    )


def searchable_chunks() -> Select[*tuple[Any, ...]]:
    """Return chunks that may be found, joined to their conversation."""
    return (
        select(ConversationChunk)
        .join(Conversation, Conversation.conversation_id == ConversationChunk.conversation_id)
        .where(Conversation.deleted_at.is_(None), Conversation.is_temporary == false(), ConversationChunk.level == 0)
    )


def load_user(user_id: int) -> Iterator[Block]:
    """Yield everything of the user's own that they can find, block by block."""
    yield from _blocks(_memories(Memory.user_id == user_id), Memory.memory_id, _memory)
    yield from load_conversations(Conversation.user_id == user_id)


def load_space(user_id: int, space_id: int) -> Iterator[Block]:
    """Yield what others share with a user in a space, and its documents, block by block."""
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


def changed_memories(user_id: int, memory_ids: Collection[int]) -> Sequence[Row[*tuple[Any, ...]]]:
    """Return what passages and prompts need of the user's memories with these ids, if they are usable."""
    parameters = {"user": user_id, "changed": sorted(memory_ids)}
    return read_columns(_changed_memories(), parameters).all()


def block_of(memories: Iterable[Row[*tuple[Any, ...]]]) -> Block:
    """Return rows of `changed_memories` as passages."""
    return _block(map(_memory, memories))


def load_conversations(*conditions: Any) -> Iterator[Block]:
    """Yield chunks and messages of the conversations that meet the conditions."""
    yield from _blocks(_chunks().where(*conditions), ConversationChunk.chunk_id, _chunk)
    yield from _message_blocks(_messages().where(*conditions))


def load_changed(user_id: int, tails: Mapping[int, int], with_chunks: Collection[int]) -> Iterator[Block]:
    """Yield messages from (about) an id on, and chunks, of conversations of the user's, in three statements at most."""
    if with_chunks:
        parameters = {"user": user_id, "conversations": sorted(with_chunks)}
        yield _block(map(_chunk, read_columns(_changed_chunks(), parameters)))
    whole_ids = [number for number, from_id in tails.items() if not from_id]
    tail_ids = [number for number, from_id in tails.items() if 0 < from_id < CHUNKS_ONLY]
    for conversations in filter(None, (whole_ids, tail_ids)):
        first = min(tails[number] for number in conversations)
        parameters = {"user": user_id, "conversations": sorted(conversations), "from": first}
        yield _with_vectors(read_columns(_changed_messages(), parameters))


# Building a statement costs about as much as sending it: those of every reply are built once.
@cache
def _changed_chunks() -> Select[*tuple[Any, ...]]:
    return _chunks().where(*_statements_for_changes()).order_by(ConversationChunk.chunk_id)


@cache
def _changed_memories() -> Select[*tuple[Any, ...]]:
    ids: BindParameter[int] = bindparam("changed", expanding=True)
    statement = _memories(Memory.user_id == bindparam("user"), Memory.memory_id.in_(ids))
    more = [column for column in always_used.COLUMNS if column not in _MEMORY_COLUMNS]
    return use_primary_key(statement.add_columns(*more).order_by(Memory.memory_id), Memory)


@cache
def _changed_messages() -> Select[*tuple[Any, ...]]:
    return (
        _messages()
        .where(*_statements_for_changes(), Message.message_id >= bindparam("from"))
        .order_by(Message.message_id, MessageEmbedding.piece)
    )


def _statements_for_changes() -> tuple[Any, ...]:
    numbers: BindParameter[int] = bindparam("conversations", expanding=True)
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
    """Return one row per piece that has a vector; one row for a message without any."""
    return (
        searchable_messages()
        .outerjoin(MessageEmbedding, MessageEmbedding.message_id == Message.message_id)
        .with_only_columns(
            Message.message_id,
            # The text only once, with its first piece: a long message has many.
            case((func.coalesce(MessageEmbedding.piece, 0) == 0, Message.content), else_="").label("content"),
            Conversation.user_id,
            Conversation.space_id,
            Conversation.conversation_id,
            Message.created_at,
            Message.role,
            MessageEmbedding.piece,
            MessageEmbedding.from_char,
            MessageEmbedding.to_char,
            MessageEmbedding.model,
            MessageEmbedding.embedding,
        )
    )


def load_verdicts(user_id: int) -> dict[Key, list[frozenset[str]]]:
    """Return the words of the questions for which the user called a passage not relevant, by passage."""
    verdicts: dict[Key, list[frozenset[str]]] = defaultdict(list)
    for kind, passage_id, terms in db.session.execute(
        select(PassageVerdict.kind, PassageVerdict.passage_id, PassageVerdict.terms).where(
            PassageVerdict.user_id == user_id, PassageVerdict.verdict == "not_relevant"
        )
    ):
        verdicts[kind, passage_id].append(frozenset(terms))
    return dict(verdicts)


_MEMORY_COLUMNS = (
    Memory.memory_id,
    Memory.content,
    Memory.user_id,
    Memory.space_id,
    Memory.visibility,
    func.coalesce(Memory.valid_from, Memory.created_at),  # when it was said, if it was
    Memory.fact_value,
    Memory.embedding_model,
    Memory.embedding,
)


def _memories(*conditions: Any) -> Select[*tuple[Any, ...]]:
    return usable_memories().with_only_columns(*_MEMORY_COLUMNS).where(*conditions)


def _memory(row: Row[*tuple[Any, ...]]) -> tuple[Passage, str | None, bytes | None]:
    memory_id, content, owner, space_id, visibility, moment, value, model, vector, *_ = row
    if value and value.casefold() not in content.casefold():
        content = f"{content} {value}"
    return Passage("memory", memory_id, content, owner, moment, space_id, visibility == "shared"), model, vector


def _chunk(row: Row[*tuple[Any, ...]]) -> tuple[Passage, str | None, bytes | None]:
    chunk_id, content, owner, space_id, conversation_id, moment, model, vector = row
    return Passage("chunk", chunk_id, content, owner, moment, space_id, group_id=conversation_id), model, vector


def _pieces(row: Row[*tuple[Any, ...]]) -> list[Passage]:
    return [
        Passage(
            "message",
            row.message_id,
            row.content[start:end],
            row.user_id,
            row.created_at,
            row.space_id,
            group_id=row.conversation_id,
            piece=number,
            start=start,
            end=end,
            speaker=row.role,
        )
        for number, (start, end) in enumerate(pieces_of(row.content))
    ]


def _with_vectors(rows: Iterable[Row[*tuple[Any, ...]]]) -> Block:
    """Return a block from rows of messages with their pieces' vectors, in the order of message and piece."""
    block = Block()
    spans: dict[int, list[tuple[int, int]]] = {}
    for row in rows:
        if not row.piece:
            pieces = _pieces(row)
            block.passages += pieces
            spans = {row.message_id: [(piece.start, piece.end) for piece in pieces]}
        places = spans.get(row.message_id, ())
        # A vector of a text that was cut differently represents something else.
        if row.piece is not None and row.piece < len(places) and places[row.piece] == (row.from_char, row.to_char):
            block.put_vector(("message", row.message_id, row.piece), row.model, row.embedding)
    return block


def _message_blocks(statement: Select[*tuple[Any, ...]]) -> Iterator[Block]:
    """Like `_blocks`, for messages: all pieces of one are in one block."""
    keys = sorted(set(db.session.scalars(statement.with_only_columns(Message.message_id))))
    for start in range(0, len(keys), BLOCK):
        batch = statement.where(Message.message_id.in_(keys[start : start + BLOCK]))
        yield _with_vectors(db.session.execute(batch.order_by(*_IN_PIECES)))


def _document(row: Row[*tuple[Any, ...]]) -> tuple[Passage, str | None, bytes | None]:
    chunk_id, content, space_id, document_id, moment, model, vector = row
    passage = Passage("document", chunk_id, content, NO_OWNER, moment, space_id, True, group_id=document_id)
    return passage, model, vector


def _blocks(statement: Select[*tuple[Any, ...]], key: Any, convert: Any) -> Iterator[Block]:
    """Yield rows by key, which is read first: sorting all texts and vectors for every page is slow."""
    keys = sorted(db.session.scalars(statement.with_only_columns(key)))
    for start in range(0, len(keys), BLOCK):
        batch = use_primary_key(statement.where(key.in_(keys[start : start + BLOCK])).order_by(key), key.class_)
        yield _block(map(convert, db.session.execute(batch)))


def _block(rows: Iterable[tuple[Passage, str | None, bytes | None]]) -> Block:
    block = Block()
    for passage, model, raw in rows:
        block.put(passage, model, raw)
    return block
