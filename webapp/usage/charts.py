"""The geometry of the pictures that pages draw as SVG: columns over time, bars in a table, lines as small as a word."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

STEP, GAP, HEIGHT = 20, 4, 100
"""A column with the room around it, the room between two, and the height of a chart; the page stretches them."""
SPARK_WIDTH, SPARK_HEIGHT, SPARK_EDGE = 120, 28, 3
MAX_LIMIT_RATIO = 4
"""A limit is drawn up to so many times the highest column: beyond that the columns would be too low to read."""


@dataclass(frozen=True, slots=True)
class Part:
    """A rectangle of a column or a bar: its series, and where it lies along the column or the bar."""

    series: str
    start: float
    size: float


@dataclass(frozen=True, slots=True)
class Column:
    """A column: what it stands for, its values in the order of the series, its left edge, its parts from below."""

    label: str
    values: Sequence[float]
    x: float
    parts: Sequence[Part]

    @property
    def total(self) -> float:
        """Return the sum of its values."""
        return sum(self.values)


@dataclass(frozen=True, slots=True)
class Columns:
    """Columns of stacked series. `ticks` are the values beside it from the top down; `limit_y` is where a line is drawn
    across, None where there is no limit or it lies far above."""

    columns: Sequence[Column]
    ticks: tuple[float, float, float]
    limit: float | None = None
    limit_y: float | None = None

    @property
    def width(self) -> int:
        """Return how wide the chart is, in its own units."""
        return STEP * len(self.columns)


@dataclass(frozen=True, slots=True)
class Sparkline:
    """A line through values from left to right, as the points of a polyline, and its last point."""

    values: Sequence[float]
    points: str
    last: tuple[float, float]

    @property
    def area(self) -> str:
        """Return the points of the area below it."""
        return f"0,{SPARK_HEIGHT} {self.points} {SPARK_WIDTH},{SPARK_HEIGHT}"


def stacked_columns(
    labels: Sequence[str], values: Sequence[Sequence[float]], series: Sequence[str], limit: float | None = None
) -> Columns:
    """Return a column for each label, of as many values as there are series; none is negative."""
    highest = max(map(sum, values), default=0)
    is_near = limit is not None and 0 < limit <= MAX_LIMIT_RATIO * highest
    top = round_up(max(highest, limit if is_near and limit else 0))
    return Columns(
        columns=[
            Column(label, column, STEP * number + GAP / 2, stack(column, series, top))
            for number, (label, column) in enumerate(zip(labels, values, strict=True))
        ],
        ticks=(top, top / 2, 0),
        limit=limit,
        limit_y=_round(HEIGHT * (1 - limit / top)) if is_near and limit else None,
    )


def stack(values: Sequence[float], series: Sequence[str], total: float) -> list[Part]:
    """Return values end to end as shares of `total`, out of HEIGHT; those of nothing are left out."""
    parts: list[Part] = []
    start = 0.0
    for name, value in zip(series, values, strict=True):
        size = HEIGHT * value / total if total else 0.0
        if size:
            parts.append(Part(name, _round(start), _round(size)))
        start += size
    return parts


def sparkline(values: Sequence[float]) -> Sparkline | None:
    """Return a line through two values or more, from nothing up to the highest; None for fewer, which make no line."""
    if len(values) < 2:
        return None
    maximum = max(values)
    room = SPARK_HEIGHT - 2 * SPARK_EDGE
    points = [
        (
            _round(number * SPARK_WIDTH / (len(values) - 1)),
            _round(SPARK_EDGE + room * (1 - value / maximum if maximum > 0 else 1)),
        )
        for number, value in enumerate(values)
    ]
    return Sparkline(values, " ".join(f"{x:g},{y:g}" for x, y in points), points[-1])


def round_up(value: float) -> float:
    """Return the next number that is easy to read, and to halve: 1, 2, 3, 4, 5, 6, 8 or 10 times a power of ten."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    # A value may be a hair above a round number, having been summed up.
    return next(candidate for step in (1, 2, 3, 4, 5, 6, 8, 10) if (candidate := step * power) >= value * (1 - 1e-9))


def _round(value: float) -> float:
    return round(value, 2)
