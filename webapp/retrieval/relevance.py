"""Is what was found worth showing to the model? A reply gets nothing rather than noise; pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from webapp.retrieval.passages import Hit
from webapp.retrieval.weights import (
    COVERAGE,
    LISTED,
    MANY_WORDS,
    NEARBY,
    NEARLY,
    SIMILAR_QUESTION,
    SOME_COVERAGE,
    SOME_MEANING,
)
from webapp.text.words import stems, words


def terms_of(text: str) -> frozenset[str]:
    """The words of a question that a search looks for, stemmed."""
    return frozenset(stems(words(text[:4_000])))


def relevant(hits: Sequence[Hit], asked: Collection[str]) -> list[Hit]:
    """The hits of a ranking that are relevant to the question, whose words are `asked`, in their order.

    If some certainly are, those that rank nearly as high come along: an answer need not repeat the question.
    """
    covered = max((hit.parts.get("coverage", 0.0) for hit in hits), default=0.0) >= NEARBY
    certain = [_relevant(hit, len(asked), covered) for hit in hits]
    best = max((hit.score for hit, is_certain in zip(hits, certain, strict=True) if is_certain), default=None)
    if best is None:
        return []
    return [hit for hit, is_certain in zip(hits, certain, strict=True) if is_certain or hit.score >= NEARLY * best]


def worth_listing(hits: Sequence[Hit]) -> list[Hit]:
    """The hits of a ranking that a search box shows: those with the words or near in meaning, and any nearly as good.

    Words that nobody wrote and that mean nothing find nothing.
    """
    certain = [bool(hit.matched) or hit.parts.get("meaning", 0.0) >= 1 for hit in hits]
    best = max((hit.score for hit, is_certain in zip(hits, certain, strict=True) if is_certain), default=None)
    if best is None:
        return []
    return [hit for hit, is_certain in zip(hits, certain, strict=True) if is_certain or hit.score >= LISTED * best]


def _relevant(hit: Hit, asked: int, covered: bool) -> bool:
    # By rarity or by number: among only a few passages every word of the subject is common.
    coverage = max(hit.parts.get("coverage", 0.0), len(hit.matched) / asked - MANY_WORDS + COVERAGE if asked else 0.0)
    meaning = hit.parts.get("meaning", 0.0)
    if meaning >= 1 or coverage >= COVERAGE:
        return True
    if meaning >= SOME_MEANING and coverage >= SOME_COVERAGE:
        return True
    return covered and hit.kind == "message" and hit.parts.get("keyword", 0.0) >= NEARBY


def is_rejected(asked: Collection[str], verdicts: Iterable[frozenset[str]]) -> bool:
    """Return whether a passage was called not relevant for a question in much the same words."""
    asked = frozenset(asked)
    return any(terms and len(asked & terms) >= SIMILAR_QUESTION * len(asked | terms) for terms in verdicts)
