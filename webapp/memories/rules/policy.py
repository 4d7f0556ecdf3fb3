"""The thresholds, the rule of precedence between two statements, a memory's worth, and plans of the absent."""

from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import datetime
from enum import StrEnum

from webapp.memories.rules.state import (
    AddEvidence,
    Close,
    Effect,
    Flag,
    Insert,
    KnownMemory,
    MemoryRef,
    Moment,
    Origin,
    Revise,
)

# Confidences come back from the database as single-precision floats: 0.95 is 0.949999988 there.
_TOLERANCE = 1e-6


SAME_COSINE = 0.84
"""The cosine from which two statements in the same words, in whatever form and order, are one (`bench duplicates`)."""
MAYBE_SAME_COSINE = 0.70
"""The cosine from which a pair is shown to the model at night: 35 of the 61, and 37 others."""
RELATED_COSINE = 0.35
"""The cosine from which a statement may be about a memory that it shares no word with."""
MIN_CONFIDENCE, MIN_IMPORTANCE = 0.4, 0.2
"""What is surer and more important than this is kept at all."""
USABLE_AT, CORRECTION_AT = 0.6, 0.8
"""The confidence from which a statement is used without asking the user, and from which it replaces any other."""
HALF_LIFE_DAYS = 180.0
DECAY_FLOOR = 0.5


class ClaimStanding(StrEnum):
    """A later statement replaces the current one, is used beside it, waits for the user, or yields."""

    REPLACES = "replaces"
    PRECEDES = "precedes"
    WAITS = "waits"
    YIELDS = "yields"


def may_replace(confidence: float, current: float) -> bool:
    """A later statement replaces at equal or higher confidence, and always if it is sure enough in itself."""
    return at_least(confidence, min(current, CORRECTION_AT))


def at_least(value: float, bound: float) -> bool:
    """`value >= bound`, allowing for what single precision loses."""
    return value >= bound - _TOLERANCE


def is_older(moment: Moment, memory: KnownMemory) -> bool:
    """Return whether something was said before the memory was last confirmed, and so must not replace it."""
    last = memory.last_moment
    return last is not None and moment < last


def retention(confidence: float, importance: float, last_sign: datetime, now: datetime, *, is_pinned: bool) -> float:
    """Return what a memory counts for beside its relevance: confidence × importance × decay.

    `last_sign` is when it was last used or changed: from then on what is above DECAY_FLOOR halves every
    HALF_LIFE_DAYS, unless it is pinned.
    """
    if is_pinned:
        return confidence * importance
    days = max(0.0, (now - last_sign).total_seconds() / 86400)
    return float(confidence * importance * (DECAY_FLOOR + (1 - DECAY_FLOOR) * 0.5 ** (days / HALF_LIFE_DAYS)))


def for_review(
    effects: Iterable[Effect], proposed_refs: Collection[MemoryRef] = (), origin: Origin = "import"
) -> list[Effect]:
    """Return the effects as proposals: new memories wait, and only those in review (`proposed_refs`) are changed."""
    effects = list(effects)
    proposals: list[Effect] = []
    refs = set(proposed_refs)
    # A memory in use would wait from here on beside the new one: it stays, and the new one waits beside it.
    contradictions = {
        effect.contradicts: effect.ref for effect in effects if isinstance(effect, Flag) and effect.ref > 0
    }
    for effect in effects:
        if isinstance(effect, Insert):
            if effect.overruled_by is None:
                is_known = effect.contradicts in refs or (effect.contradicts or 0) > 0
                contradicts = effect.contradicts if is_known else contradictions.get(effect.ref)
                draft = replace(effect.draft, origin=origin)
                proposals.append(replace(effect, draft=draft, needs_review=True, contradicts=contradicts))
                refs.add(effect.ref)
        elif effect.ref not in refs:
            continue
        elif isinstance(effect, AddEvidence):
            proposals.append(replace(effect, clears_review=False))
        elif isinstance(effect, Revise) or (isinstance(effect, Close) and effect.superseded_by in (None, *refs)):
            proposals.append(effect)
    return proposals
