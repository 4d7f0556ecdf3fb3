"""Sessions are kept on the server: a cookie that was copied is worth nothing once its session has ended."""

from datetime import timedelta

from sqlalchemy import func, select, update

from testkit.people import PASSWORD, csrf_token, post_form
from webapp.accounts.agents import describe_agent
from webapp.accounts.models import UserSession
from webapp.db.base import db, now, write_transaction

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


def copied(app, browser):
    """Another browser with a copy of this one's cookie."""
    thief = app.test_client()
    thief.set_cookie("session", browser.get_cookie("session").value)
    return thief


def unsafe(browser):
    """The header that unsafe requests of a session need."""
    return {"X-CSRFToken": csrf_token(browser.get("/settings").text)}


def test_signing_out_ends_the_session_on_the_server(app, login, user):
    browser = login(user)
    thief = copied(app, browser)
    assert thief.get("/api/account").status_code == 200
    post_form(browser, "/logout", "/settings")
    assert thief.get("/api/account").status_code == 401
    assert thief.get("/settings").status_code == 303


def test_signing_out_leaves_other_browsers_alone(login, user):
    here, there = login(user), login(user)
    post_form(here, "/logout", "/settings")
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


def test_a_session_has_an_absolute_limit(app, login, user):
    browser = login(user)
    with app.app_context(), write_transaction():
        (row,) = db.session.scalars(select(UserSession))
        assert timedelta(days=89) < row.expires_at - now() <= timedelta(days=90)
        db.session.execute(update(UserSession).values(expires_at=now() - timedelta(seconds=1)))
    assert browser.get("/api/account").status_code == 401


def test_a_password_change_ends_other_sessions_and_if_asked_the_tokens(app, login, client, user):
    here, there = login(user), login(user)
    form = {"current_password": PASSWORD, "new_password": "nine grey stones at low water"}
    post_form(here, "/settings/password", "/settings", **form)
    assert here.get("/api/account").status_code == 200
    assert there.get("/api/account").status_code == 401
    assert client.get("/api/account").status_code == 200
    with app.app_context():
        assert db.session.scalar(select(func.count()).select_from(UserSession)) == 1
    form = {"current_password": form["new_password"], "new_password": "ten grey stones at low water"}
    post_form(here, "/settings/password", "/settings", **form, revoke_tokens="true")
    assert client.get("/api/account").status_code == 401


def test_everywhere_else_can_be_signed_out_at_once(login, user):
    here, there, elsewhere = login(user), login(user), login(user)
    assert post_form(here, "/settings/sessions/end-others", "/settings").status_code == 303
    assert here.get("/api/account").status_code == 200
    assert [browser.get("/api/account").status_code for browser in (there, elsewhere)] == [401, 401]


def test_use_is_noted_now_and_then_and_costs_one_statement(app, login, user):
    browser = login(user)
    with app.app_context(), write_transaction():
        db.session.execute(update(UserSession).values(last_seen_at=now() - timedelta(minutes=6)))
    browser.get("/api/account")
    with app.app_context():
        assert db.session.scalar(select(UserSession.last_seen_at)) > now() - timedelta(minutes=1)


def test_browsers_in_words():
    assert describe_agent(FIREFOX) == "Firefox on Linux"
    assert describe_agent("Mozilla/5.0 (Windows NT 10.0) Chrome/140 Safari/537 Edg/140.0") == "Edge on Windows"
    assert describe_agent("Mozilla/5.0 (iPhone; like Mac OS X) Version/20 Safari/1") == "Safari on iPhone"
    assert describe_agent("backup/1.0 (x)") == "backup"
    assert describe_agent("") == describe_agent(" / ") == "Unknown browser"
    assert describe_agent("/1.0") == "1.0"
