"""Memories of made-up sentences with random vectors, for measuring time, not meaning."""

import random

import numpy as np

from bench.words import sentence, vocabulary
from webapp.db.base import db, write_transaction
from webapp.llm.embeddings import normalise_rows
from webapp.memories.models import Memory
from webapp.memories.store.journal import statement_hash

BATCH = 1_000


def fill_memories(user_id: int, count: int, *, model: str, width: int, seed: int = 0) -> None:
    """Give a user this many memories, straight into the table; the caller has an application context."""
    maker, numbers, known = random.Random(seed), np.random.default_rng(seed), vocabulary()
    for first in range(0, count, BATCH):
        size = min(BATCH, count - first)
        vectors = normalise_rows(numbers.standard_normal((size, width)).astype(np.float32))
        texts = [sentence(maker, known, 12) for _ in range(size)]
        with write_transaction():
            db.session.add_all(
                Memory(
                    user_id=user_id,
                    memory_type="fact",
                    content=text,
                    statement_hash=statement_hash(text),
                    embedding=vector.tobytes(),
                    embedding_model=model,
                    importance=0.4,
                )
                for text, vector in zip(texts, vectors, strict=True)
            )
