"""When two texts count as the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webapp.text.canonical import canonical_statement, plain_text, slug


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("I like tea.", "  i LIKE\ttea "),
        ("Ｔｏｋｙｏ", "tokyo"),
        ("Straße", "STRASSE"),
        ("cafe\u0301", "café"),
        ("“I’m here”", "I'm here"),
        ("¿Te gusta?", "te gusta"),
        ("我喜欢茶。", "我喜欢茶"),
    ],
)
def test_the_same_words_are_the_same_statement(left, right):
    assert canonical_statement(left) == canonical_statement(right)


@pytest.mark.parametrize(
    ("left", "right"),
    [("I ❤️ tea", "I 💔 tea"), ("C", "C++"), ("tea 🎉", "tea 👍"), ("I like tea", "I like teas"), ("-5", "5 %")],
)
def test_meaning_is_not_folded_away(left, right):
    assert canonical_statement(left) != canonical_statement(right)


@given(st.text())
def test_canonical_statement_is_idempotent(text):
    once = canonical_statement(text)
    assert canonical_statement(once) == once


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
