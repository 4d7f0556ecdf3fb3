"""Today, days between two dates, and dates a given time later or earlier; pure."""

import calendar
import re
from datetime import date, timedelta

from webapp.i18n.dates import DAYS

_WORDS = {"today": 0, "now": 0, "tomorrow": 1, "yesterday": -1}
_STEP = re.compile(r"([+-]?)\s*(\d{1,6}|an?)\s*(working day|workday|business day|day|week|month|quarter|year)s?", re.I)
_BETWEEN = re.compile(r"[\s,;&]*(?:and[\s,;&]*)?", re.I)


class UnclearDate(ValueError):
    """Not a date, or not a span of time; the message is a sentence."""


def calculate_date(today: date, start: str = "", end: str = "", add: str = "") -> dict[str, str | int]:
    """Return a date's weekday (default: today), the days until `end`, or the date `add` later. Raises UnclearDate."""
    first = _day(start, today)
    result: dict[str, str | int] = {"date": first.isoformat(), "weekday": DAYS[first.weekday()]}
    if first != today:
        result["today"] = today.isoformat()
    if add.strip():
        first = _later(first, add)
        result |= {"then": first.isoformat(), "then_weekday": DAYS[first.weekday()]}
    if end.strip():
        last = _day(end, today)
        result |= {"end": last.isoformat(), "end_weekday": DAYS[last.weekday()], "days": (last - first).days}
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
    if unit in ("month", "quarter", "year"):
        months = day.year * 12 + day.month - 1 + number * {"month": 1, "quarter": 3, "year": 12}[unit]
        year, month = divmod(months, 12)
        if not 1 <= year <= 9999:
            raise ValueError("beyond the calendar")
        return date(year, month + 1, min(day.day, calendar.monthrange(year, month + 1)[1]))
    if unit in ("day", "week"):
        return day + timedelta(days=number * (7 if unit == "week" else 1))
    weeks, left = divmod(abs(number), 5)
    way = 1 if number >= 0 else -1
    while number and day.weekday() > 4:  # a weekend counts from the working day after it
        day -= timedelta(days=way)
    day += timedelta(weeks=weeks * way)
    while left:
        day += timedelta(days=way)
        left -= day.weekday() < 5
    return day


def _span(first: date, last: date) -> str:
    """Return a span in years, months and days, as birthdays count them."""
    sign, (first, last) = ("-", (last, first)) if last < first else ("", (first, last))
    months = (last.year - first.year) * 12 + last.month - first.month
    if _step(first, months, "month") > last:
        months -= 1
    days = (last - _step(first, months, "month")).days
    parts = [(months // 12, "year"), (months % 12, "month"), (days, "day")]
    words = [f"{number} {unit}{'' if number == 1 else 's'}" for number, unit in parts if number]
    return sign + (", ".join(words) or "0 days")


def _working_days(first: date, last: date) -> int:
    """Return Mondays to Fridays from the first day on, without the last day."""
    sign, (first, last) = (-1, (last, first)) if last < first else (1, (first, last))
    weeks, left = divmod((last - first).days, 7)
    return sign * (weeks * 5 + sum((first.weekday() + number) % 7 < 5 for number in range(left)))
