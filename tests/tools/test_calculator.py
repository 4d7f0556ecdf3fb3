"""Arithmetic: exact, bounded, and never more than arithmetic."""

import json
from contextlib import suppress
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from webapp.tools.calculator import MAX_EXPRESSION_LENGTH, Unanswerable, calculate
from webapp.tools.date_arithmetic import UnclearDate, calculate_date

CASES = json.loads(Path(__file__).with_name("calculator.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("expression", "result"), CASES["it_is_right"])
def test_it_is_right(expression, result):
    assert calculate(expression)["result"] == result


def test_what_is_a_fraction_is_said_as_one_too():
    assert calculate("1/3") == {"result": "0.333333333333333333333333333333", "exact": "1/3"}
    assert calculate("sqrt(16/9)")["exact"] == "4/3"
    assert "exact" not in calculate("pi / 3")


@pytest.mark.parametrize("expression", [*CASES["what_has_no_answer_is_a_sentence"], "1" * (MAX_EXPRESSION_LENGTH + 1)])
def test_what_has_no_answer_is_a_sentence(expression):
    with pytest.raises(Unanswerable) as refused:
        calculate(expression)
    assert str(refused.value).endswith(".") and len(str(refused.value)) < 120


@settings(max_examples=300)
@given(st.text(alphabet="0123456789.+-*/%^!(), episqrtlnxoundmaxE_√×", max_size=60))
def test_nothing_else_is_raised_and_nothing_grows(expression):
    with suppress(Unanswerable):
        assert all(len(text) < 2_000 for text in calculate(expression).values())


DATE_CASES = json.loads(Path(__file__).with_name("date_arithmetic.json").read_text(encoding="utf-8"))

SUNDAY = date(2026, 11, 22)


def test_today_has_a_weekday():
    assert calculate_date(SUNDAY) == {"date": "2026-11-22", "weekday": "Sunday"}
    assert calculate_date(SUNDAY, "tomorrow")["weekday"] == "Monday"


def test_days_between():
    found = calculate_date(SUNDAY, end="2026-12-24")
    assert (found["days"], found["in_words"], found["working_days"]) == (32, "1 month, 2 days", 23)
    back = calculate_date(SUNDAY, "2026-12-24", "today")
    assert (back["days"], back["in_words"], back["working_days"]) == (-32, "-1 month, 2 days", -23)
    assert calculate_date(SUNDAY, "1990-05-17", "today")["in_words"] == "36 years, 6 months, 5 days"
    assert calculate_date(SUNDAY, "2024-02-29", "2025-02-28")["in_words"] == "1 year"


@pytest.mark.parametrize(("start", "add", "then"), DATE_CASES["so_much_later"])
def test_so_much_later(start, add, then):
    assert calculate_date(SUNDAY, start, add=add)["then"] == then


@pytest.mark.parametrize("asked", DATE_CASES["what_is_unclear_is_a_sentence"])
def test_what_is_unclear_is_a_sentence(asked):
    with pytest.raises(UnclearDate) as refused:
        calculate_date(SUNDAY, **asked)
    assert str(refused.value).endswith(".")
