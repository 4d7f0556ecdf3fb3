"""Vectors in the tables: those of messages, piece by piece, and to whom more are owed."""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import delete, false, func, insert, or_, select, true, tuple_, update

from webapp.accounts.site import get_setting, set_setting
from webapp.conversations.models import Conversation, Message
from webapp.db.base import db
from webapp.memories.models import MemoryVersion
from webapp.providers.clients import embedder
from webapp.retrieval.models import MessageEmbedding, PassageVersion
from webapp.spaces.originals import queue_outdated_documents
from webapp.text.message_pieces import pieces_of


class MessagePiece(NamedTuple):
    """A piece of a message: its number, and its characters from `start` to `end`."""

    message_id: int
    number: int
    start: int
    end: int

    def of(self, text: str) -> str:
        """Return the piece's text, for an embedder."""
        return text[self.start : self.end] or " "


@lru_cache(maxsize=1)  # a long message takes many slices, and a tenth of each to be cut anew
def message_pieces(message_id: int, content: str) -> tuple[MessagePiece, ...]:
    """Return the pieces of a message, in order."""
    return tuple(MessagePiece(message_id, number, *span) for number, span in enumerate(pieces_of(content)))


def pieces_without_vector(model: str, pieces: Sequence[MessagePiece]) -> list[MessagePiece]:
    """Return pieces of messages without a vector by a model, each message's first last: that marks it as done."""
    rows = db.session.execute(
        select(
            MessageEmbedding.message_id, MessageEmbedding.piece, MessageEmbedding.from_char, MessageEmbedding.to_char
        ).where(
            MessageEmbedding.message_id.in_({piece.message_id for piece in pieces}), MessageEmbedding.model == model
        )
    )
    stored_rows = {tuple(row) for row in rows}
    return [piece for piece in reversed(pieces) if tuple(piece) not in stored_rows]


def drop_other_pieces(pieces: Sequence[MessagePiece]) -> None:
    """Drop the vectors of some messages that are left over from when they were cut into more pieces than these."""
    count = Counter(piece.message_id for piece in pieces)
    surplus = [
        (MessageEmbedding.message_id == message_id) & (MessageEmbedding.piece >= number)
        for message_id, number in count.items()
    ]
    db.session.execute(delete(MessageEmbedding).where(or_(*surplus)))


def store_message_vectors(
    user_id: int,
    model: str,
    pieces: Sequence[MessagePiece],
    vectors: Sequence[NDArray[np.float32]] | NDArray[np.float32],
    *,
    are_some: bool = False,
) -> None:
    """Store the vectors (n × dimensions) of all pieces of some messages, replacing the old ones; messages deleted in
    the meantime are ignored. `are_some`: not all pieces of their messages, so the vectors of the others stay."""
    ids = {piece.message_id for piece in pieces}
    if not ids:
        return
    stored_ids = set(db.session.scalars(select(Message.message_id).where(Message.message_id.in_(ids))))
    replaced = delete(MessageEmbedding).where(MessageEmbedding.message_id.in_(ids))
    if are_some:
        key = tuple_(MessageEmbedding.message_id, MessageEmbedding.piece)
        replaced = replaced.where(key.in_([(piece.message_id, piece.number) for piece in pieces]))
    db.session.execute(replaced)
    rows = [
        {
            "message_id": piece.message_id,
            "piece": piece.number,
            "from_char": piece.start,
            "to_char": piece.end,
            "user_id": user_id,
            "model": model,
            "embedding": np.asarray(vector, np.float32).tobytes(),
        }
        for piece, vector in zip(pieces, vectors, strict=True)
        if piece.message_id in stored_ids
    ]
    if rows:
        db.session.execute(insert(MessageEmbedding), rows)


EMBEDDING_MODEL = "embedding_model"
"""The site setting that names the model by which vectors were last owed."""


def users_awaiting_vectors() -> list[int]:
    """Return users to whom vectors are owed: for messages, or for changed memories."""
    messages = db.session.scalars(
        select(Conversation.user_id)
        .where(Conversation.index_due == true(), Conversation.is_temporary == false())
        .group_by(Conversation.user_id)
    ).all()
    user_ids = db.session.scalars(
        select(MemoryVersion.user_id)
        .outerjoin(PassageVersion, PassageVersion.user_id == MemoryVersion.user_id)
        .where(MemoryVersion.version > func.coalesce(PassageVersion.memories_through, 0))
    ).all()
    return list(dict.fromkeys([*messages, *user_ids]))


def request_all_vectors() -> int:
    """Owe everybody vectors by the current model; those by the previous one stay in use until replaced. Returns the
    number of users with conversations; the caller commits."""
    db.session.execute(
        update(Conversation)
        .where(Conversation.is_temporary == false())
        .values(index_due=True, indexed_through=None, updated_at=Conversation.updated_at)
        .execution_options(synchronize_session=False)
    )
    db.session.execute(update(PassageVersion).values(memories_through=None))
    queue_outdated_documents(embedder().model)
    return db.session.scalar(select(func.count(func.distinct(Conversation.user_id)))) or 0


def notice_model() -> int:
    """Queue vectors for everybody if the model has changed; return the number of users. Meanwhile both are searched."""
    before, present = get_setting(EMBEDDING_MODEL), embedder().model
    if before == present:
        return 0
    set_setting(EMBEDDING_MODEL, present)
    return request_all_vectors() if before is not None else 0
