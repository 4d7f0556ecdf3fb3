"""From which cosine on two texts have to do with each other: another number for every embedding model; pure."""

from __future__ import annotations

from .local import LocalEmbedder
from .multilingual import MultilingualEmbedder

ORDINARY = 0.40
"""For a model that nobody here measured."""
FLOORS = {LocalEmbedder.model: 0.40, MultilingualEmbedder.model: 0.24}
"""By model, measured with `python -m bench languages --floors` (docs/benchmarks.md): MiniLM's leaves .97 to 1.00 of the
answers of a language above it, and of made-up words one query in six finds something among sixty facts; that of e5 .97
and one in fifty, and .88 of the answers to a question in another language."""


def floor_of(model: str) -> float:
    """The cosine from which on a passage is taken for its meaning alone, by the name stored with its vector."""
    return FLOORS.get(model, ORDINARY)
