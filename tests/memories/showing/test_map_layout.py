"""Places in the picture of names: always the same, never one upon another, linked ones side by side."""

import random
from itertools import combinations
from math import dist

import pytest

from webapp.memories.showing.map_layout import FONT, LABEL, NARROW, WIDE, Layout, Link, Shape, place_names, shorten

SHAPES = pytest.mark.parametrize("shape", [WIDE, NARROW], ids=["wide", "narrow"])


def some_links(count: int, seed: int = 1) -> list[Link]:
    maker = random.Random(seed)
    pairs = sorted({tuple(sorted(maker.sample(range(count), 2))) for _ in range(2 * count)}) if count > 1 else []
    return [Link(one, other, maker.randint(1, 9)) for one, other in pairs]


def boxes(shape: Shape, layout: Layout) -> list[tuple[float, float, float, float]]:
    """The room of each name at most: the largest dot, and below it the longest label."""
    half = max(shape.largest, shape.label_width / 2)
    return [
        (point.x - half, point.y - shape.largest, point.x + half, point.y + shape.largest + LABEL)
        for point in (layout.middle, *layout.points)
    ]


@SHAPES
def test_nothing_meets_and_all_is_within(shape: Shape) -> None:
    for count in range(shape.name_limit + 1):
        layout = place_names(shape, [1 / (rank + 1) for rank in range(count)], some_links(count))
        found = boxes(shape, layout)
        assert len(layout.points) == count
        for left, top, right, bottom in found:
            assert min(left, top) >= 0 and right <= layout.width and bottom <= layout.height, count
        for one, other in combinations(found, 2):
            apart = one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
            assert apart, (count, one, other)


@SHAPES
def test_the_same_names_have_the_same_places(shape: Shape) -> None:
    sizes, links = [1.0] * shape.name_limit, some_links(shape.name_limit)
    assert place_names(shape, sizes, links) == place_names(shape, list(sizes), list(links))


def test_what_is_large_is_near_the_middle_and_what_is_linked_near_each_other() -> None:
    sizes = [1 / (rank + 1) for rank in range(40)]
    layout = place_names(WIDE, sizes, [])
    middle = (layout.middle.x, layout.middle.y)
    away = [dist(middle, (point.x, point.y)) for point in layout.points]
    assert sum(away[:6]) / 6 < sum(away[-20:]) / 20 / 1.5
    pairs = [Link(rank, 39 - rank, 1) for rank in range(20)]
    joined = place_names(WIDE, sizes, pairs)

    def length(found: Layout) -> float:
        points = [(point.x, point.y) for point in found.points]
        return sum(dist(points[link.one], points[link.other]) for link in pairs)

    assert length(joined) < length(layout) / 2


def test_labels_are_cut_at_what_fits() -> None:
    assert shorten("Anna", WIDE.label_width) == "Anna"
    assert shorten("Leipzig-Plagwitz am Kanal", WIDE.label_width).endswith("…")
    wide = shorten("中华人民共和国北京市", NARROW.label_width)
    assert wide.endswith("…") and len(wide) * FONT <= NARROW.label_width + FONT
    assert shorten("सुनीतासुनीतासुनीतासुनीतासुनीता", 60)[-2:-1].isalnum() and shorten("x", 0) == "…"
