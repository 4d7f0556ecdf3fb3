"""Schedules in other programs' calendars."""

from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask
from icalendar import Calendar

from testkit.people import ApiClient, Person, csrf_token
from tests.conversations.test_api import assert_problem
from webapp.accounts.models import User
from webapp.db.base import db, write_transaction
from webapp.schedules.models import ScheduleFeed

FEED = "/api/schedules/feed"


@pytest.fixture
def browser(user: Person, login: Callable) -> Any:
    return login(user)


def add(client: ApiClient, title: str, **fields: Any) -> int:
    body = {"prompt": "Private words.", "title": title, "at": "2036-12-01T18:00", "timezone": "Europe/Berlin"}
    return client.post("/api/schedules", json={**body, **fields}).json["schedule_id"]


def secret_place(browser: Any) -> str:
    page = browser.get("/schedules").text
    shown = browser.post("/schedules/calendar", data={"csrf_token": csrf_token(page), "do": "make"}).text
    assert 'data-copy-from="calendar-url"' in shown
    return "/schedules/" + shown.partition(".ics")[0].rpartition("/schedules/")[2] + ".ics"


def test_a_calendar_has_what_is_due_by_title_and_local_time(client: ApiClient, browser: Any, anonymous: Any) -> None:
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


def test_a_new_address_ends_the_one_before_and_it_can_be_withdrawn(
    app: Flask, client: ApiClient, browser: Any, anonymous: Any
) -> None:
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


def test_it_opens_for_nobody_whose_account_is_not_in_use(
    app: Flask, user: Person, browser: Any, anonymous: Any
) -> None:
    place = secret_place(browser)
    with app.app_context(), write_transaction():
        db.session.get_one(User, user.user_id).is_active = False
    assert anonymous.get(place).status_code == 404


def test_a_program_reads_the_url_and_neither_renews_nor_withdraws_it(
    app: Flask, client: ApiClient, anonymous: Any
) -> None:
    add(client, "Once")
    url = client.get(FEED).json["url"]
    assert b"SUMMARY:Once" in anonymous.get(url.partition("localhost")[2]).data
    assert client.get(FEED).json["url"] == url
    with app.app_context(), write_transaction():  # as after SECRET_KEY was changed
        db.session.query(ScheduleFeed).update({"digest": "of another key"})
    assert anonymous.get(client.get(FEED).json["url"].partition("localhost")[2]).status_code == 200
    assert_problem(client.post(FEED), 403)
    assert_problem(client.delete(FEED), 403)
    assert anonymous.get("/schedules").status_code == 303
