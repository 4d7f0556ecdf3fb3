"""Words, terms and dates of texts."""

from datetime import date

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from webapp.text.words import DateWords, asks, date_columns, date_words, words

# How busy the machine is never decides a test.
UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Anna's café ISN'T open", ["anna's", "cafe", "isn't", "open"]),
        ("on 2023-05-07", ["on", "7", "may", "2023"]),
        ("the 21st, 1,234 people", ["the", "21", "1234", "people"]),
        ("2023-99-07 is no date", ["2023", "99", "07", "is", "no", "date"]),
        ("東京で寿司", ["東京", "京で", "で寿", "寿司"]),
        ("車 on", ["車", "on"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("어제 친구와", ["어제", "친구", "구와"]),
        ("Straße ﬁne naïve", ["strasse", "fine", "naive"]),
        ("snake_case a@b.org", ["snake", "case", "a", "b", "org"]),
        ("Москва", ["москва"]),
        ("", []),
        ("… — !", []),
        ("C++, c# and C; 5+ a+b", ["c++", "c#", "and", "c", "5", "a", "b"]),
        ("🐙🐝 ★★", ["🐙", "🐝", "★", "★"]),
        ("co\u00adoperate שָׁלוֹם مَدْرَسَة", ["cooperate", "שלום", "مدرسة"]),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@settings(UNTIMED)
@given(st.text())
def test_words_take_any_text_and_are_stable(text: str) -> None:
    found = words(text)
    assert all(word and not word.isspace() for word in found)
    assert words(" ".join(found)) == words(" ".join(words(" ".join(found))))


def test_dates_in_queries() -> None:
    assert date_words(words("What on 7 May 2023, or a Tuesday?")) == DateWords((2023,), (5,), (7,), (1,))
    assert date_words(words("Sept. 2023, Mar 5, mon 6")) == DateWords((2023,), (9, 3), (5,), (0,))
    assert date_words(words("We sat in the sun, it may mar us")) == DateWords(months=(5,))
    assert date_words(words("5 guests in 2020")) == DateWords(years=(2020,))
    assert date_words(words("on 2024-02-29")) == DateWords((2024,), (2,), (29,))
    assert date_columns(date(2023, 5, 7)) == (2023, 5, 7, 6)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Really?", True),
        ("How? [shares a photo: a dog]", True),
        ("もう？", True),
        ("Yes. Why? Because.", False),
        ("", False),
    ],
)
def test_asking(text: str, expected: bool) -> None:
    assert asks(text) is expected
