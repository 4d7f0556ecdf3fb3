import pytest
from hypothesis import given
from hypothesis import strategies as st

from webapp.memories.engine.normalise import (
    CATEGORY_MAX,
    KEY_MAX,
    canonical_category,
    canonical_fact_key,
    canonical_statement,
    canonical_value,
    category_of,
    plain_text,
    same_statement,
    slug,
)


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
    assert same_statement(left, right)


@pytest.mark.parametrize(
    ("left", "right"),
    [("I ❤️ tea", "I 💔 tea"), ("C", "C++"), ("tea 🎉", "tea 👍"), ("I like tea", "I like teas"), ("-5", "5 %")],
)
def test_meaning_is_not_folded_away(left, right):
    assert not same_statement(left, right)


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


@pytest.mark.parametrize(
    ("raw", "category", "expected"),
    [
        ("identity/name", None, "identity/name"),
        ("Identity / Full Name", "personal", "identity/name"),
        ("name", "identity", "identity/name"),
        ("user.name", None, "identity/name"),
        ("coding style", "preference", "preference/coding_style"),
        ("role", None, "general/role"),
        ("family/wife/name", None, "family/wife/name"),
        ("", "identity", None),
        (None, None, None),
        ("///", "x", None),
        ("имя", "identity", "identity/имя"),
    ],
)
def test_fact_keys(raw, category, expected):
    assert canonical_fact_key(raw, category) == expected


@given(st.text(), st.none() | st.text())
def test_fact_keys_are_bounded_and_stable(raw, category):
    key = canonical_fact_key(raw, category)
    if key is not None:
        assert len(key) <= KEY_MAX and "/" in key and not key.endswith("/")
        assert canonical_fact_key(key, "other") == key


@given(st.text())
def test_slugs_are_bounded(text):
    assert len(slug(text)) <= CATEGORY_MAX
    assert slug(slug(text)) == slug(text)


def test_the_category_of_a_keyed_fact_is_its_namespace():
    assert category_of("identity/name", "personal") == "identity"
    assert category_of(None, "Side Projects") == "side_projects"
    assert canonical_category("  ") is None


def test_the_statement_stands_in_for_a_missing_value():
    assert canonical_value(" Alex. ", "whatever") == "alex"
    assert canonical_value(None, "Alex!") == canonical_value("  ", "alex") == "alex"
