"""Sessions are kept on the server: a cookie that was copied is worth nothing once its session has ended."""

import re
from datetime import timedelta

from sqlalchemy import func, select, update

from testkit.people import PASSWORD, csrf_token, post_form
from tests.support.queries import execute, scalar
from webapp.accounts.agents import describe_agent
from webapp.accounts.models import UserSession
from webapp.db.base import db, now, write_transaction

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


def copy_browser(app, browser):
    """Another browser with a copy of this one's cookie."""
    thief = app.test_client()
    thief.set_cookie("session", browser.get_cookie("session").value)
    return thief


def unsafe(browser):
    """The header that unsafe requests of a session need."""
    return {"X-CSRFToken": csrf_token(browser.get("/settings").text)}


def test_signing_out_ends_the_session_on_the_server_and_leaves_other_browsers_alone(app, login, user):
    browser, there = login(user), login(user)
    thief = copy_browser(app, browser)
    assert thief.get("/api/account").status_code == 200
    for scheme in ("http", "https"):
        execute(app, update(UserSession).values(last_seen_at=now() - timedelta(minutes=6)))
        cookie = copy_browser(app, browser).get("/settings", base_url=f"{scheme}://localhost").headers["Set-Cookie"]
        assert "; HttpOnly; Path=/; SameSite=Lax" in cookie.replace(" Secure;", "") and (" Secure;" in cookie) is (
            scheme == "https"
        )
    assert post_form(browser, "/logout", "/settings").location == "/login"
    assert browser.get("/").location == "/login"
    assert thief.get("/api/account").status_code == 401
    assert thief.get("/settings").status_code == 303
    assert there.get("/api/account").status_code == 200


def test_sessions_are_listed_and_ended_one_by_one(app, login, user, make_user):
    here = login(user)
    there = login(user)
    stranger = login(make_user())
    listed = here.get("/api/sessions").json
    assert listed["next_cursor"] is None
    assert [row["current"] for row in listed["sessions"]] == [False, True]
    assert {"session_id", "user_agent", "address", "created_at", "last_seen_at"} <= set(listed["sessions"][0])
    other = listed["sessions"][0]["session_id"]
    assert stranger.delete(f"/api/sessions/{other}", headers=unsafe(stranger)).status_code == 404
    assert there.get("/api/account").status_code == 200
    assert here.delete(f"/api/sessions/{other}", headers=unsafe(here)).status_code == 204
    assert there.get("/api/account").status_code == 401
    assert here.delete(f"/api/sessions/{other}", headers=unsafe(here)).status_code == 404
    assert [row["current"] for row in here.get("/api/sessions").json["sessions"]] == [True]


def test_sessions_come_in_pages(login, user):
    browsers = [login(user) for _ in range(3)]
    first = browsers[0].get("/api/sessions?limit=2").json
    rest = browsers[0].get(f"/api/sessions?limit=2&cursor={first['next_cursor']}").json
    ids = [row["session_id"] for row in first["sessions"] + rest["sessions"]]
    assert len(ids) == 3 and ids == sorted(ids, reverse=True) and rest["next_cursor"] is None
    assert browsers[0].get("/api/sessions?cursor=x").status_code == 422


def test_a_session_has_an_absolute_limit(app, browser):
    with app.app_context(), write_transaction():
        (row,) = db.session.scalars(select(UserSession))
        assert timedelta(days=89) < row.expires_at - now() <= timedelta(days=90)
        db.session.execute(update(UserSession).values(expires_at=now() - timedelta(seconds=1)))
    assert browser.get("/api/account").status_code == 401


def test_a_password_change_ends_other_sessions_and_if_asked_other_access(app, login, client, user, anonymous):
    here, there = login(user), login(user)

    def change(now_is, wanted, **more):
        return post_form(here, "/settings/password", current_password=now_is, new_password=wanted, **more)

    wrong, weak = change("no", "another tide mill"), change(PASSWORD, "12345678")
    assert wrong.status_code == 422 and "This is not your current password." in wrong.text
    assert weak.status_code == 422 and "too common" in weak.text
    assert change(PASSWORD, "nine grey stones at low water").status_code == 303
    assert here.get("/settings").status_code == here.get("/api/account").status_code == 200
    assert (there.get("/settings").status_code, there.get("/api/account").status_code) == (303, 401)
    assert client.get("/api/account").status_code == 200
    assert scalar(app, select(func.count()).select_from(UserSession)) == 1
    here.token = csrf_token(here.get("/settings").text)
    calendar = "/schedules/" + client.get("/api/schedules/feed").json["url"].rpartition("/")[2]
    page = here.get("/settings/security").text
    assert "API tokens: " in page and "Calendar link: " in page and " checked" not in page.partition("two-step")[0]
    change("nine grey stones at low water", "ten grey stones at low water", ended=["tokens", "calendar"])
    assert anonymous.get(calendar).status_code == 404
    assert client.get("/api/account").status_code == 401


def test_everywhere_else_can_be_signed_out_at_once(login, user):
    here, there, elsewhere = login(user), login(user), login(user)
    assert not re.search(r", last seen \d{4}", here.get("/settings/sessions").text), "a time is said in words"
    assert post_form(here, "/settings/sessions/end-others", "/settings").status_code == 303
    assert here.get("/api/account").status_code == 200
    assert [browser.get("/api/account").status_code for browser in (there, elsewhere)] == [401, 401]


def test_use_is_noted_now_and_then_and_costs_one_statement(app, browser):
    execute(app, update(UserSession).values(last_seen_at=now() - timedelta(minutes=6)))
    answers = [browser.get("/api/account") for _ in range(2)]
    assert ["Set-Cookie" in answer.headers for answer in answers] == [True, False]
    assert scalar(app, select(UserSession.last_seen_at)) > now() - timedelta(minutes=1)


def test_browsers_in_words():
    assert describe_agent(FIREFOX) == "Firefox on Linux"
    assert describe_agent("Mozilla/5.0 (Windows NT 10.0) Chrome/140 Safari/537 Edg/140.0") == "Edge on Windows"
    assert describe_agent("Mozilla/5.0 (iPhone; like Mac OS X) Version/20 Safari/1") == "Safari on iPhone"
    assert describe_agent("backup/1.0 (x)") == "backup"
    assert describe_agent("") == describe_agent(" / ") == "Unknown browser"
    assert describe_agent("/1.0") == "1.0"
