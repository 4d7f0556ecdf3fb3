"""Dates in people's words."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from webapp.dates import day_heading, exactly, greeting, said, zone

NOW = datetime(2026, 11, 21, 14, 30, tzinfo=UTC)  # a Saturday


@pytest.mark.parametrize(
    ("ago", "words"),
    [
        (timedelta(minutes=25), "14:05"),
        (timedelta(hours=14, minutes=29), "00:01"),
        (timedelta(hours=14, minutes=31), "yesterday 23:59"),
        (timedelta(days=1, minutes=25), "yesterday 14:05"),
        (timedelta(days=4), "Tuesday 14:30"),
        (timedelta(days=6), "Sunday 14:30"),
        (timedelta(days=7), "14 November"),
        (timedelta(days=280), "14 February"),
        (timedelta(days=400), "17 October 2025"),
        (timedelta(days=-2), "23 November"),
    ],
)
def test_said(ago: timedelta, words: str) -> None:
    assert said(NOW - ago, NOW.date()) == words


def test_exactly() -> None:
    assert exactly(datetime(2026, 3, 5, 9, 7, 2, tzinfo=UTC)) == "Thursday, 5 March 2026, 09:07:02"


@pytest.mark.parametrize(
    ("day", "heading"),
    [
        (date(2026, 11, 22), "Today"),  # a clock that runs ahead
        (date(2026, 11, 21), "Today"),
        (date(2026, 11, 20), "Yesterday"),
        (date(2026, 11, 15), "Sunday"),
        (date(2026, 11, 14), "Earlier this month"),
        (date(2026, 11, 1), "Earlier this month"),
        (date(2026, 10, 31), "October"),
        (date(2025, 11, 21), "November 2025"),
    ],
)
def test_day_headings(day: date, heading: str) -> None:
    assert day_heading(day, date(2026, 11, 21)) == heading


def test_headings_never_repeat_further_down() -> None:
    today = date(2026, 3, 3)
    headings = [day_heading(today - timedelta(days=days), today) for days in range(800)]
    seen = [heading for heading, before in zip(headings, ["", *headings], strict=False) if heading != before]
    assert len(seen) == len(set(seen))


def test_zones() -> None:
    assert NOW.astimezone(zone("Europe/Lisbon")).hour == 14
    assert NOW.astimezone(zone("Asia/Tokyo")).hour == 23
    for unknown in (None, "", "../../etc/passwd", "Mars/Olympus"):
        assert zone(unknown) is UTC


@pytest.mark.parametrize(("hour", "part"), [(4, "evening"), (5, "morning"), (12, "afternoon"), (18, "evening")])
def test_greeting(hour: int, part: str) -> None:
    assert greeting(NOW.replace(hour=hour), "Ada King Lovelace") == f"Good {part}, Ada"
    assert greeting(NOW.replace(hour=hour), " ") == f"Good {part}"
