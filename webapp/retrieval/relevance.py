"""Is what was found worth showing to the model? A reply gets nothing rather than noise; pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from webapp.retrieval.passages import Hit
from webapp.text.words import stems, words

MEANING = 0.40
"""Cosine from which on a passage is taken for its meaning alone."""
COVERAGE = 0.34
"""Share of the question's words, by rarity, from which on a passage is taken for its words alone."""
SOME_MEANING, SOME_COVERAGE = 0.25, 0.15
MANY_WORDS = 0.5
"""The same share by number of words."""
NEARBY = 0.5
"""Keyword score, relative to the best, of a message that answers what the one before it asked."""
ALIKE = 0.5
UNWANTED = 0.25
"""What is left of the score of a passage that was called not relevant for such a question."""


def terms_of(text: str) -> frozenset[str]:
    """The words of a question that a search looks for, stemmed."""
    return frozenset(stems(words(text[:4_000])))


def relevant(hits: Sequence[Hit], asked: Collection[str]) -> list[Hit]:
    """Those of a ranking that have something to do with the question, whose words are `asked`, in their order."""
    covered = max((hit.parts.get("coverage", 0.0) for hit in hits), default=0.0) >= NEARBY
    return [hit for hit in hits if _relevant(hit, len(asked), covered)]


def _relevant(hit: Hit, asked: int, covered: bool) -> bool:
    # By rarity or by number: among a few passages every word of the subject is common.
    coverage = max(hit.parts.get("coverage", 0.0), len(hit.matched) / asked - MANY_WORDS + COVERAGE if asked else 0.0)
    cosine = hit.parts.get("cosine", 0.0)
    if cosine >= MEANING or coverage >= COVERAGE:
        return True
    if cosine >= SOME_MEANING and coverage >= SOME_COVERAGE:
        return True
    return covered and hit.kind == "message" and hit.parts.get("keyword", 0.0) >= NEARBY


def unwanted(asked: Collection[str], verdicts: Iterable[frozenset[str]]) -> bool:
    """Whether a passage was called not relevant for a question in much the same words."""
    asked = frozenset(asked)
    return any(terms and len(asked & terms) >= ALIKE * len(asked | terms) for terms in verdicts)
