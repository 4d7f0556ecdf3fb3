"""A user's decisions: memories in review, contradictions, and statements written by hand."""

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from webapp.errors import Conflict
from webapp.memories.rules.state import Close, Draft, Effect, Insert, KnownMemory, MemoryRef, Moment
from webapp.text.canonical import canonical_statement


class Decision(StrEnum):
    """The documented decisions. `reject` says that the memory in review is wrong."""

    ACCEPT = "accept"
    REJECT = "reject"
    REPLACE = "replace"
    BOTH = "both"
    UNTIL = "until"


Edits = dict[MemoryRef, dict[str, Any]]
"""New values for some fields of memories, named as in `KnownMemory` (and `valid_from`), in the order to set them."""


def settle(
    decision: Decision,
    memory: KnownMemory,
    other: KnownMemory | None,
    moment: datetime,
    until: datetime | None = None,
    waiting: Collection[KnownMemory] = (),
) -> Edits:
    """Return the edits of the user's decision about a memory in review; none for `reject`, which forgets it.

    `other` is contradicted, or holds its key: accepted, it is replaced; with `replace` and `until` the later replaces
    the earlier; of two that are both true, the accepted one goes without a key. Who chooses the value of a key replaces
    the earlier ones still `waiting`. Raises Conflict if another memory is needed, or this one is not waiting.
    """
    if decision is Decision.REPLACE and not memory.is_open and memory.superseded_by is not None:
        return _reinstate(memory, other, moment)
    if not memory.needs_review or not memory.is_open:
        raise Conflict("That memory no longer waits for a decision; nothing was changed.")
    if decision is Decision.REJECT:
        return {}
    current = other if other is not None and other.is_open and other.ref != memory.ref else None
    accepted: dict[str, Any] = {"needs_review": False, "contradicts": None}
    if decision is Decision.ACCEPT and current is None:
        return {memory.ref: accepted | {"asserted_at": moment}}
    if current is None:
        raise Conflict("This decision needs the other memory.")
    if decision is Decision.BOTH:
        if memory.slot and memory.slot == current.slot:
            accepted |= {"fact_key": None, "fact_value": None}
        return {
            current.ref: {"settled_with": current.settled_with | {memory.ref}},
            memory.ref: accepted | {"settled_with": memory.settled_with | {current.ref}},
        }
    is_until = decision is Decision.UNTIL
    end, fields = (until, {"valid_from": until}) if is_until else (moment, {})
    loses = decision is not Decision.ACCEPT and is_earlier(memory.last_moment, current.last_moment)
    winner = current if loses else memory
    ended = {"valid_to": end, "superseded_by": winner.ref}
    if loses:
        edits = {memory.ref: accepted | ended} | ({current.ref: fields} if is_until else {})
    else:
        edits = {current.ref: ended, memory.ref: accepted | fields}
    stale = [
        rival
        for rival in waiting
        if not is_until
        and rival.ref not in (memory.ref, current.ref)
        and rival.slot is not None
        and rival.slot == winner.slot
        and not rival.is_protected
        and is_earlier(rival.last_moment, winner.last_moment)
    ]
    return {rival.ref: accepted | ended for rival in stale} | edits


def is_earlier(moment: Moment | None, other: Moment | None) -> bool:
    """Return whether something was last said before something else."""
    return moment is not None and other is not None and moment < other


def _reinstate(memory: KnownMemory, other: KnownMemory | None, moment: datetime) -> Edits:
    edits = {memory.ref: {"valid_to": None, "superseded_by": None, "needs_review": False, "contradicts": None}}
    if other is None or not other.is_open or other.ref == memory.ref:
        return edits
    return {other.ref: {"valid_to": moment, "superseded_by": memory.ref}} | edits


def store_user_value(draft: Draft, memories: Collection[KnownMemory], moment: datetime) -> tuple[Effect, ...]:
    """Store what the user wrote (reference -1): it replaces any other value of its key and any other memory in the same
    words, waiting ones included, whose key it takes if it has none. `memories` are those of the same scope."""
    form = canonical_statement(draft.content)
    keyed = [memory for memory in memories if memory.is_current and memory.form == form and memory.slot]
    if keyed and draft.slot is None:
        draft = replace(draft, fact_key=keyed[0].fact_key, category=keyed[0].category, fact_value=keyed[0].fact_value)
    replaced = [
        memory
        for memory in memories
        if memory.is_open and (memory.form == form or (draft.slot is not None and memory.slot == draft.slot))
    ]
    effects = [
        Close(memory.ref, moment, superseded_by=-1) for memory in sorted(replaced, key=lambda memory: memory.ref)
    ]
    return (*effects, Insert(-1, draft, evidence=()))
