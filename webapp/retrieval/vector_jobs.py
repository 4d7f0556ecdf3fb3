"""Makes vectors in the background, in batches: of messages after a watermark, of chunks and of memories."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import numpy as np
from sqlalchemy import Row, Select, insert, or_, select, true, update

from webapp.accounts.models import User
from webapp.background.time_slices import Slice
from webapp.conversations.models import Conversation, Message
from webapp.db.base import db, reads_only, rows_changed, write_transaction
from webapp.db.index_hints import use_primary_key
from webapp.llm.embeddings import Embedder
from webapp.memories.models import Memory
from webapp.memories.store.versions import current_version
from webapp.providers.clients import embedder
from webapp.retrieval import changes
from webapp.retrieval.changes import GROWN, Change
from webapp.retrieval.models import ConversationChunk, MessageEmbedding, PassageVersion
from webapp.retrieval.passage_rows import CHUNKS_ONLY, FINISHED
from webapp.retrieval.stored_vectors import (
    drop_other_pieces,
    message_pieces,
    pieces_without_vector,
    store_message_vectors,
)
from webapp.spaces.signals import touch

BATCH = 64
"""Messages that are looked at together."""
MAX_CHARS = 8_000
BATCH_CHARS = 200_000
"""Characters of messages that are cut into pieces together; a longer message is cut alone."""
MAX_CHANGE_IDS = 500
"""Up to this number, the memories that may be owed a vector are named one by one."""
MAX_NOTE_IDS = 125
"""Up to this number, the memories that got one are."""


@dataclass(slots=True)
class IndexedCounts:
    """Vectors made, by kind (for messages, those of their pieces), and whether some are still owed."""

    messages: int = 0
    chunks: int = 0
    memories: int = 0
    has_more: bool = False

    @property
    def total(self) -> int:
        return self.messages + self.chunks + self.memories


def index_user(user_id: int) -> IndexedCounts:
    """Make vectors owed to a user for one slice, safe to run twice at once. Raises ModelError, keeping those made."""
    with reads_only():
        counts = IndexedCounts()
        counts.has_more = not _index_all(user_id, embedder(), counts, Slice())
        with write_transaction():
            changes.prune(user_id)
        return counts


def _index_all(user_id: int, client: Embedder, counts: IndexedCounts, turn: Slice) -> bool:
    """Make vectors until none is owed, or the slice is over; returns whether it came to the end."""
    if not _index_memories(user_id, client, counts, turn):
        return False
    due = (
        select(Conversation.conversation_id)
        .where(Conversation.user_id == user_id, Conversation.index_due == true())
        .order_by(Conversation.updated_at.desc())
        .limit(BATCH)
    )
    seen: set[int] = set()
    while True:
        new = db.session.scalars(due.where(Conversation.conversation_id.not_in(seen)) if seen else due).all()
        for conversation_id in new:
            if not _index_chunks(conversation_id, client, counts, turn):
                return False
            may_have_more = True
            while may_have_more:
                may_have_more = _index_messages(conversation_id, client, counts, turn)
                if not turn.has_time() or embedder().model != client.model:
                    return False
        seen.update(new)
        if len(new) < BATCH:
            return True


def _index_messages(conversation_id: int, client: Embedder, counts: IndexedCounts, turn: Slice) -> bool:
    """Index a conversation's next messages; returns whether there may be more, or more of them."""
    conversation = db.session.get(Conversation, conversation_id, populate_existing=True)
    if conversation is None or not conversation.index_due:
        db.session.rollback()
        return False
    if conversation.is_temporary or conversation.deleted_at is not None:
        with write_transaction():
            settled = update(Conversation).where(Conversation.conversation_id == conversation_id)
            db.session.execute(settled.values(index_due=False, updated_at=Conversation.updated_at))
        return False
    user_id, after = conversation.user_id, conversation.indexed_through or 0
    stored = db.session.execute(_messages(conversation_id, after)).all()
    rows = _first_batch(list(takewhile(lambda row: row.status != "streaming", stored)))
    pending = [row for row in rows if row.status in FINISHED and row.content.strip() and row.model != client.model]
    pieces = [piece for row in pending for piece in message_pieces(row.message_id, row.content)]
    parts = pieces_without_vector(client.model, pieces) if len(pieces) > turn.portion else pieces
    db.session.remove()  # no connection is held while the embedder works
    texts = {row.message_id: row.content for row in pending}
    while True:
        part, parts = parts[: turn.portion], parts[turn.portion :]
        vectors = client.embed_passages([piece.of(texts[piece.message_id]) for piece in part]) if part else ()
        with write_transaction():
            conversation = db.session.get(Conversation, conversation_id, with_for_update=True)
            if conversation is None:
                return False
            if (conversation.indexed_through or 0) != after or embedder().model != client.model:
                return True  # somebody else was here, messages came back, or another model was chosen: check again
            are_all = len(part) == len(pieces)
            store_message_vectors(user_id, client.model, part, vectors, are_some=not are_all)
            counts.messages += len(part)
            if not parts:
                if not are_all:
                    drop_other_pieces(pieces)
                if pending:
                    change = Change("conversation", conversation_id, pending[0].message_id)
                    changes.note(user_id, change, channel=GROWN)
                conversation.indexed_through = rows[-1].message_id if rows else after or None
                # A message that was finished while the embedder worked is owed its vector: do not overwrite its mark.
                conversation.index_due = _has_more(conversation_id, conversation.indexed_through or 0, client.model)
                # Messages after a reply that is still being written stay owed, and have to wait for it.
                return conversation.index_due and bool(rows)
        if not turn.has_time():
            return True


