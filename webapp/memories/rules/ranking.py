"""The ranking of memories: the score used in retrieval, and what every prompt always holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from webapp.memories.rules.policy import at_least


@dataclass(frozen=True)
class RankedMemory:
    """A memory as ranking needs it. Times are aware; `last_used_at` is the last access, if any."""

    ref: int
    content: str
    confidence: float
    importance: float
    created_at: datetime
    updated_at: datetime
    last_used_at: datetime | None = None
    fact_key: str | None = None
    fact_value: str | None = None
    is_pinned: bool = False
    is_archived: bool = False
    needs_review: bool = False
    valid_to: datetime | None = None

    @property
    def is_usable(self) -> bool:
        """Return whether it may reach a prompt at all."""
        return not (self.is_archived or self.needs_review or self.valid_to is not None)

    @property
    def line(self) -> str:
        """The memory as one line of a prompt."""
        return f"- {self.content}"


@dataclass(frozen=True)
class RankingPolicy:
    """Decay halves what is above `decay_floor` every `half_life_days` since the last use; the rest are the documented
    limits of what is always known."""

    half_life_days: float = 180.0
    decay_floor: float = 0.5
    known_importance: float = 0.5
    recent_count: int = 10


DEFAULT_RANKING = RankingPolicy()


@dataclass(frozen=True)
class AlwaysKnown:
    """The memories of every prompt, by section, in prompt order; `dropped` counts what did not fit."""

    pinned: tuple[RankedMemory, ...]
    facts: tuple[RankedMemory, ...]
    recent: tuple[RankedMemory, ...]
    tokens: int
    dropped: int

    @property
    def memories(self) -> tuple[RankedMemory, ...]:
        """All of them, in order."""
        return self.pinned + self.facts + self.recent


def decay(memory: RankedMemory, now: datetime, policy: RankingPolicy = DEFAULT_RANKING) -> float:
    """Return a factor from 1 (just used, or pinned) towards the floor."""
    if memory.is_pinned:
        return 1.0
    last_use = max(filter(None, (memory.last_used_at, memory.updated_at, memory.created_at)))
    days = max(0.0, (now - last_use).total_seconds() / 86400)
    return float(policy.decay_floor + (1 - policy.decay_floor) * 0.5 ** (days / policy.half_life_days))


def score(memory: RankedMemory, relevance: float, now: datetime, policy: RankingPolicy = DEFAULT_RANKING) -> float:
    """relevance × confidence × importance × decay. A negative relevance counts as 0."""
    return max(0.0, relevance) * memory.confidence * memory.importance * decay(memory, now, policy)


def always_known(
    memories: Iterable[RankedMemory],
    budget: int,
    count_tokens: Callable[[str], int],
    policy: RankingPolicy = DEFAULT_RANKING,
) -> AlwaysKnown:
    """Pinned memories, keyed facts by importance, and the most recent others, within `budget` tokens.

    Items are never cut: one that does not fit is skipped, and a smaller one after it may still fit. The order depends
    only on the memories, not on their use or the time, so that the prompt's prefix stays the same until memory changes.
    """
    usable = sorted((memory for memory in memories if memory.is_usable), key=lambda memory: memory.ref)
    pinned = [memory for memory in usable if memory.is_pinned]
    facts = [m for m in usable if not m.is_pinned and m.fact_key and at_least(m.importance, policy.known_importance)]
    facts.sort(key=lambda memory: (-memory.importance, memory.fact_key or "", memory.ref))
    refs = {memory.ref for memory in (*pinned, *facts)}
    rest = [memory for memory in usable if memory.ref not in refs]
    recent = sorted(rest, key=lambda memory: (memory.created_at, memory.ref), reverse=True)[: policy.recent_count]

    total = dropped = 0
    sections: list[tuple[RankedMemory, ...]] = []
    for section in (pinned, facts, recent):
        selection, spent = fit(section, budget - total, count_tokens)
        sections.append(selection)
        total += spent
        dropped += len(section) - len(selection)
    shown_pinned, shown_facts, shown_recent = sections
    return AlwaysKnown(shown_pinned, shown_facts, shown_recent, tokens=total, dropped=dropped)


def fit(
    memories: Sequence[RankedMemory], budget: int, count_tokens: Callable[[str], int]
) -> tuple[tuple[RankedMemory, ...], int]:
    """Return the memories that fit, in order, each in full, and the tokens they take (including a line break each)."""
    selection: list[RankedMemory] = []
    total = 0
    for memory in memories:
        price = count_tokens(memory.line) + 1
        if total + price <= budget:
            selection.append(memory)
            total += price
    return tuple(selection), total
