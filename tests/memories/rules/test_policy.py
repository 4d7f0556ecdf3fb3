"""What a memory counts for in a ranking."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.memories.worlds import NOON
from webapp.memories.rules.policy import worth


def after(days, confidence=1.0, importance=1.0, *, is_pinned=False):
    return worth(confidence, importance, NOON, NOON + timedelta(days=days), is_pinned=is_pinned)


def test_worth_is_a_product_with_gentle_decay():
    assert after(0, 0.9, 0.5) == pytest.approx(0.9 * 0.5)
    assert after(180) == pytest.approx(0.75)
    assert after(10_000) == pytest.approx(0.5)
    assert after(10_000, is_pinned=True) == 1.0


@given(st.integers(0, 900), st.integers(0, 900))
def test_what_was_used_later_is_never_worth_less(one, other):
    soon, late = sorted((one, other))
    assert 0.5 <= after(late) <= after(soon) <= 1.0
