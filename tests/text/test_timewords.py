"""Times named by their distance from now."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webapp.text.timewords import calendar_words

TODAY = date(2026, 11, 22)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What did I say yesterday?", "21 november 2026"),
        ("What did we plan last spring?", "march april may 2026"),
        ("Where was I last winter", "december january february 2026"),
        ("What happened last December?", "december 2025"),
        ("What happened last March?", "march 2026"),
        ("Which books did I read last month?", "october 2026"),
        ("And last year?", "2025"),
        ("Who called two weeks ago?", "november 2026"),
        ("Where did I move 5 months ago?", "june 2026"),
        ("What did I buy a couple of days ago?", "20 november 2026"),
        ("Where do I live?", ""),
        ("What lasts this long?", ""),
    ],
)
def test_distances_become_words_of_the_calendar(question: str, expected: str) -> None:
    assert calendar_words(question, TODAY) == expected


@given(st.text(max_size=80), st.dates(date(2020, 1, 1), date(2037, 12, 31)))
def test_any_question_is_taken(question: str, today: date) -> None:
    assert calendar_words(f"{question} 999 years ago, 999 months ago, 999 days ago last fall", today)
