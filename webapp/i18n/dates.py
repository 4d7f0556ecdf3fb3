"""Dates as people say them, in the reader's time zone."""

import calendar
from datetime import UTC, date, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo, available_timezones

UNDATED = datetime(1971, 1, 1, tzinfo=UTC)
"""Stands for the date of what was imported without one: the earliest that a TIMESTAMP column holds in any time zone."""
_ZONES = frozenset(available_timezones())
# English, whatever the machine speaks: Python takes on no locale by itself.
DAYS, MONTHS = tuple(calendar.day_name), tuple(calendar.month_name)
"""MONTHS[1] is January."""


def is_time_zone(name: str) -> bool:
    """Return whether there is a time zone of that name."""
    return name in _ZONES


def zone(name: str | None) -> tzinfo:
    """Return the time zone of that IANA name; UTC for an unknown name."""
    return ZoneInfo(name) if name in _ZONES else UTC


def is_dated(day: date) -> bool:
    """Return whether a day, or a moment, is a real one, in any time zone, and not that of something undated."""
    return day.year > UNDATED.year


def exactly(moment: datetime) -> str:
    """Return a moment in full: "Saturday, 21 November 2026, 14:05:09"."""
    return f"{with_weekday(moment)}, {moment.hour:02}:{moment.minute:02}:{moment.second:02}"


def with_weekday(day: date) -> str:
    """Return a day, or that of a moment, with its weekday: "Saturday, 21 November 2026"."""
    return f"{DAYS[day.weekday()]}, {full_date(day)}"


def full_date(day: date) -> str:
    """Return a day on its own: "3 May 2024"."""
    return f"{day.day} {MONTHS[day.month]} {day.year}"


def last_time_zone_day(moment: datetime) -> date:
    """Return the day in the time zone where days end last: what holds until a day holds there as well."""
    return (moment - timedelta(hours=12)).date()


def is_near(day: date, today: date) -> bool:
    """Return whether a day is clear without its year being given."""
    return day.year == today.year or (today - day < timedelta(days=300) and day <= today)


def short_date(day: date, today: date) -> str:
    """Return a day without the year that is clear without being given: "3 May", "3 May 2024"."""
    text = f"{day.day} {MONTHS[day.month]}"
    return text if is_near(day, today) else f"{text} {day.year}"


def describe_duration(seconds: float) -> str:
    """Return how long something took: "a moment", "12 seconds", "2 min 5 s"."""
    total = round(seconds)
    if total < 2:
        return "a moment"
    return f"{total} seconds" if total < 60 else f"{total // 60} min {total % 60} s"
