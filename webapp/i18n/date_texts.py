"""Dates as people say them, in the reader's language. English ones are written here and in `dates`, without Babel."""

from datetime import date, datetime, timedelta
from functools import cache

from babel.dates import format_date, format_skeleton, get_day_names, get_month_names

from webapp.i18n import SOURCE, dates
from webapp.i18n.numbers import locale_of
from webapp.i18n.request_language import gettext as _


def describe_moment(moment: datetime, today: date, code: str) -> str:
    """Return a moment as people say it: "14:05" today, "gestern 14:05", "Dienstag 14:05", "3. Mai", "3. Mai 2024"."""
    if not dates.is_dated(moment):
        return _("no date")
    days = (today - moment.date()).days
    clock = f"{moment:%H:%M}"
    if days == 0:
        return clock
    if days == 1:
        return _("yesterday %(time)s", time=clock)
    if 1 < days < 7:
        return _("%(day)s %(time)s", day=_weekday(moment.date(), code), time=clock)
    return _date(moment.date(), today, code, "MMMMd")


def exact_moment(moment: datetime, code: str) -> str:
    """Return a moment in full: "Samstag, 21. November 2026, 14:05:09"."""
    if not dates.is_dated(moment):
        return _("The export it came from has no date for it.")
    if code == SOURCE:
        return f"{dates.with_weekday(moment)}, {moment:%H:%M:%S}"
    return _("%(day)s, %(time)s", day=format_date(moment, "full", locale=locale_of(code)), time=f"{moment:%H:%M:%S}")


def full_date(day: date, code: str) -> str:
    """Return a day by itself: "3. Mai 2024"."""
    return dates.full_date(day) if code == SOURCE else str(format_date(day, "long", locale=locale_of(code)))


def short_date(day: date, today: date, code: str) -> str:
    """Return a day without the year that is clear without being given: "3 May", "3. Mai 2024"."""
    return _date(day, today, code, "MMMd")


def _date(day: date, today: date, code: str, skeleton: str) -> str:
    """Return a day and its month, as long as a skeleton of CLDR says, with the year if that is not clear."""
    is_near = day.year == today.year or (today - day < timedelta(days=300) and day <= today)
    if code == SOURCE:
        return f"{day.day} {day:%B}" if is_near else dates.full_date(day)
    return str(format_skeleton(skeleton if is_near else f"y{skeleton}", day, locale=locale_of(code)))


def numeric_moment(moment: datetime, code: str) -> str:
    """Return a moment as documents write it: "2026-11-21 14:05", "21.11.2026 14:05"."""
    day = f"{moment:%Y-%m-%d}" if code == SOURCE else str(format_date(moment, "medium", locale=locale_of(code)))
    return f"{day} {moment:%H:%M}"


def list_heading(day: date, today: date, code: str) -> str:
    """Return the heading of a day in a list: today, yesterday, the last week or 30 days, then by month."""
    if not dates.is_dated(day):
        return _("Undated")
    days = (today - day).days
    if days <= 0:
        return _("Today")
    if days == 1:
        return _("Yesterday")
    if days <= 7:
        return _("Previous 7 days")
    if days <= 30:
        return _("Previous 30 days")
    return _month(day.year, day.month, day.year == today.year, code)


def period_name(year: int, month: int, code: str) -> str:
    """Return a month with its year, or, given month 0, the year: "May 2024", "2024"."""
    return _month(year, month, False, code) if month else str(year)


@cache
def _month(year: int, month: int, is_this_year: bool, code: str) -> str:
    day, locale = date(year, month, 1), locale_of(code)
    # A month alone has no skeleton in any of our languages; its pattern needs none.
    name = str(format_date(day, "LLLL", locale) if is_this_year else format_skeleton("yMMMM", day, locale=locale))
    return name[:1].upper() + name[1:]


@cache
def day_and_month_names(code: str) -> frozenset[str]:
    """Return the names of days and months in full, as within a sentence and by themselves."""
    locale, result = locale_of(code), set[str]()
    for context in ("format", "stand-alone"):
        for names in (get_day_names("wide", context, locale), get_month_names("wide", context, locale)):
            result.update(map(str, names.values()))
    return frozenset(result)


def greeting(now: datetime, name: str) -> str:
    """Return a greeting for that time of day; with the first name if there is one."""
    first = name.split()[0] if name.split() else ""
    if 5 <= now.hour < 12:
        return _("Good morning, %(name)s", name=first) if first else _("Good morning")
    if 12 <= now.hour < 18:
        return _("Good afternoon, %(name)s", name=first) if first else _("Good afternoon")
    return _("Good evening, %(name)s", name=first) if first else _("Good evening")


def _weekday(day: date, code: str) -> str:
    return f"{day:%A}" if code == SOURCE else str(get_day_names("wide", "stand-alone", locale_of(code))[day.weekday()])
