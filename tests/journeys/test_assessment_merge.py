"""Merging of assessments: the documented examples, bounds, and where the order must not matter."""

from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from hypothesis import given, strategies as st

from webapp.journeys.assessment_merge import (
    Assessment,
    PointState,
    after_lost_evidence,
    is_settled,
    merge,
    merge_confidence,
    merge_data,
    merge_texts,
)
from webapp.journeys.point_views import JourneyView

AT = datetime(2026, 11, 20, 10, tzinfo=UTC)
LATER = datetime(2026, 11, 21, 10, tzinfo=UTC)
UNIT = st.floats(0, 1, allow_nan=False)


@pytest.mark.cases("existing", "new", "merged")
def test_documented_weights(existing, new, merged):
    assert merge_confidence(existing, new) == pytest.approx(merged)


@given(UNIT, UNIT)
def test_merged_confidence_lies_between_the_two(existing, new):
    assert min(existing, new) <= merge_confidence(existing, new) <= max(existing, new)


@given(UNIT, UNIT, UNIT)
def test_a_surer_assessment_never_lowers_the_result(existing, one, other):
    low, high = sorted((one, other))
    assert merge_confidence(existing, low) <= merge_confidence(existing, high)


@given(st.floats(0.2001, 0.7999), st.lists(st.floats(0.2001, 0.7999), min_size=2, max_size=2))
def test_two_assessments_of_the_middle_range_stay_in_it(existing, news):
    for new in news:
        existing = merge_confidence(existing, new)
    assert 0.2 < existing < 0.8


def test_the_first_assessment_counts_as_it_is():
    state = merge(PointState(), Assessment(True, 0.9, AT, 2), 0.7, rests_on=1)
    assert state == PointState(True, 0.9, 1, AT, AT, 2, analyzed=True)


def test_first_addressed_is_when_it_first_was():
    first = merge(PointState(), Assessment(False, 0.3, AT, 1), 0.7, rests_on=1)
    assert (first.is_addressed, first.first_addressed_at) == (False, None)
    second = merge(first, Assessment(True, 1.0, AT, 1), 0.6, rests_on=2)
    assert (second.is_addressed, second.confidence, second.first_addressed_at) == (True, 0.65, AT)
    third = merge(second, Assessment(True, 1.0, LATER, 3), 0.6, rests_on=3)
    assert (third.first_addressed_at, third.last_analyzed_at, third.messages_analyzed) == (AT, LATER, 5)


def test_addressed_needs_the_threshold():
    state = merge(PointState(), Assessment(True, 0.65, AT), 0.7, rests_on=1)
    assert not state.is_addressed
    assert not is_settled(state, 0.7)
    assert is_settled(merge(PointState(), Assessment(True, 0.7, AT), 0.7, rests_on=1), 0.7)


def test_lost_evidence_opens_the_point():
    state = merge(PointState(), Assessment(True, 0.9, AT), 0.7, rests_on=3)
    assert after_lost_evidence(state, 3) == state
    left = after_lost_evidence(state, 2)
    assert (left.is_addressed, left.confidence, left.first_addressed_at) == (False, pytest.approx(0.6), None)
    nothing = after_lost_evidence(state, 0)
    assert (nothing.is_addressed, nothing.confidence, nothing.analyzed) == (False, 0.0, False)


@given(st.lists(st.text(max_size=20), max_size=6), st.lists(st.text(max_size=20), max_size=6))
def test_texts_merge_into_the_same_set_in_any_order(one, other):
    def forms(texts: list[str]) -> set[str]:
        from webapp.text.canonical import canonical_statement

        return {canonical_statement(text) for text in texts}

    there, back = merge_texts(one, other), merge_texts(other, one)
    assert forms(there) == forms(back)
    assert len(there) == len(forms(there))
    assert merge_texts(there, one) == there


def test_texts_say_each_thing_once():
    assert merge_texts(["It hurts."], ["it  hurts", "Since March"]) == ["It hurts.", "Since March"]


def test_newer_values_count_and_empty_ones_say_nothing():
    assert merge_data({"scale": "5", "leg": "left"}, {"scale": "7", "leg": ""}) == {"scale": "7", "leg": "left"}


@pytest.mark.cases("points", "following")
def test_next_is_the_first_of_which_nothing_is_known(points, following):
    is_open = {"is_skipped": False, "set_aside": None}
    views = [
        SimpleNamespace(point=SimpleNamespace(slug=slug), state=PointState(confidence=sure), is_settled=done, **is_open)
        for slug, done, sure in points
    ]
    assert JourneyView(SimpleNamespace(), views).next_slug == following
