"""Token estimates, limits and shortening."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from webapp.chat.budget import MINIMUM_BUDGET, BudgetTooSmall, Limits, estimate_tokens, shorten

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


@settings(UNTIMED)
@given(st.text(min_size=1, max_size=400), st.integers(1, 120), st.booleans())
def test_shortened_text_fits_and_says_so(text: str, limit: int, whole_sentences: bool) -> None:
    short = shorten(text, limit, whole_sentences=whole_sentences)
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


def test_whole_sentences_end_at_a_sentence() -> None:
    text = "First thing. Second thing is longer. Third thing follows here! " * 20
    short = shorten(text, 60, whole_sentences=True)
    body = short.rsplit("\n", 1)[0]
    assert body.endswith((".", "!")) and text.startswith(body)


def test_shortening_does_not_split_a_family() -> None:
    family = "👨‍👩‍👧‍👦"
    short = shorten(family * 50, 120, whole_sentences=True)
    assert short.split("\n")[0].replace(family, "") == ""


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
