"""The embedding models that come with the product, the choice of one or of a server, and how a process gets vectors."""

import json
import socket
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from threading import Lock
from urllib.parse import urlsplit

import numpy as np

from .capabilities import Capabilities
from .embedding_server import LENGTH, SHAPE, receive
from .embeddings import Embedder, OpenAIEmbedder, Vector
from .encoders import LocalEmbedder, MultilingualEmbedder
from .errors import ModelSilent, ModelUnavailable
from .process import PerProcess
from .settings import ModelSettings

Packaged = type[LocalEmbedder] | type[MultilingualEmbedder]
_BY_SETTING: dict[str, Packaged] = {"local": LocalEmbedder, "multilingual": MultilingualEmbedder}
_BY_NAME = _BY_SETTING | {kind.model: kind for kind in _BY_SETTING.values()}
PASSAGES_SECONDS = 600.0
CONNECT_SECONDS = 5.0
"""How long a process waits for the server to listen, when both have just been started."""


class SharedEmbedder:
    """A packaged model in the machine's embedding server; thread-safe, one connection for queries, one for passages."""

    def __init__(self, model: str, dim: int, path: str) -> None:
        self.model, self.dim = model, dim
        self._lines = {True: _Line(path), False: _Line(path)}

    def embed_query(self, text: str, timeout: float | None = None) -> Vector:
        """Return one vector (d,) within `timeout` seconds. Raises ModelError."""
        vector: Vector = self._ask([text], query=True, seconds=timeout or CONNECT_SECONDS)[0]
        return vector

    def embed_passages(self, texts: Sequence[str]) -> Vector:
        """Return rows (n, d) in the order of `texts`. Raises ModelError."""
        if not texts:
            return np.empty((0, self.dim), np.float32)
        return self._ask(list(texts), query=False, seconds=PASSAGES_SECONDS)

    def close(self) -> None:
        """Close this process's connections."""
        for line in self._lines.values():
            line.close()

    def _ask(self, texts: list[str], *, query: bool, seconds: float) -> Vector:
        body = json.dumps({"model": self.model, "query": query, "texts": texts}).encode()
        rows = self._lines[query].ask(LENGTH.pack(len(body)) + body, seconds)
        if rows.shape != (len(texts), self.dim):
            raise ModelUnavailable("The embedding server gave other vectors than it was asked for.")
        return rows


class _Line:
    """A connection to the embedding server, for one request at a time, made again after a fork or a failure."""

    def __init__(self, path: str) -> None:
        self._lock = threading.Lock()
        self._server = PerProcess(partial(_connect, path), close=socket.socket.close)
        self.close = self._server.close

    def ask(self, request: bytes, seconds: float) -> Vector:
        """Return the rows of an answer. Raises ModelError."""
        until = time.monotonic() + seconds
        if not self._lock.acquire(timeout=seconds):
            raise ModelSilent
        try:
            for is_first in (True, False):
                try:
                    return self._exchange(request, until)
                except TimeoutError:
                    self.close()
                    raise ModelSilent from None
                except OSError:
                    self.close()  # it may have been restarted since the last request
                    if not is_first:
                        raise ModelUnavailable("The embedding server cannot be reached.") from None
            raise AssertionError
        finally:
            self._lock.release()

    def _exchange(self, request: bytes, until: float) -> Vector:
        server = self._server(until)
        server.settimeout(max(0.001, until - time.monotonic()))
        server.sendall(request)
        head = receive(server, SHAPE.size)
        if not head:
            raise ConnectionResetError
        rows, dim = SHAPE.unpack(head)
        return np.frombuffer(receive(server, 4 * rows * dim), "<f4").reshape(rows, dim)


def _connect(path: str, until: float) -> socket.socket:
    until = min(until, time.monotonic() + CONNECT_SECONDS)
    while True:
        server = socket.socket(socket.AF_UNIX)
        try:
            server.connect(path)
        except (FileNotFoundError, ConnectionRefusedError):
            server.close()
            if time.monotonic() >= until:
                raise
            time.sleep(0.02)
        else:
            return server


