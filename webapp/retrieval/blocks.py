"""Passages on their way from the tables into an index, with their vectors."""

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from webapp.llm.embedder_choice import floor_of
from webapp.retrieval.passages import Passage, Place


@dataclass(slots=True)
class Block:
    """Passages and their vectors: (place, vector) by generation, that is, by model name and width."""

    passages: list[Passage] = field(default_factory=list)
    vectors: dict[str, list[tuple[Place, NDArray[np.float32]]]] = field(default_factory=lambda: defaultdict(list))

    def put(self, passage: Passage, model: str | None, raw: bytes | None) -> None:
        self.passages.append(passage)
        self.put_vector(passage.place, model, raw)

    def put_vector(self, place: Place, model: str | None, raw: bytes | None) -> None:
        if raw and model:
            vector = np.frombuffer(raw, np.float32)
            self.vectors[generation(model, len(vector))].append((place, vector))


def generation(model: str, width: int) -> str:
    """Return vectors with the same generation may be compared."""
    return f"{model}/{width}"


def model_of(name: str) -> str:
    return name.rpartition("/")[0]


def floor(name: str) -> float:
    """Return the cosine from which two vectors of a generation count as related."""
    return floor_of(model_of(name))
