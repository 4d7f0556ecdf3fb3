"""The decisions of a run of the engine, and the working copy of memory on which it decides."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

from webapp.memories.rules.check import Claim, Refusal
from webapp.memories.rules.policy import is_older
from webapp.memories.rules.state import (
    AddEvidence,
    Close,
    Effect,
    Flag,
    Insert,
    KnownMemory,
    MemoryRef,
    Revise,
    apply_effect,
)
from webapp.text.words import stems, words


@dataclass(frozen=True)
class Plan:
    """The effects in the order to apply them, and why operations, by their position in the answer, had none."""

    effects: tuple[Effect, ...] = ()
    rejections: Mapping[int, Refusal] = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, int]:
        """Return how much was added, updated, superseded, retracted, merged, put in review, disputed, overruled and
        rejected."""
        successors = {e.superseded_by for e in self.effects if isinstance(e, Close) and e.superseded_by is not None}
        inserts = [effect for effect in self.effects if isinstance(effect, Insert)]
        flags = [effect for effect in self.effects if isinstance(effect, Flag)]
        close_effects = [effect for effect in self.effects if isinstance(effect, Close)]
        return {
            "added": sum(e.overruled_by is None and e.ref not in successors for e in inserts),
            "updated": sum(isinstance(effect, Revise) for effect in self.effects),
            "superseded": sum(effect.superseded_by is not None for effect in close_effects),
            "retracted": sum(effect.superseded_by is None for effect in close_effects),
            "merged": sum(isinstance(effect, AddEvidence) for effect in self.effects),
            "in_review": sum(e.needs_review for e in inserts) + sum(e.contradicts is None for e in flags),
            "disputed": sum(effect.contradicts is not None for effect in flags),
            "overruled": sum(effect.overruled_by is not None for effect in inserts),
            "rejected": len(self.rejections),
        }

    @property
    def reasons(self) -> dict[str, int]:
        """Return rejected operations by reason, for logs and the change set's report."""
        return dict(sorted(Counter(reason.value for reason in self.rejections.values()).items()))


class Board:
    """Memory as it will be: every effect is applied when it is decided, so that later claims see earlier ones."""

    def __init__(self, memories: Iterable[KnownMemory]) -> None:
        self._memories = {memory.ref: memory for memory in memories}
        self._next = min([0, *self._memories]) - 1
        self.effects: list[Effect] = []

    def get(self, ref: MemoryRef | None) -> KnownMemory | None:
        """Return the memory's current state."""
        return self._memories.get(ref) if ref is not None else None

    def find(self, predicate: Callable[[KnownMemory], bool]) -> KnownMemory | None:
        """Return the first match: current before waiting before archived before closed, then the lowest reference."""
        return next(self.find_all(predicate), None)

    def find_all(self, predicate: Callable[[KnownMemory], bool]) -> Iterator[KnownMemory]:
        """Return all matches, in the order of `find`."""
        return (memory for memory in sorted(self._memories.values(), key=_sort_key) if predicate(memory))

    def in_slot(self, slot: str) -> list[KnownMemory]:
        """Return the history of one key, current first."""
        return list(self.find_all(lambda memory: memory.slot == slot))

    def find_statement(self, form: str) -> KnownMemory | None:
        """Return an open memory with exactly this statement, in canonical form."""
        return self.find(lambda memory: memory.is_open and memory.form == form)

    def insert(
        self,
        claim: Claim,
        needs_review: bool = False,
        contradicts: MemoryRef | None = None,
        overruled_by: MemoryRef | None = None,
        replaces: Iterable[KnownMemory] = (),
        precedes: KnownMemory | None = None,
    ) -> KnownMemory:
        """Add a memory, first closing those it replaces, or sending to review the one that it is used instead of."""
        ref, self._next = self._next, self._next - 1
        if precedes is not None:
            self.apply(Flag(precedes.ref, ref))
        for memory in replaces:
            self.apply(Close(memory.ref, claim.evidence.said_at, superseded_by=ref))
        self.apply(
            Insert(ref, claim.draft, (claim.evidence,), needs_review, contradicts, overruled_by, claim.embedding)
        )
        return self._memories[ref]

    def add_evidence(self, memory: KnownMemory, claim: Claim, is_used: bool = False) -> None:
        """Add evidence to a memory; what the user wrote keeps its own confidence."""
        confidence = memory.confidence if memory.is_protected else max(memory.confidence, claim.draft.confidence)
        self.apply(AddEvidence(memory.ref, (claim.evidence,), confidence, _last_day(memory, claim), is_used))

    def assign_key(self, memory: KnownMemory, claim: Claim) -> None:
        """File a memory under the key of a claim that says the same; the fuller one keeps its wording."""
        is_superset = set(stems(words(memory.content))) >= set(stems(words(claim.draft.content)))
        draft = replace(
            claim.draft,
            content=memory.content if is_superset else claim.draft.content,
            confidence=max(memory.confidence, claim.draft.confidence),
            importance=max(memory.importance, claim.draft.importance),
            until=_last_day(memory, claim),
        )
        embedding = memory.embedding if is_superset else claim.embedding
        evidence = () if memory.rests_on(claim.evidence) else (claim.evidence,)
        self.apply(Revise(memory.ref, draft, evidence, embedding))

    def apply(self, effect: Effect) -> None:
        """Decide on an effect."""
        apply_effect(self._memories, effect)
        self.effects.append(effect)


def _last_day(memory: KnownMemory, claim: Claim) -> date | None:
    """Return the last day of a memory that a claim repeats: the one said last, but none if the memory had no end."""
    if memory.until is None or memory.is_protected or is_older(claim.evidence.moment, memory):
        return memory.until
    return claim.draft.until or (memory.until if memory.until >= claim.evidence.said_at.date() else None)


def _sort_key(memory: KnownMemory) -> tuple[Any, ...]:
    # Stored references count up and planned ones down from -1, so the absolute value orders each kind by age.
    return (not memory.is_open, memory.is_archived, memory.needs_review, memory.ref < 0, abs(memory.ref))
