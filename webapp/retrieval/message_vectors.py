"""The vectors of messages, piece by piece."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import delete, insert, select

from webapp.conversations.models import Message
from webapp.database import db
from webapp.retrieval.models import MessageEmbedding
from webapp.text.pieces import pieces_of


class MessagePiece(NamedTuple):
    """A piece of a message: its number, and its characters from `start` to `end`."""

    message_id: int
    number: int
    start: int
    end: int

    def of(self, text: str) -> str:
        """Its words, for an embedder."""
        return text[self.start : self.end] or " "


def message_pieces(message_id: int, content: str) -> list[MessagePiece]:
    """The pieces of a message, in order."""
    return [MessagePiece(message_id, number, *span) for number, span in enumerate(pieces_of(content))]


def store_message_vectors(
    user_id: int,
    model: str,
    pieces: Sequence[MessagePiece],
    vectors: Sequence[NDArray[np.float32]] | NDArray[np.float32],
) -> None:
    """Keep the vectors (n × dimensions) of all pieces of some messages, in place of what there was; messages gone
    meanwhile are ignored."""
    ids = {piece.message_id for piece in pieces}
    there = set(db.session.scalars(select(Message.message_id).where(Message.message_id.in_(ids))))
    db.session.execute(delete(MessageEmbedding).where(MessageEmbedding.message_id.in_(ids)))
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
        if piece.message_id in there
    ]
    if rows:
        db.session.execute(insert(MessageEmbedding), rows)
