"""When something is due: wall clocks, months that are shorter, hours that are skipped or come twice."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from webapp.schedules.recurrence import Repeat, next_time, rule_of, to_instant

CASES = json.loads(Path(__file__).with_name("recurrence.json").read_text(encoding="utf-8"))

ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "UTC")


def times(rule: str, starts_at: str, zone: str, count: int, after: str = "2000-01-01T00:00") -> list[str]:
    """The next times of a rule, local, each found from the one before."""
    found, at = [], datetime.fromisoformat(after).replace(tzinfo=UTC)
    while len(found) < count and (due := next_time(rule, datetime.fromisoformat(starts_at), zone, at)) is not None:
        found.append(due.astimezone(ZoneInfo(zone)).strftime("%Y-%m-%dT%H:%M%z"))
        at = due
    return found


def rule(repeat: Repeat, starts_at: str, custom: str = "") -> str:
    return rule_of(repeat, custom, datetime.fromisoformat(starts_at))


def test_once_is_once() -> None:
    assert times("", "2026-12-06T18:00", "Europe/Berlin", 3) == ["2026-12-06T18:00+0100"]


@pytest.mark.parametrize(("repeat", "starts_at", "expected"), CASES["the_choices"])
def test_the_choices(repeat: Repeat, starts_at: str, expected: list[str]) -> None:
    found = times(rule(repeat, starts_at), starts_at, "Europe/Berlin", 4)
    assert [time[5:10] for time in found] == expected


@pytest.mark.parametrize(
    ("zone", "starts_at", "expected"),
    [
        # 28 March 2027, two o'clock: the hour is skipped.
        ("Europe/Berlin", "2027-03-27T02:30", ["27T02:30+0100", "28T03:30+0200", "29T02:30+0200"]),
        # 31 October 2027, three o'clock: the hour comes twice, and counts once.
        ("Europe/Berlin", "2027-10-30T02:30", ["30T02:30+0200", "31T02:30+0200", "01T02:30+0100"]),
        ("America/New_York", "2027-03-13T02:30", ["13T02:30-0500", "14T03:30-0400", "15T02:30-0400"]),
        ("America/New_York", "2027-11-06T01:30", ["06T01:30-0400", "07T01:30-0400", "08T01:30-0500"]),
        # Half an hour, at two o'clock.
        ("Australia/Lord_Howe", "2027-10-02T02:15", ["02T02:15+1030", "03T02:45+1100", "04T02:15+1100"]),
    ],
)
def test_clocks_that_change(zone: str, starts_at: str, expected: list[str]) -> None:
    assert [time[8:] for time in times("FREQ=DAILY", starts_at, zone, 3)] == expected


@pytest.mark.parametrize(("custom", "expected"), CASES["rules_of_calendars"])
def test_rules_of_calendars(custom: str, expected: str) -> None:
    assert rule("custom", "2026-12-06T18:00", custom) == expected
    assert times(expected, "2026-12-06T18:00", "Europe/Berlin", 1)


def test_a_leap_day_waits_for_its_year() -> None:
    found = times("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29", "2027-01-01T09:00", "UTC", 2)
    assert [time[:10] for time in found] == ["2028-02-29", "2032-02-29"]


@pytest.mark.parametrize("custom", CASES["what_is_no_rule_is_named"])
def test_what_is_no_rule_is_named(custom: str) -> None:
    with pytest.raises(ValueError, match=r"^(must|has|is) "):
        rule("custom", "2026-12-06T18:00", custom)


@settings(deadline=None)
@given(
    st.sampled_from(ZONES),
    st.datetimes(datetime(2026, 1, 1), datetime(2030, 1, 1)),  # noqa: DTZ001 - local
    st.sampled_from(["FREQ=DAILY", "FREQ=HOURLY", "FREQ=WEEKLY;BYDAY=MO,SU", "FREQ=MONTHLY"]),
    st.integers(0, 400),
)
def test_each_time_is_later_and_none_is_left_out(zone: str, starts_at: datetime, rule_: str, days: int) -> None:
    starts_at = starts_at.replace(second=0, microsecond=0)
    after = to_instant(starts_at, zone) + timedelta(days=days, minutes=-1)
    first = next_time(rule_, starts_at, zone, after)
    assert first is not None and first > after
    second = next_time(rule_, starts_at, zone, first)
    assert second is not None and second > first
    assert next_time(rule_, starts_at, zone, second - timedelta(microseconds=1)) == second
