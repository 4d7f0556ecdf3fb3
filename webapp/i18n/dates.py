"""Days, time zones, and the one form of a date that needs no reader: "3 May 2024"."""

import calendar
from datetime import UTC, date, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo, available_timezones

UNDATED = datetime(1971, 1, 1, tzinfo=UTC)
"""Stands for the date of what was imported without one: the earliest that a TIMESTAMP column holds in any time zone."""
_ZONES = frozenset(available_timezones())
_MONTHS = tuple(calendar.month_name)


def is_time_zone(name: str) -> bool:
    """Return whether there is a time zone of that name."""
    return name in _ZONES


def zone(name: str | None) -> tzinfo:
    """Return the time zone of that IANA name; UTC for an unknown name."""
    return ZoneInfo(name) if name in _ZONES else UTC


def is_dated(day: date) -> bool:
    """Return whether a day, or a moment, is a real one, in any time zone, and not that of something undated."""
    return day.year > UNDATED.year


def with_weekday(day: date) -> str:
    """Return a day, or that of a moment, with its weekday: "Saturday, 21 November 2026"."""
    return f"{day:%A}, {full_date(day)}"


def full_date(day: date) -> str:
    """Return a day, or that of a moment: "3 May 2024". English, whatever the machine speaks."""
    return f"{day.day} {_MONTHS[day.month]} {day.year}"


def last_time_zone_day(moment: datetime) -> date:
    """Return the day in the time zone where days end last: what holds until a day holds there as well."""
    return (moment - timedelta(hours=12)).date()
