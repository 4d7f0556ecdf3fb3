"""Text to vectors: the protocol, and the adapter for any OpenAI-compatible server."""

import base64
from collections.abc import Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .capabilities import Capabilities
from .error_bodies import error_fields
from .errors import MalformedOutput, ModelError, ModelNotFound, classify_exception, classify_payload
from .request_format import adapt_body, learn_rejection
from .sdk import json_of, post, process_client, with_retries
from .settings import ModelSettings

Vector = NDArray[np.float32]
_NO_EMBEDDINGS = (405, 501)
"""How servers answer that serve chat alone, if they do not say that they lack the model."""
_BATCH_REFUSALS = (400, 413, 422)
"""How servers answer more texts than they take at once; few name the number."""


class Embedder(Protocol):
    """Vectors of unit length, so that a dot product is the cosine."""

    @property
    def model(self) -> str:
        """Return the name stored with each vector; vectors of different models must not be compared."""
        ...

    @property
    def dim(self) -> int:
        """Return the length of a vector; may cost one request the first time."""
        ...

    def embed_query(self, text: str, timeout: float | None = None) -> Vector:
        """Return one vector (d,) within `timeout` seconds, tried once; raises `ModelError`."""
        ...

    def embed_passages(self, texts: Sequence[str]) -> Vector:
        """Return one row per text (n, d), in order; raises `ModelError`, never returns a partial result."""
        ...


class OpenAIEmbedder:
    """Embeddings over HTTP, in batches, base64-encoded if the server supports it; thread-safe."""

    def __init__(self, settings: ModelSettings, capabilities: Capabilities | None = None, *, name: str = "") -> None:
        self.settings = settings
        self.capabilities = capabilities or Capabilities()
        self._name = name or settings.embedding_model
        self._client = process_client(settings, embeddings=True)
        self._dim: int | None = None

    @property
    def model(self) -> str:
        """Return the name stored with its vectors: the model's, unless another was given."""
        return self._name

    @property
    def dim(self) -> int:
        """Return the vector length, taken from the first answer."""
        if self._dim is None:
            self.embed_passages(["dimension"])
        assert self._dim is not None
        return self._dim

    @property
    def is_served(self) -> bool:
        """Return whether the server has the model, as far as is known: until it was asked it may."""
        base_url, _ = self.settings.endpoint(embeddings=True)
        return self.capabilities.embeds(base_url, self.settings.embedding_model) is not False

    def embed_query(self, text: str, timeout: float | None = None) -> Vector:
        """Return one vector (d,); tried once, because a late answer is of no use to a turn."""
        vector: Vector = self._request([text], timeout or self.settings.embedding_timeout)[0]
        return vector

    def embed_passages(self, texts: Sequence[str]) -> Vector:
        """Return rows (n, d) in the order of `texts`; transient failures are retried per batch."""
        if not texts:
            return np.empty((0, self._dim or 0), dtype=np.float32)
        size = self.settings.embedding_batch
        return np.concatenate([self._batch(texts[start : start + size]) for start in range(0, len(texts), size)])

    def close(self) -> None:
        """Close this process's connections."""
        self._client.close()

    def _batch(self, texts: Sequence[str]) -> Vector:
        try:
            return with_retries(partial(self._request, texts, self.settings.embedding_timeout), self.settings)
        except ModelError as error:
            if len(texts) == 1 or error.status not in _BATCH_REFUSALS:
                raise
        middle = (len(texts) + 1) // 2
        return np.concatenate([self._batch(texts[:middle]), self._batch(texts[middle:])])

    def _request(self, texts: Sequence[str], read: float) -> Vector:
        base_url, key = self.settings.endpoint(embeddings=True)
        # Empty input is refused by some servers.
        body: dict[str, Any] = {
            "model": self.settings.embedding_model,
            "input": [clean_text(text) or " " for text in texts],
            "encoding_format": "base64",
        }
        client = self._client()
        while True:
            request = adapt_body(body, base_url, self.capabilities)
            try:
                payload = json_of(post(client, "/embeddings", request, settings=self.settings, read=read))
                break
            except Exception as exc:
                if not learn_rejection(exc, request, base_url, self.capabilities):
                    error = classify_exception(exc, has_key=bool(key))
                    if isinstance(error, ModelNotFound) or error.status in _NO_EMBEDDINGS:
                        self._note(serves=False)
                    raise error from None
        rows = _rows(payload, len(texts))
        if self._dim not in (None, rows.shape[1]):
            raise MalformedOutput(
                "The embedding model changed its vector length. Check the name of the embedding model."
            )
        self._note(serves=True)
        self._dim = rows.shape[1]
        return rows

    def _note(self, *, serves: bool) -> None:
        """Record whether the server has the model; one that had it once may be under way, and is waited for."""
        server = self.settings.endpoint(embeddings=True)[0], self.settings.embedding_model
        known = self.capabilities.embeds(*server)
        if known is None or (serves and not known):
            self.capabilities.note_embeddings(*server, serves=serves)


def clean_text(text: str) -> str:
    """Return a text without NUL, which breaks some servers, and without lone surrogates."""
    return text.replace("\0", " ").encode("utf-8", "replace").decode()


def normalise_rows(rows: Vector) -> Vector:
    """Return rows scaled to unit length, as float32; rows of zeros stay zero."""
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12), dtype=np.float32)


def _rows(payload: Any, count: int) -> Vector:
    """Return the normalised vectors of an answer in input order; `MalformedOutput` unless `count` finite rows."""
    try:
        items = payload if isinstance(payload, list) else payload.get("data") or payload.get("embeddings") or [payload]
        order = sorted(range(len(items)), key=lambda position: _place(items[position], position))
        vectors = [_vector(items[position]) for position in order]
        if len(vectors) != count:
            raise ValueError("wrong number of vectors")
        rows = np.stack(vectors)
    except (KeyError, TypeError, ValueError, AttributeError):
        if error_fields(payload)[0]:
            raise classify_payload(payload) from None
        raise MalformedOutput("The embedding server's answer could not be read.") from None
    if rows.ndim != 2 or not rows.shape[1] or not np.isfinite(rows).all():
        raise MalformedOutput("The embedding server's answer could not be read.")
    return normalise_rows(rows)


def _place(item: Any, position: int) -> int:
    index = item.get("index") if isinstance(item, dict) else None
    return position if index is None else int(index)


def _vector(value: Any) -> Vector:
    """Return the vector in an item, in whose place, or around whose numbers, some servers have another list."""
    while isinstance(value, dict):
        value = value["embedding"] if "embedding" in value else value["float"]
    if isinstance(value, str):
        data = base64.b64decode(value + "=" * (-len(value) % 4), validate=True)
        return np.frombuffer(data, dtype="<f4").astype(np.float32)
    vector = np.asarray(value, dtype=np.float32)
    return vector[0] if vector.ndim == 2 and len(vector) == 1 else vector
