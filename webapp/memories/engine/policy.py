"""The thresholds and the rule of precedence between two statements of one fact."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from webapp.memories.engine.state import KnownMemory, Moment

# Confidences come back from the database as single-precision floats: 0.95 is 0.949999988 there.
_TOLERANCE = 1e-6


SAME_AT = 0.84
"""Cosine from which on two statements are one, if they differ in no telling word (`likeness`). Fitted by `bench
duplicates` on labelled pairs in 14 languages: of 76 that differ none is merged, of 61 that say the same 7. The same
pairs fitted it and are counted: that says nothing about others. Without the rule about words no threshold will do: at
.93, as it was, "lives in Busan" became "lives in Seoul"."""
MAYBE_SAME_AT = 0.70
"""Cosine from which on a pair is put before the model at night: 35 of the 61, and 37 others."""


class Standing(StrEnum):
    """A later statement against the current one: it replaces it, waits beside it for the user, or yields to it."""

    REPLACES = "replaces"
    WAITS = "waits"
    YIELDS = "yields"


@dataclass(frozen=True)
class Policy:
    """What is kept, what waits for the user, and what may replace what; every value is in 0–1."""

    min_confidence: float = 0.4
    min_importance: float = 0.2
    review_below: float = 0.6
    correction_at: float = 0.8
    merge_similarity: float = SAME_AT
    contradiction_similarity: float = 0.85
    related_similarity: float = 0.35
    about_the_user: bool = True
    """Whether statements are about who makes them; in a legacy they are about the person remembered."""

    def is_credible(self, confidence: float) -> bool:
        """Certain enough to be kept at all."""
        return at_least(confidence, self.min_confidence)

    def is_worthwhile(self, importance: float) -> bool:
        """Important enough to be kept at all."""
        return at_least(importance, self.min_importance)

    def is_usable(self, confidence: float) -> bool:
        """Certain enough to be used without asking the user."""
        return at_least(confidence, self.review_below)

    def standing(self, confidence: float, current: float) -> Standing:
        """What happens to a value other than the current one, said later."""
        if not self.is_usable(confidence):
            return Standing.WAITS if at_least(confidence, current) else Standing.YIELDS
        return Standing.REPLACES if self.may_replace(confidence, current) else Standing.WAITS

    def may_replace(self, confidence: float, current: float) -> bool:
        """What was said later replaces at equal or higher confidence, and whenever it is sure enough by itself."""
        return at_least(confidence, current) or at_least(confidence, self.correction_at)


def at_least(value: float, bound: float) -> bool:
    """`value >= bound`, forgiving what single precision loses."""
    return value >= bound - _TOLERANCE


def is_older(moment: Moment, memory: KnownMemory) -> bool:
    """Whether something was said before the memory was last confirmed: an old statement never replaces a newer one.

    It happens when a conversation is read again, or an old one imported.
    """
    last = memory.last_moment
    return last is not None and moment < last
