"""Fusion of rankings, and whether what was found is worth showing: nothing is better than noise; pure."""

from collections.abc import Collection, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from webapp.retrieval.passages import FoundPassage, Hit, Key
from webapp.retrieval.vectors import VectorStore
from webapp.retrieval.weights import (
    ALIKE_TO,
    CLOSE_SHARE,
    COVERAGE,
    DECAY,
    LENDING,
    LENT_AMONG,
    MANY_WORDS,
    MAX_CANDIDATES,
    NEARBY,
    REPEAT_FACTOR,
    SEARCH_SHARE,
    SIMILAR_QUESTION,
    SOME_COVERAGE,
    SOME_MEANING,
    STANDING,
    FusionWeights,
)
from webapp.text.words import stems, words

Floats = NDArray[np.float32]
Mask = NDArray[np.bool_]


def standardise(cosines: Floats, allowed: Mask, counted: Mask) -> Floats:
    """Return z-scores of cosines over the allowed rows, relative to the counted ones; 0 where there is no cosine."""
    mask = allowed & ~np.isnan(cosines)
    sample = mask & counted
    if np.count_nonzero(sample) < 2:
        return np.where(mask, 1.0, 0.0).astype(np.float32)
    values = cosines[sample]
    spread = float(values.std())
    out = np.zeros(len(cosines), np.float32)
    out[mask] = (cosines[mask] - values.mean()) / spread if spread > 1e-6 else 1.0
    return out


def with_neighbours(
    z: Floats, previous: NDArray[np.int32], following: NDArray[np.int32], weights: FusionWeights
) -> Floats:
    """Add to each row's z-score those of its neighbours (row numbers, -1 for none), weighted."""
    if not (weights.previous or weights.following):
        return z
    padded = np.append(z, np.float32(0))
    return np.asarray(z + weights.previous * padded[previous] + weights.following * padded[following], np.float32)


def fuse(
    keyword: Floats, z: Floats | None, allowed: Mask, weights: FusionWeights, context: Floats | None = None
) -> Floats:
    """Return fused scores, -inf where not allowed; the keyword score is relative to the best allowed one.

    `context` by row is near 1 for a short piece and near 0 for a long one, whose vector weighs more.
    """
    best = float(keyword[allowed].max(initial=0.0))
    fused = keyword * np.float32(weights.keyword / best if best > 0 else 0.0)
    if z is not None:
        longer = 0 if context is None else weights.long * (1 - context)
        fused = fused + (weights.vector + longer) * z
    return np.where(allowed, fused, -np.inf).astype(np.float32)


def best_rows(scores: Floats, times: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Return the k best rows with a finite score; among equal scores (to a thousandth) the newest first."""
    k = min(k, len(scores))
    if not k:
        return np.empty(0, np.int64)
    rows = np.argpartition(-scores, k - 1)[:k]
    rows = rows[np.isfinite(scores[rows])]
    return rows[np.lexsort((rows, -times[rows], -np.round(scores[rows], 3)))]


def best_rows_of_groups(
    scores: Floats, times: NDArray[np.int64], k: int, groups: NDArray[np.int64], share: float
) -> NDArray[np.int64]:
    """Like `best_rows`, after the best of a group (by row, 0 for none) lent it a share of their scores, in place."""
    rows = best_rows(scores, times, max(k, LENT_AMONG))
    lent: dict[int, list[float]] = {}
    numbers = groups[rows].tolist()
    for group, score in zip(numbers, scores[rows].tolist(), strict=True):
        best = lent.setdefault(group, [])
        if group and len(best) < LENDING and score > 0:
            best.append(score)
    group_scores = {
        group: share * sum(DECAY**rank * score for rank, score in enumerate(best)) for group, best in lent.items()
    }
    scores[rows] += np.array([group_scores[group] for group in numbers], np.float32)
    return rows[best_rows(scores[rows], times[rows], k)]


def lower_repeats(ranked: Sequence[FoundPassage]) -> list[FoundPassage]:
    """Rank again by score, lowering further pieces of one text; the scores stay what they were."""
    seen: dict[Key, int] = {}
    lowered = []
    for place, item in enumerate(ranked):
        key = item.key
        before = seen.get(key, 0)
        lowered.append((-item.score * REPEAT_FACTOR**before if item.score > 0 else -item.score, place, item))
        seen[key] = before + 1
    return [item for _, _, item in sorted(lowered)]


def rerank(
    scores: Floats, ranked: NDArray[np.int64], times: NDArray[np.int64], stores: Iterable[VectorStore], weight: float
) -> NDArray[np.int64]:
    """Rank rows again, best first, by how much they resemble the best few; the scores change in place."""
    for store in stores if weight else ():
        rows = store.rows_with_vector(ranked[:MAX_CANDIDATES].tolist())
        if len(rows) > STANDING:
            rescore_rest(scores, rows, store.likeness(rows, rows[:ALIKE_TO]), weight)
    return ranked[best_rows(scores[ranked], times[ranked], len(ranked))]


def rescore_rest(scores: Floats, rows: Sequence[int], likeness: Floats, weight: float) -> None:
    """Score again, in place and below the first few, the rest of some rows, best first, by likeness (n) to the best."""
    spread = float(likeness.std())
    if spread < 1e-6:
        return
    later = np.asarray(rows[STANDING:], np.int64)
    second_scores = scores[later] + weight * (likeness[STANDING:] - likeness.mean()) / spread
    scores[later] = np.minimum(second_scores, scores[rows[STANDING - 1]])


def terms_of(text: str) -> frozenset[str]:
    """Return the words of a question that a search looks for, stemmed."""
    return frozenset(stems(words(text[:4_000])))


def relevant(hits: Sequence[Hit], query_terms: Collection[str]) -> list[Hit]:
    """Return the hits relevant to a question with `query_terms`, in order: the certain ones and any close to them."""
    covered = max([hit.parts.get("coverage", 0.0) for hit in hits], default=0.0) >= NEARBY
    return _with_ranked_near(hits, [_relevant(hit, len(query_terms), covered) for hit in hits], CLOSE_SHARE)


def hits_to_show(hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits that a search box shows: by words or meaning, and those ranked almost as high."""
    return _with_ranked_near(
        hits, [bool(hit.matched) or hit.parts.get("meaning", 0.0) >= 1 for hit in hits], SEARCH_SHARE
    )


def _with_ranked_near(hits: Sequence[Hit], certain: Sequence[bool], share: float) -> list[Hit]:
    """Return the certain hits, and those that rank within a share of the best of them."""
    best = max([hit.score for hit, is_certain in zip(hits, certain, strict=True) if is_certain], default=None)
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
