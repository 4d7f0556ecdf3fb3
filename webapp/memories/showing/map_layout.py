"""Places in a picture of names, on a honeycomb: mentioned most in the middle, linked side by side; stable, pure."""

import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

_PASSES = 3
_CHOICE = 8
"""Free cells among which a name has its first place, the nearest to the middle."""
_MIN_GAIN = 0.01
_PULL = 0.5
"""How much the largest name is drawn to the middle, against the strongest link."""
_SHIFTS = (0, 3, -2, 1, -3, 2, -1)
"""What cells are moved by, in thirds of what they have to spare: a honeycomb that does not look like one."""
_EM_WIDE, _EM_CAPITAL, _EM = 1.05, 0.64, 0.48
"""Widths of characters in sizes of the font, as much as they usually take."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The form of a picture, in CSS pixels: rows of `columns` cells, an odd number, and between them of one fewer."""

    columns: int
    cell_width: int
    cell_height: int
    name_limit: int
    most_links: int
    largest: float
    """Radius of what is mentioned most."""
    flatness: float = 1.0
    """The factor by which a row counts as farther than it looks: a flat picture is filled to its sides first."""

    @property
    def width(self) -> int:
        return self.columns * self.cell_width

    @property
    def label_width(self) -> int:
        return self.cell_width - 6


WIDE = Shape(columns=7, cell_width=105, cell_height=88, name_limit=40, most_links=70, largest=22, flatness=1.5)
NARROW = Shape(columns=3, cell_width=113, cell_height=82, name_limit=20, most_links=30, largest=17)
SMALLEST = 5.0
FONT = 13
LABEL = 17
"""Height of a line of text below a dot."""


class Link(NamedTuple):
    """Two names, by rank from 0, and how many memories mention both."""

    one: int
    other: int
    shared: int


@dataclass(frozen=True, slots=True)
class Point:
    """The middle of a cell."""

    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Layout:
    """The places of the person and of each name, and the size of the picture."""

    width: int
    height: int
    middle: Point
    points: Sequence[Point]


def place_names(shape: Shape, sizes: Sequence[float], links: Sequence[Link]) -> Layout:
    """Return the places of names in order of rank, of which `sizes` are out of 1, and `links` are among them."""
    cells = _cells(shape, len(sizes) + 1)
    order = _arrange([(x, y) for x, y in cells[1:]], sizes, links)
    top = min(y for _, y in cells) - shape.cell_height / 2
    height = max(y for _, y in cells) + shape.cell_height / 2 - top

    def point(number: int) -> Point:
        (x, y), is_shifted = cells[number], number > 0
        # What a cell has around the largest dot and the longest label.
        across, down = (shape.cell_width - shape.label_width) / 2, (shape.cell_height - 2 * shape.largest - LABEL) / 2
        left, up = _SHIFTS[3 * number % len(_SHIFTS)] / 3 * across, _SHIFTS[number % len(_SHIFTS)] / 3 * down
        x, y = x + shape.width / 2 + is_shifted * left, y - top + is_shifted * up
        return Point(round(x, 1), round(y - LABEL / 2, 1))

    return Layout(shape.width, round(height), point(0), [point(1 + cell) for cell in order])


def _cells(shape: Shape, count: int) -> list[tuple[float, float]]:
    """Return the middles of the cells nearest to the one in the middle, which is the first and at 0, 0."""
    cells = []
    for row in range(-count, count + 1):
        for number in range(shape.columns - row % 2):
            column = number - (shape.columns - 1 - row % 2) / 2
            x, y = column * shape.cell_width, float(row * shape.cell_height)
            cells.append((x * x + (shape.flatness * y) ** 2, row * column <= 0, row, x, y))  # opposite ones in turn
    return [(x, y) for *_, x, y in sorted(cells)[:count]]


def _arrange(cells: Sequence[tuple[float, float]], sizes: Sequence[float], links: Sequence[Link]) -> list[int]:
    """Return the cell of each name, by number: each where it costs least, then exchanged while that helps."""
    largest = max((link.shared for link in links), default=1)
    neighbours: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for link in links:
        neighbours[link.one].append((link.other, link.shared / largest))
        neighbours[link.other].append((link.one, link.shared / largest))
    from_middle = [x * x + y * y for x, y in cells]
    distances = [[(x - a) ** 2 + (y - b) ** 2 for a, b in cells] for x, y in cells]
    order = list[int]()

    def cost(rank: int, cell: int, known: int) -> float:
        far = distances[cell]
        linked = sum(weight * far[order[other]] for other, weight in neighbours[rank] if other < known)
        return _PULL * sizes[rank] * from_middle[cell] + linked

    free = list(range(len(cells)))
    for rank in range(len(sizes)):
        order.append(min(free[:_CHOICE], key=lambda cell: (cost(rank, cell, rank), cell)))  # noqa: B023
        free.remove(order[rank])
    count = len(sizes)
    for _ in range(_PASSES):
        is_better = False
        for number in range(count):
            for other in range(number + 1, count):
                before = cost(number, order[number], count) + cost(other, order[other], count)
                order[number], order[other] = order[other], order[number]
                if cost(number, order[number], count) + cost(other, order[other], count) < before - _MIN_GAIN:
                    is_better = True
                else:
                    order[number], order[other] = order[other], order[number]
        if not is_better:
            break
    return order


def shorten(label: str, width: int) -> str:
    """Return a label as much of which fits into a width, with an ellipsis if it is not all."""
    if _width(label) <= width:
        return label
    while label and _width(label) + FONT > width:
        label = label[:-1]
        while label and unicodedata.category(label[-1])[0] in "MZ":
            label = label[:-1]
    return f"{label}…"


def _width(text: str) -> float:
    """Return about the width of a text in CSS pixels."""
    return FONT * sum(map(_em, text))


def _em(char: str) -> float:
    if unicodedata.category(char)[0] == "M":
        return 0.0
    if unicodedata.east_asian_width(char) in "WF" or ord(char) > 0xFFFF:
        return _EM_WIDE
    return _EM_CAPITAL if char.isupper() else _EM
