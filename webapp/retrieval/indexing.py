"""Makes vectors in the background, in batches: of messages after a watermark, of chunks and of memories.

No connection is held while the embedder works; what it cannot do now it does later, since the watermark stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import Row, Update, func, insert, or_, select, true, update

from webapp.access_paths import by_primary_key
from webapp.accounts.models import User
from webapp.conversations.models import Conversation, Message
from webapp.database import db, reads_only, rows_changed, write_transaction
from webapp.llm.embeddings import Embedder
from webapp.memories.models import Memory, MemoryChangeSet
from webapp.model_clients import embedder
from webapp.retrieval import changes
from webapp.retrieval.changes import Change
from webapp.retrieval.loading import CHUNKS_ONLY, FINISHED
from webapp.retrieval.message_vectors import (
    MessagePiece,
    drop_pieces_from,
    message_pieces,
    missing_pieces,
    store_message_vectors,
)
from webapp.retrieval.models import ConversationChunk, MessageEmbedding, PassageVersion
from webapp.spaces.versions import touch

BATCH = 64
RUN = 500
"""Vectors made by one run, in a few seconds; a longer backlog continues in the next run, so that other users' work
comes in between: behind a large import, somebody may be waiting for the content of a file."""
MAX_CHARS = 8_000
MANY_CHARS = 200_000
"""Characters of messages that are embedded together; a longer message is embedded alone."""
FEW_CHANGES = 500
"""Up to this number, the memories that may be owed a vector are named one by one."""
CONTINUED = 20
"""How many earlier change sets are checked too: what a tool does later in a turn is added to the set it began."""


@dataclass(slots=True)
class Indexed:
    """Vectors made, by kind (for messages, those of their pieces), and whether some are still owed."""

    messages: int = 0
    chunks: int = 0
    memories: int = 0
    more: bool = False

    @property
    def total(self) -> int:
        """All of them."""
        return self.messages + self.chunks + self.memories


def index_user(user_id: int) -> Indexed:
    """Make the vectors owed to a user's memories, chunks and messages. Raises ModelError after storing what was
    finished. Safe to run twice, even at once."""
    with reads_only():
        return _index_user(user_id, embedder())


def _index_user(user_id: int, client: Embedder) -> Indexed:
    done = Indexed()
    _index_memories(user_id, client, done)
    due = db.session.scalars(
        select(Conversation.conversation_id)
        .where(Conversation.user_id == user_id, Conversation.index_due == true())
        .order_by(Conversation.updated_at.desc())
        .limit(RUN)
    ).all()
    for conversation_id in due:
        if done.total >= RUN:
            done.more = True
            break
        _index_chunks(conversation_id, client, done)
        while _index_messages(conversation_id, client, done):
            if done.total >= RUN:
                done.more = True
                break
    with write_transaction():
        changes.prune(user_id)
    return done


def _index_messages(conversation_id: int, client: Embedder, done: Indexed) -> bool:
    """Index one batch of a conversation's messages; returns whether there may be another."""
    conversation = db.session.get(Conversation, conversation_id, populate_existing=True)
    if conversation is None or not conversation.index_due:
        db.session.rollback()
        return False
    if conversation.is_temporary or conversation.deleted_at is not None:
        with write_transaction():
            db.session.execute(_conversation(conversation_id).values(index_due=False))
        return False
    user_id, after = conversation.user_id, conversation.indexed_through or 0
    first_open = db.session.scalar(
        select(func.min(Message.message_id)).where(
            Message.conversation_id == conversation_id,
            Message.superseded_by_id.is_(None),
            Message.message_id > after,
            Message.status == "streaming",
        )
    )
    statement = (
        select(Message.message_id, Message.content, Message.status, MessageEmbedding.model)
        .outerjoin(
            MessageEmbedding, (MessageEmbedding.message_id == Message.message_id) & (MessageEmbedding.piece == 0)
        )
        .where(
            Message.conversation_id == conversation_id, Message.superseded_by_id.is_(None), Message.message_id > after
        )
    )
    if first_open is not None:
        statement = statement.where(Message.message_id < first_open)
    rows = db.session.execute(statement.order_by(Message.message_id).limit(BATCH)).all()
    rows = _at_a_time(rows)
    wanted = [row for row in rows if row.status in FINISHED and row.content.strip() and row.model != client.model]
    pieces = [piece for row in wanted for piece in message_pieces(row.message_id, row.content)]
    if len(pieces) > RUN and pieces[0].message_id == pieces[-1].message_id:
        return _index_long_message(user_id, conversation_id, wanted[0].content, pieces, client, done)
    db.session.remove()  # no connection is held while the embedder works
    texts = {row.message_id: row.content for row in wanted}
    vectors = client.embed_passages([piece.of(texts[piece.message_id]) for piece in pieces]) if pieces else ()
    with write_transaction():
        conversation = db.session.get(Conversation, conversation_id, with_for_update=True)
        if conversation is None:
            return False
        if (conversation.indexed_through or 0) != after:
            return True  # somebody else was here, or messages came back: check again
        if wanted:
            store_message_vectors(user_id, client.model, pieces, vectors)
            changes.note(user_id, Change("conversation", conversation_id, wanted[0].message_id))
        conversation.indexed_through = rows[-1].message_id if rows else after or None
        # A message that was finished while the embedder worked is owed its vector: do not overwrite its mark.
        conversation.index_due = _has_more(conversation_id, conversation.indexed_through or 0)
        done.messages += len(pieces)
        # Messages after a reply that is still being written stay owed, and have to wait for it.
        return conversation.index_due and bool(rows)


