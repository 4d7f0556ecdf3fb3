"""The memory health view: what a user may want to tidy up, found by rules."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from enum import StrEnum

import numpy as np

from webapp.memories.rules.policy import SAME_AT
from webapp.memories.rules.relations import is_same
from webapp.text.canonical import canonical_statement


class Finding(StrEnum):
    """The kinds of finding, in the order of the view."""

    STILL_TRUE = "still_true"
    DUPLICATES = "duplicates"
    AWAITING_REVIEW = "awaiting_review"
    UNSUPPORTED = "unsupported"
    STALE = "stale"
    NEVER_USED = "never_used"


@dataclass(frozen=True)
class Checkup:
    """A memory as the health view needs it. Times are aware; `embedding` is a float32 vector."""

    ref: int
    memory_type: str
    content: str
    origin: str
    created_at: datetime
    updated_at: datetime
    last_used_at: datetime | None = None
    access_count: int = 0
    evidence_count: int = 0
    fact_key: str | None = None
    is_pinned: bool = False
    is_archived: bool = False
    needs_review: bool = False
    valid_to: datetime | None = None
    until: date | None = None
    embedding: np.ndarray | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class HealthPolicy:
    """Limits from which a memory is stale or never used, and two are alike."""

    stale_after: timedelta = timedelta(days=365)
    unused_after: timedelta = timedelta(days=60)
    duplicate_similarity: float = SAME_AT


@dataclass(frozen=True)
class Health:
    """Groups of duplicates (oldest first in each) and the ids of the other findings, in order of id; those that may be
    over (`still_true`) start with the longest past."""

    duplicates: tuple[tuple[int, ...], ...]
    awaiting_review: tuple[int, ...]
    unsupported: tuple[int, ...]
    stale: tuple[int, ...]
    never_used: tuple[int, ...]
    still_true: tuple[int, ...] = ()

    @property
    def counts(self) -> dict[Finding, int]:
        """The number of each kind, for the badges."""
        return {
            Finding.STILL_TRUE: len(self.still_true),
            Finding.DUPLICATES: len(self.duplicates),
            Finding.AWAITING_REVIEW: len(self.awaiting_review),
            Finding.UNSUPPORTED: len(self.unsupported),
            Finding.STALE: len(self.stale),
            Finding.NEVER_USED: len(self.never_used),
        }


DEFAULT_HEALTH = HealthPolicy()


def examine(memories: Iterable[Checkup], now: datetime, policy: HealthPolicy = DEFAULT_HEALTH) -> Health:
    """All findings about one user's open memories; closed and archived ones are skipped.

    What the user wrote or brought in needs no evidence, and pinned memories are never stale.
    """
    open_ones = sorted((m for m in memories if m.valid_to is None and not m.is_archived), key=lambda m: m.ref)
    in_use = [memory for memory in open_ones if not memory.needs_review]
    loose = [memory for memory in in_use if not memory.is_pinned]
    return Health(
        duplicates=tuple(find_duplicates(in_use, policy.duplicate_similarity)),
        awaiting_review=_refs(memory for memory in open_ones if memory.needs_review),
        unsupported=_refs(m for m in open_ones if m.evidence_count == 0 and m.origin not in ("user", "import")),
        stale=_refs(memory for memory in loose if now - _last_sign(memory) > policy.stale_after),
        never_used=_refs(m for m in loose if m.access_count == 0 and now - m.created_at > policy.unused_after),
        still_true=_refs(_longest_due(in_use, now)),
    )


def find_duplicates(memories: Sequence[Checkup], similarity: float) -> list[tuple[int, ...]]:
    """Return groups of two or more that say the same: in the same words, or close enough with the same type and key."""
    parent = {memory.ref: memory.ref for memory in memories}

    def root(ref: int) -> int:
        while parent[ref] != ref:
            parent[ref] = parent[parent[ref]]
            ref = parent[ref]
        return ref

    def join(left: int, right: int) -> None:
        low, high = sorted((root(left), root(right)))
        parent[high] = low

    by_words: dict[str, int] = {}
    for memory in memories:
        join(memory.ref, by_words.setdefault(canonical_statement(memory.content), memory.ref))
    by_kind: dict[tuple[str, str | None, int], list[Checkup]] = defaultdict(list)
    for memory in memories:
        if memory.embedding is not None and memory.embedding.size:
            by_kind[memory.memory_type, memory.fact_key, memory.embedding.size].append(memory)
    for kin in by_kind.values():
        for left, right, likeness in _near_pairs(kin, similarity):
            if is_same(left.content, right.content, likeness, similarity):
                join(left.ref, right.ref)

    groups: dict[int, list[int]] = defaultdict(list)
    for memory in memories:
        groups[root(memory.ref)].append(memory.ref)
    return [tuple(sorted(group)) for _, group in sorted(groups.items()) if len(group) > 1]


def _near_pairs(memories: list[Checkup], similarity: float) -> Iterable[tuple[Checkup, Checkup, float]]:
    """Pairs by cosine, one block of rows at a time, so that memory use stays bounded for large collections."""
    matrix = np.stack([memory.embedding for memory in memories if memory.embedding is not None]).astype(np.float32)
    norms = np.linalg.norm(matrix, axis=1, keepdims=True)
    matrix /= np.where(norms > 0, norms, 1)
    block = max(1, 4_000_000 // len(memories))
    for start in range(0, len(memories), block):
        similarities = matrix[start : start + block] @ matrix.T
        for row, column in np.argwhere(similarities >= similarity):
            left = start + int(row)
            if left < column:
                yield memories[left], memories[int(column)], float(similarities[row, column])


def _longest_due(memories: Iterable[Checkup], now: datetime) -> list[Checkup]:
    """Return memories whose last day has passed, the earliest first."""
    due = [(memory.until, memory) for memory in memories if memory.until is not None and memory.until < now.date()]
    return [memory for _, memory in sorted(due, key=lambda item: (item[0], item[1].ref))]


def _last_sign(memory: Checkup) -> datetime:
    return max(filter(None, (memory.last_used_at, memory.updated_at, memory.created_at)))


def _refs(memories: Iterable[Checkup]) -> tuple[int, ...]:
    return tuple(memory.ref for memory in memories)
