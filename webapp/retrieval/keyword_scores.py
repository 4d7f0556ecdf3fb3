"""The result of a query's words alone."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