def _index_long_message(
    user_id: int, conversation_id: int, text: str, pieces: Sequence[MessagePiece], client: Embedder, done: Indexed
) -> bool:
    """Make the next vectors of a message that takes several runs, from its end; returns whether more may follow.

    Finished vectors are kept, so that the next run continues: a message of a megabyte takes minutes. Its first piece
    comes last, and shows that all are there; the watermark then passes the message as one already done.
    """
    message_id = pieces[0].message_id
    missing = missing_pieces(client.model, pieces)
    part = missing[:RUN]
    db.session.remove()
    vectors = client.embed_passages([piece.of(text) for piece in part])
    with write_transaction():
        store_message_vectors(user_id, client.model, part, vectors, are_some=True)
        if len(part) == len(missing):
            drop_pieces_from(pieces[-1].number + 1, message_id)
            changes.note(user_id, Change("conversation", conversation_id, message_id))
    done.messages += len(part)
    return True


def _has_more(conversation_id: int, after: int) -> bool:
    """Whether a conversation has finished messages after the watermark."""
    behind = select(Message.message_id).where(
        Message.conversation_id == conversation_id,
        Message.message_id > after,
        Message.superseded_by_id.is_(None),
        Message.status.in_(FINISHED),
        Message.content != "",
    )
    return db.session.scalar(behind.limit(1)) is not None


def _at_a_time(rows: Sequence[Row[*tuple[Any, ...]]]) -> Sequence[Row[*tuple[Any, ...]]]:
    """The first messages of a batch, as many as fit MANY_CHARS, but at least one."""
    size = 0
    for number, row in enumerate(rows):
        size += len(row.content)
        if size > MANY_CHARS and number:
            return rows[:number]
    return rows


def _index_chunks(conversation_id: int, client: Embedder, done: Indexed) -> None:
    rows = db.session.execute(
        select(ConversationChunk.chunk_id, ConversationChunk.content, ConversationChunk.user_id)
        .join(Conversation, Conversation.conversation_id == ConversationChunk.conversation_id)
        .where(
            ConversationChunk.conversation_id == conversation_id,
            ~(Conversation.is_temporary | (ConversationChunk.level > 0)),
            or_(ConversationChunk.embedding_model.is_(None), ConversationChunk.embedding_model != client.model),
        )
    ).all()
    db.session.remove()
    for start in range(0, len(rows), BATCH):
        batch = rows[start : start + BATCH]
        vectors = client.embed_passages([row.content[:MAX_CHARS] for row in batch])
        with write_transaction():
            for row, vector in zip(batch, vectors, strict=True):
                db.session.execute(
                    update(ConversationChunk)
                    .where(ConversationChunk.chunk_id == row.chunk_id)
                    .values(embedding=_bytes(vector), embedding_model=client.model)
                )
            changes.note(batch[0].user_id, Change("conversation", conversation_id, CHUNKS_ONLY))
        done.chunks += len(batch)


