"""Text to vectors: the protocol, and the adapter for any OpenAI-compatible server."""

from __future__ import annotations

import base64
import logging
import os
import threading
import time
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .capabilities import Capabilities
from .error_bodies import error_fields
from .errors import MalformedOutput, ModelError, classify_exception, classify_payload
from .request_format import adapt_body, rejected_feature
from .retry import retry_delay
from .sdk import post, sync_client
from .settings import ModelSettings

if TYPE_CHECKING:
    from openai import OpenAI

log = logging.getLogger(__name__)

Vector = NDArray[np.float32]
_TOO_MANY = (400, 413, 422)
"""How servers answer more texts than they take at once; few name the number."""


class Embedder(Protocol):
    """Vectors of unit length, so that a dot product is the cosine."""

    @property
    def model(self) -> str:
        """The name stored with each vector; vectors of different models must not be compared."""
        ...

    @property
    def dim(self) -> int:
        """The length of a vector; may cost one request the first time."""
        ...

    def embed_query(self, text: str, timeout: float | None = None) -> Vector:
        """One vector (d,) within `timeout` seconds, tried once; raises `ModelError`."""
        ...

    def embed_passages(self, texts: Sequence[str]) -> Vector:
        """One row per text (n, d), in order; raises `ModelError`, never returns a partial result."""
        ...


class OpenAIEmbedder:
    """Embeddings over HTTP, in batches, base64-encoded if the server supports it; thread-safe."""

    def __init__(self, settings: ModelSettings, capabilities: Capabilities | None = None, *, name: str = "") -> None:
        self.settings = settings
        self.capabilities = capabilities or Capabilities()
        self._name = name or settings.embedding_model
        self._client: tuple[int, OpenAI] | None = None
        self._dim: int | None = None
        self._lock = threading.Lock()

    @property
    def model(self) -> str:
        """The name stored with its vectors: the model's, unless another was given."""
        return self._name

    @property
    def dim(self) -> int:
        """The vector length, taken from the first answer."""
        if self._dim is None:
            self.embed_passages(["dimension"])
        assert self._dim is not None
        return self._dim

    def embed_query(self, text: str, timeout: float | None = None) -> Vector:
        """One vector (d,); tried once, because a late answer is of no use to a turn."""
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
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            _close_own(*client)

    def _batch(self, texts: Sequence[str]) -> Vector:
        attempt = 0
        while True:
            try:
                return self._request(texts, self.settings.embedding_timeout)
            except ModelError as error:
                if len(texts) > 1 and error.status in _TOO_MANY:
                    middle = (len(texts) + 1) // 2
                    return np.concatenate([self._batch(texts[:middle]), self._batch(texts[middle:])])
                delay = retry_delay(error, attempt, self.settings)
                if delay is None:
                    raise
                log.info("embedding failed (%s), attempt %d, next in %.1f s", error.code, attempt + 1, delay)
            attempt += 1
            time.sleep(delay)

    def _request(self, texts: Sequence[str], read: float) -> Vector:
        base_url, key = self.settings.endpoint(embeddings=True)
        # Empty input is refused by some servers, and NUL breaks others.
        body: dict[str, Any] = {
            "model": self.settings.embedding_model,
            "input": [text.replace("\0", " ").encode("utf-8", "replace").decode() or " " for text in texts],
            "encoding_format": "base64",
        }
        client = self._connected()
        while True:
            request = adapt_body(body, base_url, self.capabilities)
            try:
                payload = post(client, "/embeddings", request, settings=self.settings, read=read)
                break
            except Exception as exc:
                feature = rejected_feature(exc, request)
                if feature is None or not self.capabilities.accepts(base_url, body["model"], feature):
                    raise classify_exception(exc, has_key=bool(key)) from None
                self.capabilities.refuse(base_url, body["model"], feature)
        rows = _rows(payload, len(texts))
        if self._dim not in (None, rows.shape[1]):
            raise MalformedOutput(
                "The embedding model changed its vector length. Check the name of the embedding model."
            )
        self._dim = rows.shape[1]
        return rows

    def _connected(self) -> OpenAI:
        with self._lock:
            if self._client is None or self._client[0] != os.getpid():
                client = sync_client(self.settings, embeddings=True)
                # A server that is no longer chosen is released here, while somebody may still be using it.
                weakref.finalize(self, _close_own, os.getpid(), client).atexit = False
                self._client = (os.getpid(), client)
            return self._client[1]


def _close_own(pid: int, client: OpenAI) -> None:
    """Close connections in the process that opened them."""
    if pid == os.getpid():
        client.close()


def normalise_rows(rows: Vector) -> Vector:
    """Return rows scaled to unit length, as float32; rows of zeros stay zero."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(lengths, 1e-12), dtype=np.float32)


def _rows(payload: Any, count: int) -> Vector:
    """The vectors of an answer in input order, normalised; `MalformedOutput` unless they are `count` finite rows."""
    try:
        items = payload["data"]
        order = sorted(range(len(items)), key=lambda position: _place(items[position], position))
        vectors = [_vector(items[position]["embedding"]) for position in order]
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
    index = item.get("index")
    return position if index is None else int(index)


def _vector(value: Any) -> Vector:
    if isinstance(value, str):
        return np.frombuffer(base64.b64decode(value, validate=True), dtype="<f4").astype(np.float32)
    return np.asarray(value, dtype=np.float32)
