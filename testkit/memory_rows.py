"""Memories of made-up sentences with made-up vectors, for measuring time, not meaning.

The sentences are of made-up words with the frequencies of words in a natural language.
"""

import random

import numpy as np

from webapp.db.base import db, write_transaction
from webapp.llm.embeddings import Vector, normalise_rows
from webapp.memories.models import Memory
from webapp.memories.store.journal import statement_hash
from webapp.memories.store.versions import begin_change

BATCH = 1_000
_PARTS = ("ka", "lo", "mi", "ren", "sta", "vor", "del", "pin", "gra", "tu", "ves", "nor", "bal", "qui", "zen", "fo")


def vocabulary(size: int = 9_000) -> list[str]:
    """Return different words, always the same."""
    maker = random.Random(7)
    return list(dict.fromkeys("".join(maker.choices(_PARTS, k=maker.randint(2, 4))) for _ in range(size)))


def sentence(maker: random.Random, known: list[str], length: int) -> str:
    """Return so many words, of which the n-th of the vocabulary occurs about 1/n as often as the first."""
    return " ".join(known[min(int(maker.paretovariate(0.6)), len(known)) - 1] for _ in range(length))


def fill_memories(
    user_id: int, count: int, *, model: str, width: int, seed: int = 0, around: Vector | None = None
) -> None:
    """Give a user this many memories, straight into the table; the caller has an application context.

    Each has a random vector, or one near a row of `around`, so that questions like those find it by meaning, too.
    """
    maker, numbers, known = random.Random(seed), np.random.default_rng(seed), vocabulary()
    for first in range(0, count, BATCH):
        size = min(BATCH, count - first)
        rows = numbers.standard_normal((size, width)) / width**0.5
        if around is not None:
            rows = rows / 2 + around[numbers.integers(len(around), size=size)]
        vectors = normalise_rows(rows.astype(np.float32))
        texts = [sentence(maker, known, 12) for _ in range(size)]
        with write_transaction():
            begin_change(user_id)
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
