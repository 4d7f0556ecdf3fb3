"""Shortening to fit."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from webapp.text.tokens import estimate_tokens
from webapp.text.truncation import shorten

# How busy the machine is never decides a test.
UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@settings(UNTIMED)
@given(st.text(min_size=1, max_size=400), st.integers(1, 120))
def test_shortened_text_fits_and_says_so(text: str, limit: int) -> None:
    short = shorten(text, limit)
    assert estimate_tokens(short) <= limit
    if estimate_tokens(text) <= limit:
        assert short == text
    else:
        assert "…" in short or short == ""


def test_shortening_keeps_head_and_tail_at_words() -> None:
    text = " ".join(f"word{number}" for number in range(2000))
    short = shorten(text, 200)
    head, mark, tail = short.split("\n")
    assert head.startswith("word0 word1") and text.startswith(head + " ")
    assert tail.endswith("word1999") and text.endswith(" " + tail)
    left_out = int(mark.split()[1].replace(",", ""))
    assert left_out == len(text) - len(head) - len(tail) or left_out == len(text) - len(head) - len(tail) - 1
    assert estimate_tokens(short) > 150


def test_shortening_does_not_split_a_family() -> None:
    family = "👨‍👩‍👧‍👦"
    short = shorten(family * 50, 120)
    assert short.split("\n")[0].replace(family, "") == ""
