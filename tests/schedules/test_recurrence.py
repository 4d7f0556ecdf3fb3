"""When something is due: wall clocks, months that are shorter, hours that are skipped or come twice."""

import time
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, strategies as st
from icalendar import Calendar

from testkit.people import ApiClient, csrf_token, follow
from tests.conversations.test_api import assert_problem
from tests.support.queries import change_row
from webapp.accounts.models import User
from webapp.db.base import db
from webapp.schedules.models import ScheduleFeed
from webapp.schedules.recurrence import Repeat, next_time, rule_of, to_instant

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


def test_once_is_once():
    assert times("", "2026-12-06T18:00", "Europe/Berlin", 3) == ["2026-12-06T18:00+0100"]


@pytest.mark.cases("repeat", "starts_at", "expected")
def test_the_choices(repeat, starts_at, expected):
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
def test_clocks_that_change(zone, starts_at, expected):
    assert [time[8:] for time in times("FREQ=DAILY", starts_at, zone, 3)] == expected


@pytest.mark.cases("custom", "expected")
def test_rules_of_calendars(custom, expected):
    assert rule("custom", "2026-12-06T18:00", custom) == expected
    assert times(expected, "2026-12-06T18:00", "Europe/Berlin", 1)


def test_a_rule_without_times_holds_nobody_up():
    """It was looked for until the year 9999: up to forty seconds in which nobody's reply went on."""
    starts_at, began = datetime(2026, 12, 6, 18), time.thread_time()  # noqa: DTZ001 - local
    custom = f"FREQ=MONTHLY;BYDAY=MO;BYSETPOS={','.join(map(str, range(340, 367)))}"
    assert next_time(rule_of("custom", custom, starts_at), starts_at, "UTC", datetime.now(UTC)) is None
    assert time.thread_time() - began < 1


def test_a_leap_day_waits_for_its_year():
    found = times("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29", "2027-01-01T09:00", "UTC", 2)
    assert [time[:10] for time in found] == ["2028-02-29", "2032-02-29"]


@pytest.mark.cases("custom")
def test_what_is_no_rule_is_named(custom):
    with pytest.raises(ValueError, match=r"^(must|has|is) "):
        rule("custom", "2026-12-06T18:00", custom)


@given(
    st.sampled_from(ZONES),
    st.datetimes(datetime(2026, 1, 1), datetime(2030, 1, 1)),  # noqa: DTZ001 - local
    st.sampled_from(["FREQ=DAILY", "FREQ=HOURLY", "FREQ=WEEKLY;BYDAY=MO,SU", "FREQ=MONTHLY"]),
    st.integers(0, 400),
)
def test_each_time_is_later_and_none_is_left_out(zone, starts_at, rule_, days):
    starts_at = starts_at.replace(second=0, microsecond=0)
    after = to_instant(starts_at, zone) + timedelta(days=days, minutes=-1)
    first = next_time(rule_, starts_at, zone, after)
    assert first is not None and first > after
    second = next_time(rule_, starts_at, zone, first)
    assert second is not None and second > first
    assert next_time(rule_, starts_at, zone, second - timedelta(microseconds=1)) == second


FEED = "/api/schedules/feed"


def add(client: ApiClient, title: str, **fields: Any) -> int:
    body = {"prompt": "Private words.", "title": title, "at": "2036-12-01T18:00", "timezone": "Europe/Berlin"}
    return client.post("/api/schedules", json={**body, **fields}).json["schedule_id"]


def secret_place(browser: Any) -> str:
    page = browser.get("/schedules").text
    shown = follow(
        browser, browser.post("/schedules/calendar", data={"csrf_token": csrf_token(page), "do": "make"})
    ).text
    assert 'data-copy-from="calendar-url"' in shown
    return "/schedules/" + shown.partition(".ics")[0].rpartition("/schedules/")[2] + ".ics"


def test_a_calendar_has_what_is_due_by_title_and_local_time(client, browser, anonymous):
    add(client, "Review; weekly, long", rrule="FREQ=WEEKLY")
    add(client, "Once")
    client.patch(f"/api/schedules/{add(client, 'Paused')}", json={"is_active": False})
    answer = anonymous.get(secret_place(browser))
    assert answer.status_code == 200 and answer.mimetype == "text/calendar"
    assert answer.headers["Cache-Control"] == "private, no-cache"
    calendar = Calendar.from_ical(answer.data)
    found = {str(event["summary"]): event for event in calendar.walk("VEVENT")}
    assert set(found) == {"Review; weekly, long", "Once"}
    review = found["Review; weekly, long"]
    assert review["rrule"].to_ical() == b"FREQ=WEEKLY" and "rrule" not in found["Once"]
    assert review["dtstart"].dt.isoformat() == "2036-12-01T18:00:00+01:00"
    assert [str(zone["tzid"]) for zone in calendar.walk("VTIMEZONE")] == ["Europe/Berlin"]
    assert "Private words" not in answer.text


def test_a_new_address_ends_the_one_before_and_it_can_be_withdrawn(app, client, browser, anonymous):
    first, second = secret_place(browser), secret_place(browser)
    assert client.get(FEED).json["url"].endswith(second), "reading it makes no other"
    assert anonymous.get(first).status_code == 404 and anonymous.get(second).status_code == 200
    with app.app_context():
        assert second.removeprefix("/schedules/").removesuffix(".ics") not in db.session.scalars(
            db.select(ScheduleFeed.digest)
        ), "a copy of the database opens no calendar"
    page = browser.get("/schedules").text
    assert second not in page and "Withdraw it" in page
    form = {"csrf_token": csrf_token(page)}
    assert browser.post("/schedules/calendar", data={**form, "do": "nothing"}).status_code == 422
    assert browser.post("/schedules/calendar", data={**form, "do": "withdraw"}).status_code == 303
    assert anonymous.get(second).status_code == 404
    assert anonymous.get("/schedules/%00%ff.ics").status_code == 404


def test_it_opens_for_nobody_whose_account_is_not_in_use(app, user, browser, anonymous):
    place = secret_place(browser)
    change_row(app, User, user.user_id, is_active=False)
    assert anonymous.get(place).status_code == 404


def test_a_program_reads_the_url_and_neither_renews_nor_withdraws_it(app, client, anonymous, monkeypatch):
    add(client, "Once")
    url = client.get(FEED).json["url"]
    assert b"SUMMARY:Once" in anonymous.get(url.partition("localhost")[2]).data
    assert client.get(FEED).json["url"] == url
    monkeypatch.setitem(app.config, "SECRET_KEY", "another")
    assert anonymous.get(url.partition("localhost")[2]).status_code == 404
    assert anonymous.get(client.get(FEED).json["url"].partition("localhost")[2]).status_code == 200
    assert_problem(client.post(FEED), 403)
    assert_problem(client.delete(FEED), 403)
