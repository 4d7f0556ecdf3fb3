"""Dates: weekdays, days between, and dates so much later."""

from datetime import date

import pytest

from webapp.tools.date_arithmetic import Unclear, reckon

SUNDAY = date(2026, 11, 22)


def test_today_has_a_weekday() -> None:
    assert reckon(SUNDAY) == {"date": "2026-11-22", "weekday": "Sunday"}
    assert reckon(SUNDAY, "tomorrow")["weekday"] == "Monday"


def test_days_between() -> None:
    found = reckon(SUNDAY, end="2026-12-24")
    assert (found["days"], found["in_words"], found["working_days"]) == (32, "1 month, 2 days", 23)
    back = reckon(SUNDAY, "2026-12-24", "today")
    assert (back["days"], back["in_words"], back["working_days"]) == (-32, "-1 month, 2 days", -23)
    assert reckon(SUNDAY, "1990-05-17", "today")["in_words"] == "36 years, 6 months, 5 days"
    assert reckon(SUNDAY, "2024-02-29", "2025-02-28")["in_words"] == "1 year"


@pytest.mark.parametrize(
    ("start", "add", "then"),
    [
        ("", "3 weeks", "2026-12-13"),
        ("2024-01-31", "1 month", "2024-02-29"),
        ("2024-02-29", "-1 year", "2023-02-28"),
        ("", "2 months ago", "2026-09-22"),
        ("", "1 year, 2 months and a day", "2028-01-23"),
        ("", "-1 year 2 months", "2025-09-22"),
        ("", "10 working days", "2026-12-04"),
        ("", "-5 workdays", "2026-11-16"),
        ("2026-11-20", "1 business day", "2026-11-23"),
        ("2026-11-20", "0 workdays", "2026-11-20"),
    ],
)
def test_so_much_later(start: str, add: str, then: str) -> None:
    assert reckon(SUNDAY, start, add=add)["then"] == then


@pytest.mark.parametrize(
    "asked",
    [
        {"start": "soon"},
        {"end": "32 May"},
        {"add": "a while"},
        {"add": "999999 years"},
        {"add": "-3000 years"},
        {"add": "5"},
    ],
)
def test_what_is_unclear_is_a_sentence(asked: dict[str, str]) -> None:
    with pytest.raises(Unclear) as refused:
        reckon(SUNDAY, **asked)
    assert str(refused.value).endswith(".")
