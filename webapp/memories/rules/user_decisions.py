"""A user's decisions: memories in review, contradictions, and statements written by hand."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from webapp.memories.rules.state import Close, Draft, Effect, Insert, KnownMemory, MemoryRef
from webapp.text.canonical import canonical_statement


class Decision(StrEnum):
    """The documented decisions. `reject` says that the memory in review is wrong."""

    ACCEPT = "accept"
    REJECT = "reject"
    REPLACE = "replace"
    BOTH = "both"
    UNTIL = "until"


class ReviewConflict(ValueError):
    """The decision cannot be carried out on these memories; the message says why."""


@dataclass(frozen=True)
class Edit:
    """New values for some fields of a memory, named as in `KnownMemory` (and `valid_from`)."""

    ref: MemoryRef
    fields: Mapping[str, Any]


def settle(
    decision: Decision,
    memory: KnownMemory,
    other: KnownMemory | None,
    moment: datetime,
    until: datetime | None = None,
) -> tuple[Edit, ...]:
    """Return the edits, in order, by which the user's decision about a memory in review takes effect; `reject` makes
    none: the memory is to be forgotten, so that it is not learned again.

    `other` is the memory that it contradicts, or the one that holds its key. Accepting against another means that the
    accepted one replaces it; `replace` and `until` mean that the later of the two replaces the earlier, whichever
    waits. A key holds one value at a time: of two that are both true, the accepted one goes without. Raises
    ReviewConflict if a decision needs another memory or a date that is not given, or if the memory is not waiting. What
    was not accepted, or was replaced, can still replace the other.
    """
    if decision is Decision.REPLACE and not memory.is_open and memory.superseded_by is not None:
        return _after_all(memory, other, moment)
    if not memory.needs_review or not memory.is_open:
        raise ReviewConflict("this memory does not wait for a decision")
    if decision is Decision.REJECT:
        return ()
    current = other if other is not None and other.is_open and other.ref != memory.ref else None
    accepted: dict[str, Any] = {"needs_review": False, "contradicts": None}
    if decision is Decision.ACCEPT and current is None:
        return (Edit(memory.ref, accepted),)
    if current is None:
        raise ReviewConflict(f"'{decision.value}' needs the other memory")
    if decision is Decision.BOTH:
        if memory.slot and memory.slot == current.slot:
            accepted |= {"fact_key": None, "fact_value": None}
        return (
            Edit(current.ref, {"settled_with": current.settled_with | {memory.ref}}),
            Edit(memory.ref, accepted | {"settled_with": memory.settled_with | {current.ref}}),
        )
    end = moment
    if decision is Decision.UNTIL:
        if until is None:
            raise ReviewConflict("'until' needs a date")
        end = until
    fields = {"valid_from": until} if decision is Decision.UNTIL else {}
    if decision is not Decision.ACCEPT and is_earlier(memory, current):
        edit = Edit(memory.ref, accepted | {"valid_to": end, "superseded_by": current.ref})
        return (edit, Edit(current.ref, fields)) if fields else (edit,)
    return (
        Edit(current.ref, {"valid_to": end, "superseded_by": memory.ref}),
        Edit(memory.ref, accepted | fields),
    )


def is_earlier(memory: KnownMemory, other: KnownMemory) -> bool:
    """Tell whether a memory was last said before another."""
    own_moment, other_moment = memory.last_moment, other.last_moment
    return own_moment is not None and other_moment is not None and own_moment < other_moment


def _after_all(memory: KnownMemory, other: KnownMemory | None, moment: datetime) -> tuple[Edit, ...]:
    edit = Edit(memory.ref, {"valid_to": None, "superseded_by": None, "needs_review": False, "contradicts": None})
    if other is None or not other.is_open or other.ref == memory.ref:
        return (edit,)
    return (Edit(other.ref, {"valid_to": moment, "superseded_by": memory.ref}), edit)


def place_by_hand(draft: Draft, memories: Iterable[KnownMemory], moment: datetime) -> tuple[Effect, ...]:
    """Store what the user wrote (reference -1): it replaces any other value of its key and any other memory in the same
    words, waiting ones included. `memories` are those of the same scope."""
    form = canonical_statement(draft.content)
    replaced = [
        memory
        for memory in memories
        if memory.is_open
        and (canonical_statement(memory.content) == form or (draft.slot is not None and memory.slot == draft.slot))
    ]
    effects = [
        Close(memory.ref, moment, superseded_by=-1) for memory in sorted(replaced, key=lambda memory: memory.ref)
    ]
    return (*effects, Insert(-1, draft, evidence=()))
