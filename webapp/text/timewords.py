"""Times that a question names by their distance from now, as calendar words."""

from __future__ import annotations

import re
from datetime import date, timedelta

from webapp.text.words import MONTHS

_SEASONS = {"spring": (3, 4, 5), "summer": (6, 7, 8), "autumn": (9, 10, 11), "fall": (9, 10, 11), "winter": (12, 1, 2)}
_NUMBERS = {"a couple": 2, "a few": 3, "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_YESTERDAY = re.compile(r"\b(the day before yesterday|yesterday)\b")
_NAMED = re.compile(rf"\b(last|this|past)\s+({'|'.join((*_SEASONS, *MONTHS))}|week|month|year)\b")
_AGO = re.compile(rf"\b(\d{{1,3}}|{'|'.join(_NUMBERS)})(?:\s+of)?\s+(day|week|month|year)s?\s+ago\b")


def calendar_words(question: str, today: date) -> str:
    """The days, months and years a question names by their distance: "last spring" is "march april may 2026".

    Empty if it names none. English only.
    """
    asked = question.casefold()
    found: list[str] = []
    for match in _YESTERDAY.finditer(asked):
        back = 1 if match[1] == "yesterday" else 2
        found.append(_day(today - timedelta(days=back)))
    for match in _NAMED.finditer(asked):
        found.append(_named(match[1], match[2], today))
    for match in _AGO.finditer(asked):
        number = _NUMBERS.get(match[1]) or int(match[1])
        found.append(_ago(number, match[2], today))
    return " ".join(dict.fromkeys(" ".join(found).split()))


def _day(day: date) -> str:
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def _month(day: date) -> str:
    return f"{MONTHS[day.month - 1]} {day.year}"


def _months_before(day: date, months: int) -> date:
    count = day.year * 12 + day.month - 1 - months
    return date(max(count // 12, 1), count % 12 + 1, 1)


def _named(which: str, what: str, today: date) -> str:
    is_last = which != "this"
    if what == "week":
        return " ".join(dict.fromkeys(f"{_month(today - timedelta(days=7 * is_last))} {_month(today)}".split()))
    if what == "month":
        return _month(_months_before(today, int(is_last)))
    if what == "year":
        return str(today.year - is_last)
    if what in MONTHS:
        month = MONTHS.index(what) + 1
        year = today.year - (is_last and month >= today.month)
        return f"{what} {year}"
    months = _SEASONS[what]
    # A season that is not over, or has not come yet, was last a year ago.
    is_past = months[-1] < today.month and months[0] <= months[-1]
    year = today.year - (is_last and not is_past and months[0] <= months[-1])
    return f"{' '.join(MONTHS[month - 1] for month in months)} {year}"


def _ago(number: int, unit: str, today: date) -> str:
    if unit == "day":
        return _day(today - timedelta(days=min(number, 100_000)))
    if unit == "week":
        return _month(today - timedelta(days=7 * number))
    if unit == "month":
        return _month(_months_before(today, number))
    return str(max(today.year - number, 1))
