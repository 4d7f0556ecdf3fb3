"""The limits that apply to somebody: their own, else the largest of their groups', else everybody's; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

Number = TypeVar("Number", int, float)


class _Row(Protocol):
    user_id: int | None
    group_id: int | None
    period: str
    tokens: int | None
    dollars: float | None


@dataclass(frozen=True, slots=True)
class Limit:
    """The limit of a period; None means no limit of that kind."""

    whose: str
    period: str
    tokens: int | None
    dollars: float | None

    @classmethod
    def of(cls, row: _Row) -> Limit:
        """From a row."""
        whose = "own" if row.user_id is not None else "group" if row.group_id is not None else "everybody"
        return cls(whose, row.period, row.tokens, row.dollars)


def applicable_limits(limits: Sequence[Limit]) -> list[Limit]:
    """The limits that apply out of some, one per period.

    Of several groups' limits the largest counts, separately for tokens and for dollars; None is larger than any number.
    A group without a limit for a period does not lift the others' limits for it.
    """
    for whose in ("own", "group", "everybody"):
        if found := [limit for limit in limits if limit.whose == whose]:
            break
    else:
        return []
    held = []
    for period in sorted({limit.period for limit in found}):
        tokens = [limit.tokens for limit in found if limit.period == period]
        dollars = [limit.dollars for limit in found if limit.period == period]
        held.append(Limit(whose, period, _largest(tokens), _largest(dollars)))
    return held


def _largest(numbers: Sequence[Number | None]) -> Number | None:
    known = [number for number in numbers if number is not None]
    return max(known) if len(known) == len(numbers) else None
