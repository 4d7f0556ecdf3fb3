"""The row that says what came since last time."""

import re
from typing import Any

from flask import Flask
from flask.testing import FlaskClient

from testkit.people import api_client, page_token
from tests.schedules.test_schedules import claim, make, make_due
from tests.spaces.helpers import invite, join, make_space
from webapp.conversations.models import Conversation
from webapp.db.base import add_row, db, write_transaction
from webapp.memories.models import Memory
from webapp.spaces.models import SpaceMember

PART = {"HX-Request": "true"}


def row(browser: FlaskClient) -> str:
    answer = browser.get("/arrivals", headers=PART)
    assert answer.status_code == 200
    return answer.text.strip()


def wait(app: Flask, user_id: int, content: str, **fields: Any) -> int:
    """Store a memory that waits for a decision, or with other `fields`; its id."""
    with app.app_context(), write_transaction():
        values = {"needs_review": True, **fields}
        return add_row(
            Memory(user_id=user_id, memory_type="fact", content=content, statement_hash=content, **values)
        ).memory_id


def dismiss(browser: FlaskClient, kind: str, newest: object) -> str:
    form = {"csrf_token": page_token(browser), "kind": kind, "newest": newest}
    answer = browser.post("/arrivals/dismiss", data=form, headers=PART)
    assert answer.status_code == 200, answer.text
    return answer.text.strip()


def test_it_is_empty_if_nothing_came_and_asked_for_by_the_start_page(anonymous, browser):
    assert row(browser) == ""
    assert 'hx-get="/arrivals"' in browser.get("/").text.split('class="starters"')[1], "it moves nothing when it comes"
    assert browser.get("/arrivals").status_code == 303, "it is no page"
    assert anonymous.get("/arrivals", headers=PART).status_code in (303, 401)


def test_a_schedules_reply_is_named_until_it_is_looked_at(app, client, run_jobs, browser):
    made = make(client, title="Weekly <review>")
    make_due(app, made["schedule_id"])
    assert claim(app) == 1
    run_jobs(failures=True)
    said = row(browser)
    assert "“Weekly &lt;review&gt;” has a new reply" in said
    with app.app_context():
        talk = db.session.query(Conversation).one().conversation_id
    assert f'href="/c/{talk}"' in said
    browser.post(f"/c/{talk}/seen", data={"csrf_token": page_token(browser)}, headers=PART)
    assert row(browser) == ""


def test_an_invitation_is_said_until_it_is_answered_or_dismissed(app, client, make_user, login):
    guest = api_client(app, make_user())
    spaces = [make_space(client, name, "project") for name in ("Boat <1>", "Garden")]
    invite(client, spaces[0], guest)
    browser = login(guest.person)
    assert "You are invited to “Boat &lt;1&gt;”" in row(browser) and f'href="/spaces/{spaces[0]}"' in row(browser)
    invite(client, spaces[1], guest)
    assert "You are invited to 2 spaces" in row(browser) and 'href="/spaces"' in row(browser)
    guest.post(f"/api/spaces/{spaces[1]}/members/accept")
    (newest,) = re.findall(r'name="newest" value="(\d+)"', row(browser))
    assert dismiss(browser, "invitation", newest) == "" == row(browser)


def test_somebody_who_was_removed_is_told_and_somebody_who_left_is_not(app, client, make_user, login):
    guest = api_client(app, make_user())
    spaces = [make_space(client, name, "project") for name in ("Boat <1>", "Garden", "Attic")]
    for space in spaces:
        join(client, space, guest)
    browser, member = login(guest.person), guest.person.user_id
    assert guest.delete(f"/api/spaces/{spaces[0]}/members/{member}").status_code < 300
    assert row(browser) == ""
    assert client.delete(f"/api/spaces/{spaces[1]}/members/{member}").status_code < 300
    assert "You no longer belong to “Garden”" in row(browser)
    assert client.delete(f"/api/spaces/{spaces[2]}").status_code < 300
    assert "You no longer belong to 2 spaces" in row(browser)
    join(client, spaces[1], guest)
    assert "You no longer belong to “Attic”" in row(browser)
    (newest,) = re.findall(r'name="newest" value="(\d+)"', row(browser))
    assert dismiss(browser, "removal", newest) == "" == row(browser)


def test_what_waits_is_dismissed_until_more_waits(app, user, login, browser):
    first = wait(app, user.user_id, "One")
    assert "1 memory is waiting for you" in row(browser) and f'value="{first}"' in row(browser)
    assert dismiss(browser, "review", first) == "" and row(browser) == ""
    wait(app, user.user_id, "Two")
    assert "2 memories are waiting for you" in row(browser)
    other = login(user)
    assert "2 memories" in row(other)
    assert dismiss(browser, "review", first + 1) == "" and row(other) == "", "dismissed on every device"
    assert dismiss(other, "review", first) == "" == row(browser), "an older page brings nothing back"


def test_what_others_share_in_ones_spaces(app, client, user, login, make_user, api, browser):
    other = make_user()
    space = api(other).post("/api/spaces", json={"kind": "legacy", "name": "Joe"}).json["space_id"]
    shared = {"needs_review": False, "space_id": space, "visibility": "shared"}
    wait(app, other.user_id, "Joe built boats", **shared)
    wait(app, other.user_id, "Private", **{**shared, "visibility": "private"})
    assert row(browser) == "", "a stranger"
    with app.app_context(), write_transaction():
        db.session.add(
            SpaceMember(space_id=space, user_id=user.user_id, email=user.email, role="member", status="active")
        )
    said = row(browser)
    assert "1 memory was shared with you" in said and f"/spaces/{space}" in said and "boats" not in said
    assert row(login(other)) == "", "not with whoever shared it"


def test_odd_forms_change_nothing(app, user, login, make_user, browser):
    number = wait(app, user.user_id, "One")
    for kind, newest in (("review", "x"), ("review", "-1"), ("other", number), ("", ""), ("review", "9" * 30)):
        assert "1 memory is waiting" in dismiss(browser, kind, newest), (kind, newest)
    stranger = login(make_user())
    assert dismiss(stranger, "review", number) == "" and "1 memory is waiting" in row(browser)
