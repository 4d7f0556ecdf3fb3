"""The result of a query's words alone, and the hits of a search as values: every column is read once for all rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from webapp.retrieval.passages import KINDS, Hit
from webapp.retrieval.weights import BY_MEANING, BY_NEIGHBOURS

Floats = NDArray[np.float32]
Rows = NDArray[np.int32]
Terms = list[tuple[str, float]]
"""Words with their idf."""


@dataclass(frozen=True, slots=True)
class KeywordScores:
    """The result of a query: scores (n rows) and, for each term used, its word, its idf and the rows that have it.

    `total_idf` is the sum of the idf of all terms of the query, found or not.
    """

    scores: Floats
    terms: list[tuple[str, float, Rows]]
    total_idf: float = 0.0

    def terms_in(self, rows: Sequence[int]) -> list[Terms]:
        """Return the terms that each of some rows has: one search per term for all rows."""
        terms: list[Terms] = [[] for _ in rows]
        row_numbers = np.asarray(rows, np.int64)
        for word, idf, having in self.terms:
            if len(having):
                places = np.minimum(np.searchsorted(having, row_numbers), len(having) - 1)
                for number in np.flatnonzero(having[places] == row_numbers).tolist():
                    terms[number].append((word, idf))
        return terms


_PLACES = ("kind", "id", "start", "end")


def hits_of(
    rows: Sequence[int],
    scores: Floats,
    keywords: KeywordScores,
    best: float,
    meaning: Floats,
    z: Floats | None,
    weight: float,
    columns: Mapping[str, NDArray[Any]],
) -> list[Hit]:
    """Return the hits of some rows, in their order.

    By row of the index: `scores`, `meaning` (the cosine, 1 at its model's floor, NaN without one), `z` (of the given
    weight) or None, `columns`. `best` is the best keyword score.
    """
    indices = np.asarray(rows, np.int64)
    places = zip(*(columns[name][indices].tolist() for name in _PLACES), strict=True)
    nearby = (np.full(len(indices), -np.inf) if z is None else z[indices]).tolist()
    values = zip(
        scores[indices].tolist(), keywords.scores[indices].tolist(), meaning[indices].tolist(), nearby, strict=True
    )
    hits = []
    for place, (score, keyword, similarity, deviation), terms in zip(
        places, values, keywords.terms_in(rows), strict=True
    ):
        number_of_kind, number, start, end = place
        kind, keyword = KINDS[number_of_kind], keyword / best
        matched, idfs = zip(*terms, strict=True) if terms else ((), ())
        parts = {
            "keyword": keyword,
            "coverage": sum(idfs) / keywords.total_idf if keywords.total_idf else 0.0,
        }
        if similarity == similarity:  # noqa: PLR0124 - not NaN
            parts["meaning"] = similarity
        reasons = ["words"] if terms else ["words nearby"] if keyword > BY_NEIGHBOURS else []
        reasons += ["meaning"] if deviation * weight >= BY_MEANING or not reasons else []
        hits.append(Hit(kind, number, score, " and ".join(reasons), matched, parts, start, end))
    return hits
