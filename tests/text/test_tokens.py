"""Token estimates."""

import pytest
from hypothesis import given, strategies as st

from webapp.text.tokens import estimate_tokens, shorten


def test_estimate_is_zero_only_for_nothing():
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
def test_estimate_errs_upwards_within_reason(text, least, most):
    assert least <= estimate_tokens(text) <= most


@given(st.text(), st.text())
def test_estimate_grows_with_text(first, second):
    whole = estimate_tokens(f"{first}\n{second}")
    assert whole >= max(estimate_tokens(first), estimate_tokens(second)) - 1
    assert whole <= estimate_tokens(first) + estimate_tokens(second) + 2


def test_estimate_takes_lone_surrogates():
    assert estimate_tokens("\ud83d") > 0


# How busy the machine is never decides a test.


@given(st.text(min_size=1, max_size=400), st.integers(1, 120))
def test_shortened_text_fits_and_says_so(text, limit):
    short = shorten(text, limit)
    assert estimate_tokens(short) <= limit
    if estimate_tokens(text) <= limit:
        assert short == text
    else:
        assert "…" in short or short == ""


def test_shortening_keeps_head_and_tail_at_words():
    text = " ".join(f"word{number}" for number in range(2000))
    short = shorten(text, 200)
    head, mark, tail = short.split("\n")
    assert head.startswith("word0 word1") and text.startswith(head + " ")
    assert tail.endswith("word1999") and text.endswith(" " + tail)
    left_out = int(mark.split()[1].replace(",", ""))
    assert left_out == len(text) - len(head) - len(tail) or left_out == len(text) - len(head) - len(tail) - 1
    assert estimate_tokens(short) > 150


def test_shortening_does_not_split_a_family():
    family = "👨‍👩‍👧‍👦"
    short = shorten(family * 50, 120)
    assert short.split("\n")[0].replace(family, "") == ""