def _index_memories(user_id: int, client: Embedder, done: Indexed) -> None:
    """Make vectors of the memories that changed since the last time and have none by this model."""
    through = db.session.scalar(select(PassageVersion.memories_through).where(PassageVersion.user_id == user_id))
    newest = db.session.scalar(
        select(func.max(MemoryChangeSet.change_set_id)).where(MemoryChangeSet.user_id == user_id)
    )
    owed = select(Memory.memory_id, Memory.content, Memory.revision, Memory.space_id, Memory.visibility).where(
        Memory.user_id == user_id, or_(Memory.embedding.is_(None), Memory.embedding_model != client.model)
    )
    if newest is not None and through is not None:
        changed = _changed_memories(user_id, through)
        if changed is not None:
            owed = by_primary_key(owed.where(Memory.memory_id.in_(changed)), Memory)
    last = 0
    while newest is not None and (through is None or newest > through):
        rows = db.session.execute(owed.where(Memory.memory_id > last).order_by(Memory.memory_id).limit(BATCH)).all()
        db.session.remove()
        vectors = client.embed_passages([row.content[:MAX_CHARS] for row in rows]) if rows else ()
        with write_transaction():
            if db.session.get(User, user_id) is None:
                return
            for row, vector in zip(rows, vectors, strict=True):
                # A memory whose content has changed in the meantime gets its vector from the next run.
                db.session.execute(
                    update(Memory)
                    .where(Memory.memory_id == row.memory_id, Memory.revision == row.revision)
                    .values(embedding=_bytes(vector), embedding_model=client.model)
                    .execution_options(synchronize_session=False)
                )
            complete = len(rows) < BATCH
            if rows:
                few = [Change("memories", row.memory_id) for row in rows]
                changes.note(user_id, *(few if done.memories < RUN // 4 else [Change("memories")]))
                for row in rows:
                    if row.visibility == "shared":
                        touch(row.space_id)  # it is in the indexes of others, without this vector
            if complete and embedder().model == client.model:
                _set_memories_through(user_id, through, newest)
        done.memories += len(rows)
        if complete:
            return
        last = rows[-1].memory_id
        if done.memories >= RUN:
            done.more = True
            return


def _changed_memories(user_id: int, through: int) -> set[int] | None:
    """The memories that changed after a change set; None if they are many, when checking all is no more work."""
    mine = MemoryChangeSet.user_id == user_id
    before = select(MemoryChangeSet.change_set_id).where(mine, MemoryChangeSet.change_set_id <= through)
    before = before.order_by(MemoryChangeSet.change_set_id.desc()).offset(CONTINUED).limit(1)
    after = func.coalesce(before.scalar_subquery(), 0)
    sets = select(MemoryChangeSet.changes).where(mine, MemoryChangeSet.change_set_id > after)
    changed: set[int] = set()
    for number, changes_of_set in enumerate(db.session.scalars(sets.limit(FEW_CHANGES + 1))):
        changed |= {entry["memory_id"] for entry in changes_of_set}
        if number == FEW_CHANGES or len(changed) > FEW_CHANGES:
            return None
    return changed


def _set_memories_through(user_id: int, before: int | None, change_set_id: int) -> None:
    """Advance the mark, unless vectors by another model have been owed since it was read."""
    moved = rows_changed(
        update(PassageVersion)
        .where(PassageVersion.user_id == user_id, PassageVersion.memories_through.is_not_distinct_from(before))
        .values(memories_through=change_set_id)
    )
    if not moved and db.session.get(PassageVersion, user_id) is None:
        db.session.execute(insert(PassageVersion).values(user_id=user_id, version=0, memories_through=change_set_id))


def _conversation(conversation_id: int) -> Update:
    return (
        update(Conversation)
        .where(Conversation.conversation_id == conversation_id)
        .values(updated_at=Conversation.updated_at)
    )


def _bytes(vector: np.ndarray) -> bytes:
    return np.asarray(vector, np.float32).tobytes()
