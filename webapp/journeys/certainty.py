"""How what somebody said loses certainty with time, by the kind of fact; pure.

A pain score fades in days, a date of birth never.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Literal

from webapp.text.words import stems, words

Lifetime = Literal["days", "weeks", "months", "years", "always"]
HALF_LIFE_DAYS: dict[str, float | None] = {"days": 10, "weeks": 45, "months": 200, "years": 1500, "always": None}
"""Days after which what was said is only half as certain."""
STALE = 0.5
"""Below this certainty a fact is asked about again."""

_TELLING: tuple[tuple[Lifetime, str], ...] = (
    (
        "always",
        "birth birthday birthdate born dob name blood allergy allergic ancestry began begin since onset started",
    ),
    ("days", "score scale level intensity rating mood today yesterday tonight now currently"),
    ("weeks", "week sleep appetite energy symptom dose dosage"),
    ("months", "medication medicine treatment weight activity goal plan deadline application level"),
)
_KINDS: tuple[tuple[Lifetime, frozenset[str]], ...] = tuple(
    (kind, frozenset(stems(words(text)))) for kind, text in _TELLING
)


def lifetime_of(name: str, keeps: str | None = None) -> Lifetime:
    """Return how long a fact stays valid, by its name or content; a point may set this itself (`keeps`)."""
    if keeps in HALF_LIFE_DAYS:
        return keeps  # type: ignore[return-value]
    said = set(stems(words(name.replace("_", " "))))
    return next((kind for kind, telling in _KINDS if said & telling), "years")


def freshness(said_at: datetime, at: datetime, lifetime: Lifetime) -> float:
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