def packaged_embedder(name: str, path: str = "") -> Embedder | None:
    """Return the model that a setting or a vector names, or None; asks the embedding server at `path`, if any."""
    kind = _BY_NAME.get(name)
    if kind is None:
        return None
    return SharedEmbedder(kind.model, kind.dim, path) if path else kind()


MAX_KEPT = 4


ORDINARY_FLOOR = 0.40
"""For models that have not been measured here."""
FLOORS = {LocalEmbedder.model: 0.40, MultilingualEmbedder.model: 0.24}
"""By model, measured with `python -m bench languages --floors` (docs/benchmarks.md): with MiniLM's, .97 to 1.00 of the
answers in a language lie above it, and one query in six of made-up words finds something among sixty facts; with that
of e5, .97 and one in fifty, and .88 of the answers to a question in another language."""


def name_at(settings: ModelSettings) -> str:
    """Return the name stored with vectors of a chosen server's model, server included: others may use that name."""
    parts = urlsplit(settings.base_url)
    location = parts.netloc.rpartition("@")[2] + parts.path.rstrip("/").removesuffix("/v1")
    return f"{settings.embedding_model}@{location}"[:200]


class Embeddings:
    """The embedders of a process, thread-safe. Code that makes vectors asks `now` once: the choice may change.

    `choose` may look up the chosen server, None for home; `get_settings` returns it at once. `served` lists the servers
    of earlier choices. `stand_in` makes the vectors where home turns out to be a server without embeddings.
    """

    def __init__(
        self,
        home: Embedder,
        capabilities: Capabilities | None = None,
        choose: Callable[[], ModelSettings | None] = lambda: None,
        get_settings: Callable[[], ModelSettings | None] = lambda: None,
        served: Callable[[], list[ModelSettings]] = list,
        stand_in: Embedder | None = None,
    ) -> None:
        self._stand_in = stand_in
        self._home, self._capabilities = home, capabilities
        self._choose, self._get_settings, self._served = choose, get_settings, served
        self._embedders: dict[ModelSettings, OpenAIEmbedder] = {}
        self._lock = Lock()

    def now(self) -> Embedder:
        return self._embedder_at(self._choose())

    @property
    def last(self) -> Embedder:
        """Return the embedder that was chosen when this process last checked; does not look it up."""
        return self._embedder_at(self._get_settings())

    def embedder_of(self, model: str) -> Embedder | None:
        """Return the embedder that made vectors of this name, if its server still exists; otherwise None."""
        if model == self._home.model:
            return self._home
        name, _, _ = model.rpartition("@")
        for server in self._served() if name else ():
            settings = server.with_embeddings(name)
            if name_at(settings) == model:
                return self._embedder_at(settings)
        return None

    def close(self) -> None:
        """Close this process's connections."""
        for embedder in (self._home, *self._embedders.values()):
            if isinstance(embedder, OpenAIEmbedder):
                embedder.close()

    def _embedder_at(self, settings: ModelSettings | None) -> Embedder:
        if settings is None:
            is_served = not isinstance(self._home, OpenAIEmbedder) or self._home.is_served
            return self._home if is_served or self._stand_in is None else self._stand_in
        with self._lock:
            embedder = self._embedders.get(settings)
            if embedder is None:
                while len(self._embedders) >= MAX_KEPT:
                    self._embedders.pop(next(iter(self._embedders)))
                embedder = self._embedders[settings] = OpenAIEmbedder(
                    settings, self._capabilities, name=name_at(settings)
                )
            return embedder


def floor_of(model: str) -> float:
    """Return the cosine from which a passage is relevant by meaning alone, by its vector's model."""
    return FLOORS.get(model, ORDINARY_FLOOR)