def _messages(conversation_id: int, after: int) -> Select[int, str, str, str]:
    """Return the messages after the watermark, in one statement, with the model of their first piece, made last."""
    return (
        select(Message.message_id, Message.content, Message.status, MessageEmbedding.model)
        .outerjoin(
            MessageEmbedding, (MessageEmbedding.message_id == Message.message_id) & (MessageEmbedding.piece == 0)
        )
        .where(
            Message.conversation_id == conversation_id, Message.superseded_by_id.is_(None), Message.message_id > after
        )
        .order_by(Message.message_id)
        .limit(BATCH)
    )


def _has_more(conversation_id: int, after: int, model: str) -> bool:
    """Return whether a conversation has finished messages after the watermark, or a summary that came meanwhile."""
    statement = select(Message.message_id).where(
        Message.conversation_id == conversation_id,
        Message.message_id > after,
        Message.superseded_by_id.is_(None),
        Message.status.in_(FINISHED),
        Message.content != "",
    )
    return any(db.session.execute(query.limit(1)).first() for query in (statement, _chunks(conversation_id, model)))


def _first_batch(rows: Sequence[Row[*tuple[Any, ...]]]) -> Sequence[Row[*tuple[Any, ...]]]:
    """Return the first messages of a batch, as many as fit BATCH_CHARS, but at least one."""
    size = 0
    for number, row in enumerate(rows):
        size += len(row.content)
        if size > BATCH_CHARS and number:
            return rows[:number]
    return rows


def _chunks(conversation_id: int, model: str) -> Select[int, str, int | None]:
    """Return the summaries of a conversation that have no vector by a model."""
    return (
        select(ConversationChunk.chunk_id, ConversationChunk.content, ConversationChunk.user_id)
        .join(Conversation, Conversation.conversation_id == ConversationChunk.conversation_id)
        .where(
            ConversationChunk.conversation_id == conversation_id,
            ~(Conversation.is_temporary | (ConversationChunk.level > 0)),
            or_(ConversationChunk.embedding_model.is_(None), ConversationChunk.embedding_model != model),
        )
    )


def _index_chunks(conversation_id: int, client: Embedder, counts: IndexedCounts, turn: Slice) -> bool:
    """Make vectors of the chunks of a conversation that have none by this model; returns whether all have one now."""
    rows = db.session.execute(_chunks(conversation_id, client.model)).all()
    db.session.remove()
    while rows:
        batch, rows = rows[: turn.portion], rows[turn.portion :]
        vectors = client.embed_passages([row.content[:MAX_CHARS] for row in batch])
        with write_transaction():
            for row, vector in zip(batch, vectors, strict=True):
                db.session.execute(
                    update(ConversationChunk)
                    .where(ConversationChunk.chunk_id == row.chunk_id)
                    .values(embedding=_bytes(vector), embedding_model=client.model)
                )
            changes.note(batch[0].user_id, Change("conversation", conversation_id, CHUNKS_ONLY))
        counts.chunks += len(batch)
        if not turn.has_time():
            return False
    return True


def _index_memories(user_id: int, client: Embedder, counts: IndexedCounts, turn: Slice) -> bool:
    """Make vectors of memories changed since the last time; return whether all have one by this model now."""
    watermark = db.session.scalar(select(PassageVersion.memories_through).where(PassageVersion.user_id == user_id))
    newest = current_version(user_id)
    owed = select(Memory.memory_id, Memory.content, Memory.revision, Memory.space_id, Memory.visibility).where(
        Memory.user_id == user_id, or_(Memory.embedding.is_(None), Memory.embedding_model != client.model)
    )
    if newest <= (watermark or 0):
        return True
    if watermark is not None:
        memory_ids = changes.memories_changed(user_id, watermark, newest)
        if len(memory_ids) <= MAX_CHANGE_IDS:  # of more, checking all is no more work
            owed = use_primary_key(owed.where(Memory.memory_id.in_(memory_ids)), Memory)
    last, is_complete = 0, False
    while not is_complete:
        limit = turn.portion
        rows = db.session.execute(owed.where(Memory.memory_id > last).order_by(Memory.memory_id).limit(limit)).all()
        db.session.remove()
        vectors = client.embed_passages([row.content[:MAX_CHARS] for row in rows]) if rows else ()
        is_complete = len(rows) < limit
        with write_transaction():
            if db.session.get(User, user_id) is None:
                return True
            for row, vector in zip(rows, vectors, strict=True):
                # A memory whose content has changed in the meantime gets its vector from the next run.
                db.session.execute(
                    update(Memory)
                    .where(Memory.memory_id == row.memory_id, Memory.revision == row.revision)
                    .values(embedding=_bytes(vector), embedding_model=client.model)
                    .execution_options(synchronize_session=False)
                )
            if rows:
                few = [Change("memories", row.memory_id) for row in rows]
                changes.note(user_id, *(few if counts.memories < MAX_NOTE_IDS else [Change("memories")]))
                for row in rows:
                    if row.visibility == "shared":
                        touch(row.space_id)  # it is in the indexes of others, without this vector
            if is_complete and embedder().model == client.model:
                _set_memories_through(user_id, watermark, newest)
        counts.memories += len(rows)
        last = rows[-1].memory_id if rows else last
        if rows and not turn.has_time():
            return False
    return True


def _set_memories_through(user_id: int, before: int | None, version: int) -> None:
    """Advance the mark, unless vectors by another model have been owed since it was read."""
    moved = rows_changed(
        update(PassageVersion)
        .where(PassageVersion.user_id == user_id, PassageVersion.memories_through.is_not_distinct_from(before))
        .values(memories_through=version)
    )
    if not moved and db.session.get(PassageVersion, user_id) is None:
        db.session.execute(insert(PassageVersion).values(user_id=user_id, version=0, memories_through=version))


def _bytes(vector: np.ndarray) -> bytes:
    return np.asarray(vector, np.float32).tobytes()
