"""The limits that apply to somebody: their own, else the largest of their groups', else everybody's; pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

Number = TypeVar("Number", int, float)


@dataclass(frozen=True, slots=True)
class Limit:
    """The limit of a period; None means no limit of that kind."""

    whose: str
    period: str
    tokens: int | None
    dollars: float | None


def applicable_limits(limits: Sequence[Limit]) -> list[Limit]:
    """Return the limits that apply out of some, one per period.

    Of several groups' limits the largest counts, separately for tokens and for dollars; None is larger than any number.
    A group without a limit for a period does not lift the others' limits for it.
    """
    for whose in ("own", "group", "everybody"):
        if nearest := [limit for limit in limits if limit.whose == whose]:
            break
    else:
        return []
    result = []
    for period in sorted({limit.period for limit in nearest}):
        tokens = [limit.tokens for limit in nearest if limit.period == period]
        dollars = [limit.dollars for limit in nearest if limit.period == period]
        result.append(Limit(whose, period, _largest(tokens), _largest(dollars)))
    return result


def _largest(numbers: Sequence[Number | None]) -> Number | None:
    limits = [number for number in numbers if number is not None]
    return max(limits) if len(limits) == len(numbers) else None
