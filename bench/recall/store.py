"""Writes the accounts of a set to the product, by its own services, and keeps their vectors between runs."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from flask import Flask

from bench.product import add_conversation, add_user
from bench.recall.data import Account, Asked
from webapp.conversations.models import Message
from webapp.db.base import write_transaction
from webapp.llm.embeddings import Embedder, Vector
from webapp.llm.errors import ModelUnavailable
from webapp.llm.packaged_models import Embeddings
from webapp.retrieval.query_vectors import make_query_vectors
from webapp.retrieval.vector_jobs import index_user


@dataclass
class Stored:
    """An account in the product: its user, a conversation to ask in, and the units by message."""

    user_id: int
    conversation_id: int
    questions: Sequence[Asked]
    units: dict[int, str] = field(default_factory=dict)


class KeptVectors:
    """An embedder that remembers its vectors, by the hash of the text."""

    def __init__(self, inner: Embedder) -> None:
        self.inner = inner
        self.path = Path(tempfile.gettempdir()) / "commonplace-vectors" / f"{inner.model.replace('/', '-')}.npz"
        self.known: dict[str, Vector] = {}
        if self.path.is_file():
            with np.load(self.path) as kept:
                self.known = dict(zip(kept["names"].tolist(), kept["vectors"], strict=True))
        self.before = len(self.known)

    @property
    def model(self) -> str:
        """That of the embedder."""
        return self.inner.model

    @property
    def dim(self) -> int:
        """That of the embedder."""
        return self.inner.dim

    def embed_query(self, text: str, timeout: float | None = None) -> Vector:
        """One vector."""
        name = "q" + hashlib.sha256(text.encode()).hexdigest()
        if name not in self.known:
            self.known[name] = self.inner.embed_query(text, timeout)
        return self.known[name]

    def embed_passages(self, texts: Sequence[str]) -> Vector:
        """One row per text."""
        names = [hashlib.sha256(text.encode()).hexdigest() for text in texts]
        new = [place for place, name in enumerate(names) if name not in self.known]
        if new:
            made = self.inner.embed_passages([texts[place] for place in new])
            self.known.update({names[place]: row for place, row in zip(new, made, strict=True)})
        return np.stack([self.known[name] for name in names])

    def save(self) -> None:
        """Save new vectors for the next run."""
        if len(self.known) > self.before:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            np.savez(self.path, names=np.array(list(self.known)), vectors=np.stack(list(self.known.values())))


class Away(KeptVectors):
    """An embedder that embeds messages, but is away when a question comes."""

    def embed_query(self, text: str, timeout: float | None = None) -> Vector:
        """None."""
        raise ModelUnavailable


@contextmanager
def keep_vectors(app: Flask, *, away: bool = False) -> Iterator[None]:
    """Remember what the application embeds inside the block; with `away`, questions get no vectors."""
    kept = (Away if away else KeptVectors)(app.extensions["embedder"].now())
    app.extensions["embedder"] = Embeddings(kept)
    app.extensions["query_vectors"] = make_query_vectors(app.extensions["embedder"], app.extensions["settings"])
    try:
        yield
    finally:
        kept.save()


def store(account: Account) -> Stored:
    """Write an account, as the product imports conversations from elsewhere, and index it."""
    user_id = add_user(f"{account.name}@example.org")
    units: dict[int, str] = {}
    for lines in account.sessions:
        with write_transaction():
            rows = [Message(role=line.role, content=line.text, created_at=line.at) for line in lines]
            add_conversation(user_id, rows)
            units |= {row.message_id: line.unit for row, line in zip(rows, lines, strict=True)}
    with write_transaction():
        asking = add_conversation(user_id, []).conversation_id
    while index_user(user_id).has_more:
        pass
    return Stored(user_id, asking, account.questions, units)
