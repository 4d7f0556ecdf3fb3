"""Accounts in the whole application: every view has a rule, and the pages keep to it."""

from collections.abc import Callable

from flask import Flask
from flask.testing import FlaskClient

from testkit.people import Person, csrf_token
from webapp.accounts.access import access_of


def test_no_rule_below_the_internal_paths_admits_ordinary_users(app: Flask) -> None:
    rules = [rule for rule in app.url_map.iter_rules() if rule.rule.startswith("/api/internal")]
    assert {access_of(app, rule.endpoint) for rule in rules} == {"service"}


def test_anonymous_pages_lead_to_the_login_page_and_back(app: Flask, anonymous: FlaskClient, user: Person) -> None:
    sent = anonymous.get("/settings")
    assert sent.status_code == 303 and sent.location == "/login?next=%2Fsettings"
    form = {"email": user.email, "password": user.password, "csrf_token": csrf_token(anonymous.get(sent.location).text)}
    back = anonymous.post(sent.location, data=form)
    assert (back.status_code, back.location) == (303, "/settings")
    assert anonymous.get("/settings").status_code == 200


def test_a_forged_next_leads_home(anonymous: FlaskClient, user: Person) -> None:
    page = anonymous.get("/login?next=//evil.example")
    form = {"email": user.email, "password": user.password, "csrf_token": csrf_token(page.text)}
    assert anonymous.post("/login?next=//evil.example", data=form).location == "/"


def test_signing_in_without_the_csrf_token_is_refused(anonymous: FlaskClient, user: Person) -> None:
    answer = anonymous.post("/login", data={"email": user.email, "password": user.password})
    assert answer.status_code == 403 and "out of date" in answer.text


def test_signing_out_ends_the_session(login: Callable[[Person], FlaskClient], user: Person) -> None:
    browser = login(user)
    token = csrf_token(browser.get("/settings").text)
    assert browser.post("/logout", data={"csrf_token": token}).status_code == 303
    assert browser.get("/settings").status_code == 303


def test_the_jobs_dashboard_is_for_admins_and_for_requests_of_this_site(
    login: Callable[[Person], FlaskClient], make_user: Callable[..., Person], user: Person
) -> None:
    assert login(user).get("/admin/rq/").status_code == 403
    admin = login(make_user(is_admin=True))
    assert admin.get("/admin/rq/").status_code == 200
    path = "/admin/rq/queues/turn/failed/requeue"
    assert admin.post(path, headers={"Origin": "http://localhost"}).status_code == 403
    token = csrf_token(admin.get("/admin").text)
    assert admin.post(path, headers={"X-CSRFToken": token}).status_code == 303
