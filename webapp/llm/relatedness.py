"""The cosine from which two texts count as related, which differs for every embedding model; pure."""

from __future__ import annotations

from .minilm import LocalEmbedder
from .multilingual import MultilingualEmbedder

ORDINARY = 0.40
"""For models that have not been measured here."""
FLOORS = {LocalEmbedder.model: 0.40, MultilingualEmbedder.model: 0.24}
"""By model, measured with `python -m bench languages --floors` (docs/benchmarks.md): with MiniLM's, .97 to 1.00 of the
answers in a language lie above it, and one query in six of made-up words finds something among sixty facts; with that
of e5, .97 and one in fifty, and .88 of the answers to a question in another language."""


def floor_of(model: str) -> float:
    """The cosine from which a passage counts as relevant for its meaning alone, by the name stored with its vector."""
    return FLOORS.get(model, ORDINARY)
