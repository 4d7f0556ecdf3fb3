"""Limits of a prompt."""

import pytest

from webapp.chat.context.budget import MINIMUM_BUDGET, BudgetTooSmall, Limits


def test_limits_scale_with_the_window() -> None:
    small, large = Limits(window=1024), Limits(window=128_000, reply=4096)
    assert small.prompt >= 600 and large.prompt == 128_000 - 4096
    for limits in (small, large):
        sections = sum(limits.of(name) for name in ("instructions", "known", "summaries", "retrieved"))
        assert sections <= limits.prompt * 0.8
    assert large.of("retrieved") == large.retrieved and small.of("retrieved") < large.of("retrieved")


def test_too_small_a_window_is_refused() -> None:
    with pytest.raises(BudgetTooSmall):
        Limits(window=MINIMUM_BUDGET)
    with pytest.raises(BudgetTooSmall):
        Limits(window=4096, tools=4000)
