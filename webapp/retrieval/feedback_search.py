"""A second look at the finds, guided by the best of them: the answers to one question resemble each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from webapp.retrieval.fusion import best_rows
from webapp.retrieval.vectors import VectorStore
from webapp.retrieval.weights import ALIKE_TO, LOOKED_AT, STANDING

Floats = NDArray[np.float32]


def second_look(
    scores: Floats, ranked: NDArray[np.int64], times: NDArray[np.int64], stores: Iterable[VectorStore], weight: float
) -> NDArray[np.int64]:
    """Rank rows again, best first, by how much they resemble the best few; the scores change in place."""
    for store in stores if weight else ():
        held = store.held(ranked[:LOOKED_AT].tolist())
        if len(held) > STANDING:
            look_again(scores, held, store.likeness(held, held[:ALIKE_TO]), weight)
    return ranked[best_rows(scores[ranked], times[ranked], len(ranked))]


def look_again(scores: Floats, rows: Sequence[int], likeness: Floats, weight: float) -> None:
    """Score again, in place, what comes after the first few of some rows, best first, by likeness (n) to the best.

    None of it moves ahead of those first few.
    """
    spread = float(likeness.std())
    if spread < 1e-6:
        return
    later = np.asarray(rows[STANDING:], np.int64)
    again = scores[later] + weight * (likeness[STANDING:] - likeness.mean()) / spread
    scores[later] = np.minimum(again, scores[rows[STANDING - 1]])
