"""Dates: weekdays, days between, and dates so much later."""

import json
from datetime import date
from pathlib import Path

import pytest

from webapp.tools.date_arithmetic import Unclear, reckon

CASES = json.loads(Path(__file__).with_name("date_arithmetic.json").read_text(encoding="utf-8"))

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


@pytest.mark.parametrize(("start", "add", "then"), CASES["so_much_later"])
def test_so_much_later(start: str, add: str, then: str) -> None:
    assert reckon(SUNDAY, start, add=add)["then"] == then


@pytest.mark.parametrize("asked", CASES["what_is_unclear_is_a_sentence"])
def test_what_is_unclear_is_a_sentence(asked: dict[str, str]) -> None:
    with pytest.raises(Unclear) as refused:
        reckon(SUNDAY, **asked)
    assert str(refused.value).endswith(".")
