"""Dates as a page prints them in its reader's language, by Unicode's names of months and halves of the day; pure."""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any, NamedTuple

from webapp.i18n.calendars import own_calendars

CLOCK = re.compile(r"(\d{1,2})(?::(\d\d)(?::(\d\d))?|\.(\d\d)\.(\d\d)(?!\d))")
"""A time of day, which has points for colons where days have them as well."""
_BETWEEN = re.compile(r"[\d\s,،/:年月日년월일-]+")
_HALVES = ("am", "pm")
_BUDDHIST = 543
"""How many years ahead of ours Thai calendars are."""


class _PageDate(NamedTuple):
    """The parts of one date: its numbers in order, its words before and after the clock, and the clock."""

    numbers: list[int]
    words: list[str]
    after: str
    clock: tuple[int, int, int]


def moments(texts: Sequence[str]) -> list[datetime | None]:
    """Return the moments in the dates of one page, as if in UTC; None for one that is not clear.

    A page is in one language: the one whose months most of its dates name.
    """
    dates = list(map(_read, texts))
    months, halves = _names() if any(dates) else ({}, {})
    known = Counter(language for date in dates if date for language in _month(date, months))
    most = max(known.values(), default=0)
    languages = {language for language, count in known.items() if count == most} or {*halves}
    return [date and _moment(date, languages) for date in dates]


def _read(text: str) -> _PageDate | None:
    clock = CLOCK.search(text)
    if clock is None:
        return None
    numbers = list(map(int, re.findall(r"\d{1,9}", text[: clock.start()])))
    hour, minute, second = (*(int(part) for part in clock.groups() if part), 0)[:3]
    before, after = _words(text[: clock.start()]), _words(text[clock.end() :])
    return _PageDate(numbers, before, "".join(after), (hour, minute, second))


def _words(text: str) -> list[str]:
    return [word for part in _BETWEEN.split(text.casefold()) if (word := part.replace(".", ""))]


def _month(date: _PageDate, months: Mapping[str, Mapping[str, int]]) -> Mapping[str, int]:
    """Return the month in each language that knows it: of several words that may name one, the longest does."""
    return months.get(max(filter(months.__contains__, date.words), key=len, default=""), {})


def _moment(date: _PageDate, languages: set[str]) -> datetime | None:
    months, halves = _names()
    named = {number for language, number in _month(date, months).items() if language in languages}
    year = next((number for number in date.numbers if number > 31), 0)  # noqa: PLR2004  # no day
    day, *others = [number for number in date.numbers if number != year] or [0]
    if others:
        day, named = (others[0], {day}) if date.numbers[0] == year else (day, {others[0]})
    hour, minute, second = date.clock
    before = "".join(date.words)
    names = {name for language in languages for name in halves[language]}
    found = {half for name, half in names if before.endswith(name) or date.after.startswith(name)}
    hour = hour % 12 + 12 * ("pm" in found) if len(found) == 1 else hour
    try:
        (month,) = named
        return datetime(year - _BUDDHIST * (year > 2400), month, day, hour, minute, second, tzinfo=UTC)  # noqa: PLR2004
    except ValueError:
        return None


@cache
def _names() -> tuple[dict[str, dict[str, int]], dict[str, set[tuple[str, str]]]]:
    """Return the number of each name of a month by its language, and each language's names of am and pm."""
    months: dict[str, dict[str, int]] = defaultdict(dict)
    halves: dict[str, set[tuple[str, str]]] = {}
    for language, calendar in ((name, own) for name, own in own_calendars() if len(name) == 2):  # noqa: PLR2004
        for number, name in (pair for form in _forms(calendar, "months") for pair in form.items()):
            for word in _words(name)[:1] if not re.search(r"\d", name) else ():
                for end in {len(word), *range(4, len(word))}:  # "Sept" is an abbreviation in some places only
                    months[word[:end]].setdefault(language, number)
        forms = [*_forms(calendar, "day_periods"), {half: half for half in _HALVES}]
        halves[language] = {("".join(_words(form[half])), half) for form in forms for half in _HALVES if half in form}
    return months, halves


def _forms(calendar: Mapping[str, Any], kind: str) -> list[dict[Any, str]]:
    """Return the names of a kind that a language writes out: what it takes from elsewhere stands there."""
    uses = [calendar.get(kind, {}).get(use) for use in ("format", "stand-alone")]
    forms = [use.get(width) for width in ("abbreviated", "wide") for use in uses if isinstance(use, dict)]
    return [form for form in forms if isinstance(form, dict)]
