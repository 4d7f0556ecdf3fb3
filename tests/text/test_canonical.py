"""When two texts count as the same."""

from itertools import combinations

import pytest
from hypothesis import given, strategies as st

from webapp.text.canonical import canonical_statement, earlier_statement, fold, plain_text, signs, slug, split_at_signs


@pytest.mark.cases("left", "right")
def test_the_same_words_are_the_same_statement(left, right):
    assert canonical_statement(left) == canonical_statement(right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("I ❤️ tea", "I 💔 tea"),
        ("tea 🎉", "tea 👍"),
        ("I like tea", "I like teas"),
        ("-5", "5 %"),
        *combinations(["C", "C++", "C#", "C*"], 2),
        *combinations(["80 kg", "-80 kg", "+80 kg", "$80 kg", "~80 kg"], 2),
        *combinations(["Weight: 5", "Weight: 5%", "Weight: 5‰", "Weight: 5°", "Weight: 5′"], 2),
        *combinations(["★", "★★★", "🐙", "🐝"], 2),
        *combinations(["Blood type A", "Blood type A-", "Blood type A+"], 2),
        ("NET", ".NET"),
        ("5", ".5"),
    ],
)
def test_meaning_is_not_folded_away(left, right):
    assert canonical_statement(left) != canonical_statement(right)


@pytest.mark.parametrize("minus", ["-", "−", "–", "－"])
def test_a_minus_is_one_however_it_is_typed(minus):
    assert canonical_statement(f"{minus}80 kg") == canonical_statement("-80 kg.")


SIGNS = st.sampled_from(["+", "++", "#", "%", "°", "€", "★", "★★", "🐙", "🐝", "👍🏽", "‰", "=", "~"])
FALLS_AWAY = st.text(st.sampled_from(".,;:!?…\"'“”‘’()[]{}«»¿¡。！？ "), max_size=4)
WORDS = st.text(st.sampled_from("abcxyzäß茶ё019"), min_size=1, max_size=8)


@given(WORDS, SIGNS, SIGNS)
def test_a_sign_more_or_another_sign_is_another_statement(said, sign, other):
    assert canonical_statement(said) != canonical_statement(said + sign)
    assert canonical_statement(said) != canonical_statement(f"{sign} {said}")
    assert (canonical_statement(said + sign) == canonical_statement(said + other)) == (sign == other)
    assert slug(said, signed=True) != slug(said + sign, signed=True) or sign in "=~"


@given(FALLS_AWAY, WORDS, SIGNS | st.just(""), FALLS_AWAY)
def test_quotes_brackets_and_the_ends_of_sentences_fall_away(before, said, sign, after):
    if not before or before[-1] not in ".,:":
        assert canonical_statement(f"{before}{said}{sign}{after}") == canonical_statement(said + sign)


@given(st.text())
def test_signs_are_those_of_the_canonical_form(text):
    assert signs(text) == signs(fold(text))
    assert {run for run, is_run in split_at_signs(text) if is_run} == signs(text)
    assert "".join(run for run, _ in split_at_signs(text)) == fold(text)


@given(st.text())
def test_canonical_statement_is_idempotent(text):
    once = canonical_statement(text)
    assert canonical_statement(once) == once


@given(st.text(st.sampled_from(".,:-+#%'\"(*′/ a5$"), max_size=8))
def test_canonical_statement_is_idempotent_with_signs(text):
    once = canonical_statement(text)
    assert canonical_statement(once) == once
    assert earlier_statement(earlier_statement(text)) == earlier_statement(text)


@given(st.text(min_size=1))
def test_only_white_space_has_an_empty_form(text):
    assert bool(canonical_statement(text)) == bool(text.strip())


@given(st.text())
def test_plain_text_is_one_stored_line(text):
    stored = plain_text(text)
    assert "\n" not in stored and "\x00" not in stored and stored == stored.strip()
    assert plain_text(stored) == stored


@given(st.text())
def test_slugs_are_bounded(text):
    assert len(slug(text)) <= 100
    assert slug(slug(text)) == slug(text)
    assert len(slug(text, signed=True)) <= 100
    assert slug(slug(text, signed=True), signed=True) == slug(text, signed=True)
