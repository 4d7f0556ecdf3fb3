"""Vectors of queries, in time or not at all: a turn never waits for an embedder that is slow or unreachable."""

import logging
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait as wait_for
from dataclasses import dataclass, replace

from webapp.config import Settings
from webapp.extensions import Part
from webapp.llm.embeddings import Embedder, OpenAIEmbedder, Vector
from webapp.llm.errors import ModelError
from webapp.llm.packaged_models import Embeddings, packaged_embedder
from webapp.retrieval.vectors import generation, model_of

log = logging.getLogger(__name__)

THREADS = 4
CACHE_SIZE = 256
MAX_CHARS = 2_000
FAILURES = 3
"""Failures in a row after which the embedder is left alone for REST_SECONDS."""
REST_SECONDS = 10.0


@dataclass(slots=True)
class PendingQuery:
    """A query whose vector is being made: its `text`, the model, when it was asked for, and the future vector."""

    text: str
    model: str
    start: float
    future: Future[Vector] | None

    @property
    def is_ready(self) -> bool:
        return self.future is None or self.future.done()


class QueryVectors:
    """A thread-safe cache of query vectors; `make` gives an older model's embedder; a failing one is tried seldom."""

    def __init__(self, current: Embeddings, seconds: float, make: Callable[[str], Embedder | None]) -> None:
        self._embedders: dict[str, Embedder | None] = {}
        self._current = current
        self._model = ""  # known once somebody asks: the application chooses the model
        self._seconds = seconds
        self._make = make
        self._lock = threading.Lock()
        self._cache: OrderedDict[tuple[str, str], Vector] = OrderedDict()
        self._pending: dict[tuple[str, str], tuple[float, Future[Vector]]] = {}
        self._pool: tuple[int, ThreadPoolExecutor] | None = None
        self._failures = 0
        self._rests_until = 0.0

    @property
    def is_away(self) -> bool:
        """Return whether the embedder has failed repeatedly: search then goes by words alone."""
        return self._failures >= FAILURES

    def start(self, text: str) -> PendingQuery:
        """Start making a query's vector, unless it is being made, the embedder rests, or the query is empty."""
        text = " ".join(text.split())[:MAX_CHARS]
        model = self._current_model()
        start, future = self._submit(model, text) if text else (time.monotonic(), None)
        return PendingQuery(text, model, start, future)

    def _current_model(self) -> str:
        """Return the model that makes vectors now, as far as this process knows. A new one has no failures yet."""
        current = self._current.last
        with self._lock:
            if current.model != self._model:
                self._model, self._failures = current.model, 0
            self._embedders[current.model] = current
        return current.model

    def result(self, query: PendingQuery, generations: Sequence[str] = ()) -> dict[str, Vector]:
        """Return the query's vectors for an index's `generations`, as far as they arrive before its deadline."""
        futures: dict[str, Future[Vector]] = {}
        if query.future is not None:
            futures[query.model] = query.future
            older = {model_of(name) for name in generations} - {query.model}
            futures |= {
                model: future
                for model in sorted(older)[:2]
                if (future := self._submit(model, query.text)[1]) is not None
            }
        seconds = query.start + self._seconds - time.monotonic()
        done, late = wait_for(futures.values(), timeout=max(0.0, seconds))
        if late:
            self._failed("late")
        vectors = [(model, future) for model, future in futures.items() if future in done and not future.exception()]
        return {generation(model, len(future.result())): future.result() for model, future in vectors}

    def _submit(self, model: str, text: str) -> tuple[float, Future[Vector] | None]:
        """Return when the vector was first asked for, and the vector to come, if there will be one."""
        now = time.monotonic()
        with self._lock:
            vector = self._cache.get((model, text))
            if vector is not None:
                self._cache.move_to_end((model, text))
                ready: Future[Vector] = Future()
                ready.set_result(vector)
                return now, ready
            if (pending := self._pending.get((model, text))) is not None:
                return pending
            if self._failures >= FAILURES and now < self._rests_until:
                return now, None
            if self._failures >= FAILURES:  # one tries; the others continue without it until there is an answer
                self._rests_until = now + REST_SECONDS
            if self._pool is None or self._pool[0] != os.getpid():
                self._pending.clear()
                self._pool = (os.getpid(), ThreadPoolExecutor(THREADS, thread_name_prefix="query-vector"))
            future = self._pool[1].submit(self._embed, model, text)
            self._pending[model, text] = now, future
        future.add_done_callback(lambda _done: self._store_answer(model, text))
        return now, future

    def _store_answer(self, model: str, text: str) -> None:
        with self._lock:
            self._pending.pop((model, text), None)

    def _embed(self, model: str, text: str) -> Vector:
        try:
            if model not in self._embedders:
                self._embedders[model] = self._make(model)
            embedder = self._embedders[model]
            if embedder is None:
                raise ModelError
            # After the deadline the answer still serves anyone who asks the same again, but not for long.
            vector = embedder.embed_query(text, timeout=max(1.0, 4 * self._seconds))
        except ModelError as error:
            if model == self._model:
                self._failed(error.code)
            else:
                self._embedders[model] = None  # an older model that is no longer served
            raise
        with self._lock:
            if model == self._model:
                self._failures = 0
            self._cache[model, text] = vector
            while len(self._cache) > CACHE_SIZE:
                self._cache.popitem(last=False)
        return vector

    def _failed(self, why: str) -> None:
        with self._lock:
            self._failures += 1
            if self._failures == FAILURES:
                self._rests_until = time.monotonic() + REST_SECONDS
                log.warning("embedder left alone for a while", extra={"code": why})


def make_query_vectors(current: Embeddings, settings: Settings) -> QueryVectors:
    """Return the query vectors of a process."""

    def older(model: str) -> Embedder | None:
        if (client := current.embedder_of(model)) is not None or "@" in model:
            return client
        packaged = packaged_embedder(model, settings.embedder_socket)
        return packaged or OpenAIEmbedder(replace(settings.model, embedding_model=model))

    return QueryVectors(current, settings.embedding_query_seconds, older)


query_vectors: Part[QueryVectors] = Part("query_vectors")
