"""Undoing a change set, a list of `Change`s: what can be put back, and what later edits prevent.

Every change of content or status makes a new revision; additional evidence alone does not.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from webapp.memories.rules.kinds import canonical_fact_key


class Obstacle(StrEnum):
    """The reason why a memory cannot be put back."""

    CHANGED_SINCE = "changed_since"
    KEY_TAKEN = "key_taken"
    FORGOTTEN = "forgotten"


@dataclass(frozen=True)
class Snapshot:
    """The state of a memory at one revision. `fields` holds what a revision keeps (content, confidence, valid_to …)."""

    revision: int
    fields: Mapping[str, Any]

    @property
    def is_current(self) -> bool:
        """Return whether the memory was in use."""
        return not any(self.fields.get(name) for name in ("valid_to", "is_archived", "needs_review"))

    @property
    def slot(self) -> str | None:
        """Return the key that it occupies while current."""
        return canonical_fact_key(self.fields.get("fact_key"), self.fields.get("category")) if self.is_current else None

    def equals(self, other: "Snapshot | None") -> bool:
        """Return whether the memory stood like this at another revision, perhaps since later changes were undone."""
        return other is not None and (self.revision == other.revision or self.fields == other.fields)


@dataclass(frozen=True)
class Change:
    """The change of one memory: `before` is None if created, `after` if forgotten; `evidence` are the rows it added."""

    ref: int
    before: Snapshot | None
    after: Snapshot | None
    evidence: frozenset[int] = frozenset()


@dataclass(frozen=True)
class UndoPlan:
    """The undo of a change set as a whole: what to do, or its `obstacles`.

    In this order: `removals` go without a tombstone, `returns` get their earlier fields as a new revision; `evidence`
    are the rows to be removed from each.
    """

    removals: tuple[int, ...] = ()
    returns: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    evidence: Mapping[int, frozenset[int]] = field(default_factory=dict)
    obstacles: Mapping[int, Obstacle] = field(default_factory=dict)


@dataclass(frozen=True)
class Current:
    """The memories of a change set that still exist, which memory holds which key, and what `is_forgotten`.

    `twins`: those of which another memory in use has the earlier words by now, so that they stay as they are.
    """

    memories: Mapping[int, Snapshot] = field(default_factory=dict)
    key_holders: Mapping[str, int] = field(default_factory=dict)
    twins: Collection[int] = ()
    is_forgotten: Callable[[Mapping[str, Any]], bool] = lambda _: False


def plan_undo(changes: Sequence[Change], present: Current) -> UndoPlan:
    """Return how to reverse a change set, or the obstacles: memories that were changed or forgotten since."""
    removals: list[int] = []
    returns: dict[int, Mapping[str, Any]] = {}
    evidence: dict[int, frozenset[int]] = {}
    obstacles: dict[int, Obstacle] = {}
    held_before = {change.ref: change.before.slot if change.before else None for change in changes}
    for change in changes:
        now = present.memories.get(change.ref)
        if now is None:
            if change.before is not None:
                obstacles[change.ref] = Obstacle.FORGOTTEN
            continue
        if change.before is None:
            if not now.equals(change.after):
                obstacles[change.ref] = Obstacle.CHANGED_SINCE
            else:
                removals.append(change.ref)
            continue
        if change.ref in present.twins:
            continue
        if change.after is not None and change.after.fields != change.before.fields and not now.equals(change.before):
            obstacle = _obstacle(change, now, present, held_before)
            if obstacle is not None:
                obstacles[change.ref] = obstacle
                continue
            returns[change.ref] = change.before.fields
        if change.evidence:
            evidence[change.ref] = change.evidence
    if obstacles:
        return UndoPlan(obstacles=obstacles)
    # A memory that gives up its key comes before one that takes it.
    in_order = sorted(returns.items(), key=lambda item: Snapshot(0, item[1]).slot is not None)
    return UndoPlan(tuple(removals), dict(in_order), evidence)


def _obstacle(
    change: Change, now: Snapshot, present: Current, held_before: Mapping[int, str | None]
) -> Obstacle | None:
    if change.before is None or not now.equals(change.after):
        return Obstacle.CHANGED_SINCE
    if present.is_forgotten(change.before.fields):
        return Obstacle.FORGOTTEN
    slot = change.before.slot
    holder = present.key_holders.get(slot) if slot else None
    # A holder that this same undo removes or moves out of the key is not in the way.
    if holder is not None and holder != change.ref and held_before.get(holder, slot) == slot:
        return Obstacle.KEY_TAKEN
    return None
