"""Words, terms and dates of texts."""

import json
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from webapp.text.words import DateWords, asks_something, date_columns, date_words, words

CASES = json.loads(Path(__file__).with_name("words.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("text", "expected"), CASES["words"])
def test_words(text, expected):
    assert words(text) == expected


@given(st.text())
def test_words_take_any_text_and_are_stable(text):
    found = words(text)
    assert all(word and not word.isspace() for word in found)
    assert words(" ".join(found)) == words(" ".join(words(" ".join(found))))


def test_dates_in_queries():
    assert date_words(words("What on 7 May 2023, or a Tuesday?")) == DateWords((2023,), (5,), (7,), (1,))
    assert date_words(words("Sept. 2023, Mar 5, mon 6")) == DateWords((2023,), (9, 3), (5,), (0,))
    assert date_words(words("We sat in the sun, it may mar us")) == DateWords(months=(5,))
    assert date_words(words("5 guests in 2020")) == DateWords(years=(2020,))
    assert date_words(words("on 2024-02-29")) == DateWords((2024,), (2,), (29,))
    assert date_columns(date(2023, 5, 7)) == (2023, 5, 7, 6)


@pytest.mark.parametrize(("text", "expected"), CASES["asking"])
def test_asking(text, expected):
    assert asks_something(text) is expected
