"""The certainty that what somebody said loses with time, as the journey says of its point; pure.

A pain score fades in days, a date of birth never.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

HALF_LIFE_DAYS: dict[str, float | None] = {"days": 10, "weeks": 45, "months": 200, "years": 1500, "always": None}
"""Days after which what was said is only half as certain."""
STALE = 0.5
"""Below this certainty a fact is asked about again."""
DEFAULT = "years"
"""How long what was said of a point stays valid if its journey does not say (`keeps`)."""


def freshness(said_at: datetime, at: datetime, lifetime: str = DEFAULT) -> float:
    """Return how much of its certainty is left: 1 for what was just said, 0.5 after the half-life."""
    half = HALF_LIFE_DAYS[lifetime]
    if half is None:
        return 1.0
    days = max(0.0, (at - said_at).total_seconds() / 86_400)
    return float(0.5 ** (days / half))


def average(values: Iterable[float]) -> float:
    """The mean; 1 if there are no values."""
    found = list(values)
    return sum(found) / len(found) if found else 1.0
