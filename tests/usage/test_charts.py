"""Pictures as numbers: what is drawn is in proportion to what it stands for, and stays within its frame."""

import pytest
from hypothesis import given, strategies as st

from webapp.usage.charts import (
    HEIGHT,
    MAX_LIMIT_RATIO,
    SPARK_HEIGHT,
    SPARK_WIDTH,
    STEP,
    round_up,
    sparkline,
    stack,
    stacked_columns,
)

COUNTS = st.lists(st.tuples(*[st.integers(0, 10**9)] * 3), min_size=1, max_size=40)


def test_columns_stand_on_each_other_in_proportion():
    chart = stacked_columns(["a", "b"], [(30, 10, 0), (0, 0, 0)], ("x", "y", "z"), limit=20)
    first, second = chart.columns
    assert chart.ticks == (40, 20, 0) and chart.width == 2 * STEP
    assert [(part.series, part.start, part.size) for part in first.parts] == [("x", 0, 75), ("y", 75, 25)]
    assert (first.total, second.total, second.parts) == (40, 0, [])
    assert chart.limit_y == 50


@pytest.mark.parametrize(
    ("limit", "y", "top"), [(None, None, 100), (0, None, 100), (400, 0, 400), (401, None, 100), (100, 0, 100)]
)
def test_a_limit_is_drawn_where_columns_stay_readable(limit, y, top):
    assert MAX_LIMIT_RATIO == 4
    chart = stacked_columns(["a"], [(100,)], ("x",), limit)
    assert (chart.limit, chart.limit_y, chart.ticks[0]) == (limit, y, top)


@given(COUNTS)
def test_no_column_leaves_its_frame(values):
    chart = stacked_columns([str(number) for number in range(len(values))], values, ("x", "y", "z"))
    for column in chart.columns:
        assert 0 <= column.x < chart.width
        assert sum(part.size for part in column.parts) == pytest.approx(
            HEIGHT * column.total / chart.ticks[0], abs=0.02
        )
        for part in column.parts:
            assert part.start >= 0 and part.start + part.size <= HEIGHT + 0.02


@given(st.floats(1e-6, 1e15))
def test_scales_end_on_round_numbers_close_above(value):
    top = round_up(value)
    assert value * 0.999_999 <= top <= 2 * value
    assert round_up(top) == pytest.approx(top)


def test_nothing_makes_a_picture_too():
    assert stacked_columns([], [], ("x",)).columns == []
    assert stacked_columns(["a"], [(0,)], ("x",)).ticks == (1, 0.5, 0)
    assert stack([0, 0], ("x", "y"), 0) == []


@given(st.lists(st.integers(0, 10**12), min_size=2, max_size=60))
def test_a_line_runs_from_edge_to_edge_within_its_height(values):
    line = sparkline(values)
    assert line is not None
    points = [tuple(map(float, point.split(","))) for point in line.points.split()]
    assert len(points) == len(values) and points[0][0] == 0 and points[-1][0] == SPARK_WIDTH
    assert all(0 < y < SPARK_HEIGHT for _, y in points)
    highest, lowest = values.index(max(values)), values.index(min(values))
    assert points[highest][1] <= points[lowest][1]


def test_one_value_is_no_line():
    assert sparkline([]) is None and sparkline([5]) is None
    flat = sparkline([0, 0, 0])
    assert flat is not None and len({point.split(",")[1] for point in flat.points.split()}) == 1
