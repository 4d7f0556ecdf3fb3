"""Today, days between two dates, and dates a given time later or earlier; pure."""

import re
from datetime import date, timedelta

import numpy as np
from dateutil.relativedelta import relativedelta

_WORDS = {"today": 0, "now": 0, "tomorrow": 1, "yesterday": -1}
_STEP = re.compile(r"([+-]?)\s*(\d{1,6}|an?)\s*(working day|workday|business day|day|week|month|quarter|year)s?", re.I)
_SPANS = {
    "day": relativedelta(days=1),
    "week": relativedelta(weeks=1),
    "month": relativedelta(months=1),
    "quarter": relativedelta(months=3),
    "year": relativedelta(years=1),
}
_BETWEEN = re.compile(r"[\s,;&]*(?:and[\s,;&]*)?", re.I)


class UnclearDate(ValueError):
    """Not a date, or not a span of time; the message is a sentence."""


def calculate_date(today: date, start: str = "", end: str = "", add: str = "") -> dict[str, str | int]:
    """Return a date's weekday (default: today), the days until `end`, or the date `add` later. Raises UnclearDate."""
    first = _day(start, today)
    result: dict[str, str | int] = {"date": first.isoformat(), "weekday": f"{first:%A}"}
    if first != today:
        result["today"] = today.isoformat()
    if add.strip():
        first = _later(first, add)
        result |= {"then": first.isoformat(), "then_weekday": f"{first:%A}"}
    if end.strip():
        last = _day(end, today)
        result |= {"end": last.isoformat(), "end_weekday": f"{last:%A}", "days": (last - first).days}
        result |= {"in_words": _span(first, last), "working_days": _working_days(first, last)}
    return result


def _day(text: str, today: date) -> date:
    text = text.strip().lower()
    if not text:
        return today
    if text in _WORDS:
        return today + timedelta(days=_WORDS[text])
    try:
        return date.fromisoformat(text[:10] if re.match(r"\d{4}-\d\d-\d\d[t ]", text) else text)
    except ValueError:
        raise UnclearDate(f"“{text[:30]}” is not a date such as {today.isoformat()}.") from None


def _later(day: date, text: str) -> date:
    backward = bool(re.search(r"\bago\b", text, re.I))
    text = re.sub(r"\b(?:ago|later|from now)\b", "", text, flags=re.I).strip()
    index, sign = 0, ""
    steps = []
    while index < len(text):
        match = _STEP.match(text, index)
        if match is None:
            raise UnclearDate(f"“{text[:30]}” is not an amount of time such as “2 weeks” or “-3 months”.")
        sign = match[1] or sign  # "-1 year 2 months" goes back the whole way
        number = 1 if match[2].lower().startswith("a") else int(match[2])
        steps.append((-number if (sign == "-") != backward else number, match[3].lower()))
        index = match.end()
        between = _BETWEEN.match(text, index)
        index = between.end() if between else index
    try:
        for number, unit in steps:
            day = _step(day, number, unit)
    except (OverflowError, ValueError):
        raise UnclearDate("That is beyond the years 1 to 9999.") from None
    return day


def _step(day: date, number: int, unit: str) -> date:
    if unit in _SPANS:
        later: date = day + number * _SPANS[unit]
        return later
    if number == 0:
        return day
    # From a weekend, the days are counted from the working day on its other side.
    then = np.busday_offset(day, number, "backward" if number > 0 else "forward")
    return day + timedelta(days=int((then - np.datetime64(day)).astype(int)))


def _span(first: date, last: date) -> str:
    """Return a span in years, months and days, as birthdays count them."""
    span = relativedelta(max(first, last), min(first, last))
    parts = [(span.years, "year"), (span.months, "month"), (span.days, "day")]
    words = [f"{number} {unit}{'' if number == 1 else 's'}" for number, unit in parts if number]
    return ("-" if last < first else "") + (", ".join(words) or "0 days")


def _working_days(first: date, last: date) -> int:
    """Return Mondays to Fridays from the earlier day on, without the later one; negative if that comes first."""
    days = int(np.busday_count(min(first, last), max(first, last)))
    return days if first <= last else -days
