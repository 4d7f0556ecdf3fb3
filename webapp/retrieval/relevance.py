"""Is what was found worth showing to the model? A reply gets nothing rather than noise; pure."""

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
    """Return the words of a question that a search looks for, stemmed."""
    return frozenset(stems(words(text[:4_000])))


def relevant(hits: Sequence[Hit], query_terms: Collection[str]) -> list[Hit]:
    """Return the hits that are relevant to a question with the words `query_terms`, in their order.

    If some are certain, those ranked almost as high are included: an answer need not repeat the question.
    """
    covered = max((hit.parts.get("coverage", 0.0) for hit in hits), default=0.0) >= NEARBY
    return _with_ranked_near(hits, [_relevant(hit, len(query_terms), covered) for hit in hits], NEARLY)


def worth_listing(hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits that a search box shows: by words or by meaning, and any ranked almost as high.

    A query of unknown words without meaning has no results.
    """
    return _with_ranked_near(hits, [bool(hit.matched) or hit.parts.get("meaning", 0.0) >= 1 for hit in hits], LISTED)


def _with_ranked_near(hits: Sequence[Hit], certain: Sequence[bool], share: float) -> list[Hit]:
    """Return the certain hits, and those that rank within a share of the best of them."""
    best = max((hit.score for hit, is_certain in zip(hits, certain, strict=True) if is_certain), default=None)
    if best is None:
        return []
    return [hit for hit, is_certain in zip(hits, certain, strict=True) if is_certain or hit.score >= share * best]


def _relevant(hit: Hit, term_count: int, covered: bool) -> bool:
    # By rarity or by number: among only a few passages every word of the subject is common.
    coverage = max(
        hit.parts.get("coverage", 0.0), len(hit.matched) / term_count - MANY_WORDS + COVERAGE if term_count else 0.0
    )
    meaning = hit.parts.get("meaning", 0.0)
    if meaning >= 1 or coverage >= COVERAGE:
        return True
    if meaning >= SOME_MEANING and coverage >= SOME_COVERAGE:
        return True
    return covered and hit.kind == "message" and hit.parts.get("keyword", 0.0) >= NEARBY


def is_rejected(query_terms: Collection[str], verdicts: Iterable[frozenset[str]]) -> bool:
    """Return whether a passage was called not relevant for a question in much the same words."""
    query_terms = frozenset(query_terms)
    return any(terms and len(query_terms & terms) >= SIMILAR_QUESTION * len(query_terms | terms) for terms in verdicts)
