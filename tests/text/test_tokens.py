"""Token estimates."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from webapp.text.tokens import estimate_tokens

# How busy the machine is never decides a test.
UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def test_estimate_is_zero_only_for_nothing() -> None:
    assert estimate_tokens("") == 0
    assert estimate_tokens(" ") == 1


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        # Least: what byte-pair encodings of current models give; most: what we are ready to waste.
        ("The quick brown fox jumps over the lazy dog and runs away into the forest.", 16, 24),
        ("我喜欢在周末去爬山天气很好", 13, 22),
        ("😀🎉👍", 6, 12),
        ("def f(x):\n    return {'a': x[0], 'b': x[1:]}\n", 20, 36),
        ("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", 40, 70),
    ],
)
def test_estimate_errs_upwards_within_reason(text: str, least: int, most: int) -> None:
    assert least <= estimate_tokens(text) <= most


@settings(UNTIMED)
@given(st.text(), st.text())
def test_estimate_grows_with_text(first: str, second: str) -> None:
    whole = estimate_tokens(f"{first}\n{second}")
    assert whole >= max(estimate_tokens(first), estimate_tokens(second)) - 1
    assert whole <= estimate_tokens(first) + estimate_tokens(second) + 2


def test_estimate_takes_lone_surrogates() -> None:
    assert estimate_tokens("\ud83d") > 0
