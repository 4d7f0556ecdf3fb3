"""Dates in people's words."""

from datetime import UTC, datetime, timedelta

import pytest

from webapp.i18n import date_texts, numbers
from webapp.i18n.dates import zone

NOW = datetime(2026, 11, 21, 14, 30, tzinfo=UTC)  # a Saturday


@pytest.fixture(autouse=True)
def _in_english(monkeypatch: pytest.MonkeyPatch) -> None:
    """A catalog needs a request."""
    for module in (date_texts, numbers):
        monkeypatch.setattr(module, "_", lambda text, **values: text % values)


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
def test_said(ago, words):
    assert date_texts.describe_moment(NOW - ago, NOW.date(), "en") == words


def test_moments_in_full_and_durations_in_the_readers_language():
    assert date_texts.exact_moment(NOW, "en") == "Saturday, 21 November 2026, 14:30:00"
    for seconds, code, words in (
        (1, "de", "a moment"),
        (12, "de", "12 Sekunden"),
        (125, "en", "2 min 5 s"),
        (3_600, "de", "1 Std."),
    ):
        assert numbers.duration(seconds, code) == words


def test_zones():
    assert NOW.astimezone(zone("Europe/Lisbon")).hour == 14
    assert NOW.astimezone(zone("Asia/Tokyo")).hour == 23
    for unknown in (None, "", "../../etc/passwd", "Mars/Olympus"):
        assert zone(unknown) is UTC


@pytest.mark.parametrize(("hour", "part"), [(4, "evening"), (5, "morning"), (12, "afternoon"), (18, "evening")])
def test_greeting(hour, part):
    assert date_texts.greeting(NOW.replace(hour=hour), "Ada King Lovelace") == f"Good {part}, Ada"
    assert date_texts.greeting(NOW.replace(hour=hour), " ") == f"Good {part}"
