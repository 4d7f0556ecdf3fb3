"""Similarity at which two statements are one; pure."""

from __future__ import annotations

import numpy as np

from webapp.memories.rules.grounding import particulars_of
from webapp.text.words import stems, words


def cosine(left: np.ndarray | None, right: np.ndarray | None) -> float:
    """Return the cosine of two vectors of the same length; 0 if one is missing or zero, or their lengths differ."""
    if left is None or right is None or left.shape != right.shape:
        return 0.0
    norm = float(np.linalg.norm(left) * np.linalg.norm(right))
    return float(np.dot(left, right)) / norm if norm > 0 else 0.0


def is_same(left: str, right: str, similarity: float, same_at: float) -> bool:
    """Tell whether two statements say the same: their vectors are near, and they have the same words in some form.

    Vectors hardly reflect a "not", a number or a name; every word counts, so that whoever likes tea does not merge with
    whoever does not.
    """
    return similarity >= same_at and particulars_of(left) == particulars_of(right) and _forms(left) == _forms(right)


def may_be_same(left: str, right: str, similarity: float, maybe_at: float) -> bool:
    """Tell whether two statements may say the same in other words, so that somebody has to read them to tell."""
    return similarity >= maybe_at and particulars_of(left) == particulars_of(right)


def _forms(statement: str) -> frozenset[str]:
    folded = words(statement)
    return frozenset(term or word for term, word in zip(stems(folded, keep_stop_words=True), folded, strict=True))
