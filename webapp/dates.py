"""Dates as people say them, in the reader's time zone."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo, available_timezones

_ZONES = frozenset(available_timezones())


def zone(name: str | None) -> tzinfo:
    """The time zone of that IANA name; UTC for a name nobody knows."""
    return ZoneInfo(name) if name in _ZONES else UTC


def said(at: datetime, now: datetime) -> str:
    """A moment as people say it: "14:05" today, "yesterday 14:05", "Tuesday 14:05", "3 May", "3 May 2024"."""
    days = (now.date() - at.date()).days
    clock = f"{at:%H:%M}"
    if days == 0:
        return clock
    if days == 1:
        return f"yesterday {clock}"
    if 1 < days < 7:
        return f"{at:%A} {clock}"
    return _day(at.date(), now.date())


def exactly(at: datetime) -> str:
    """A moment in full: "Saturday, 21 November 2026, 14:05:09"."""
    return f"{at:%A}, {at.day} {at:%B %Y, %H:%M:%S}"


def day_heading(day: date, today: date) -> str:
    """The heading a day's conversations stand under: by day for a week, then by month."""
    days = (today - day).days
    if days <= 0:
        return "Today"
    if days == 1:
        return "Yesterday"
    if days < 7:
        return f"{day:%A}"
    if day >= today.replace(day=1):
        return "Earlier this month"
    return f"{day:%B}" if day.year == today.year else f"{day:%B %Y}"


def greeting(now: datetime, name: str) -> str:
    """How to say hello at that time of day."""
    part = "morning" if 5 <= now.hour < 12 else "afternoon" if 12 <= now.hour < 18 else "evening"
    first = name.split()[0] if name.split() else ""
    return f"Good {part}, {first}" if first else f"Good {part}"


def _day(day: date, today: date) -> str:
    near = today - day < timedelta(days=300) and day <= today
    return f"{day.day} {day:%B}" if near or day.year == today.year else f"{day.day} {day:%B %Y}"
