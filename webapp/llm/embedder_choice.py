"""The choice of the embedder, the home one or a chosen server's, and the cosine from which its texts are related."""

from collections.abc import Callable
from threading import Lock
from urllib.parse import urlsplit

from .capabilities import Capabilities
from .embeddings import Embedder, OpenAIEmbedder
from .encoders import LocalEmbedder, MultilingualEmbedder
from .settings import ModelSettings

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
    of earlier choices.
    """

    def __init__(
        self,
        home: Embedder,
        capabilities: Capabilities | None = None,
        choose: Callable[[], ModelSettings | None] = lambda: None,
        get_settings: Callable[[], ModelSettings | None] = lambda: None,
        served: Callable[[], list[ModelSettings]] = list,
    ) -> None:
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
            return self._home
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
