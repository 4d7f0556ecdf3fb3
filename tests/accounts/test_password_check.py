"""Proving oneself once more: the second step, the password before what is sensitive, a password of one's own."""

import html
import re
import time
from datetime import timedelta

import pyotp
import pytest
from redis.exceptions import RedisError
from sqlalchemy import select, update
from werkzeug.datastructures import MultiDict

from testkit.people import PASSWORD, csrf_token, follow, post_form
from tests.memories.keeping.test_no_trace import in_redis
from tests.support.queries import execute
from webapp.accounts import password_check, second_factor
from webapp.accounts.models import SecondFactor, User, UserSession
from webapp.db.base import db, now
from webapp.errors import TooMany


def set_up(browser, *others):
    """Turn two-step sign-in on, which ends the sessions of the others; the secret and the recovery codes."""
    assert post_form(browser, "/settings/two-step/start", "/settings").status_code == 303
    secret = re.search(r"<code>([A-Z2-7]{32})</code>", browser.get("/settings/two-step").text)[1]
    done = post_form(browser, "/settings/two-step/confirm", "/settings/two-step", code=pyotp.TOTP(secret).now())
    shown = follow(browser, done).text
    assert ("You have been signed out everywhere else." in shown) is bool(others)
    assert [other.get("/api/account").status_code for other in [browser, *others]] == [200, *[401] * len(others)]
    return secret, re.findall(r"[a-z2-9]{4}(?:-[a-z2-9]{4}){3}", shown)


def first_step(app, user):
    """A browser in which the password was right."""
    browser = app.test_client()
    answer = post_form(browser, "/login?next=/memory", "/login", email=user.email, password=user.password)
    assert (answer.status_code, answer.location) == (303, "/login/code?next=/memory")
    return browser


def next_code(secret):
    """A code that was not used yet: that of the step to come, which a phone that is ahead shows."""
    return pyotp.TOTP(secret).at(int(time.time()) + 30)


def give(browser, code):
    """The second step."""
    return post_form(browser, "/login/code?next=/memory", "/login/code?next=/memory", code=code)


def test_signing_in_takes_both_steps(app, login, user):
    secret, codes = set_up(login(user), login(user))
    assert len(set(codes)) == 10
    browser = first_step(app, user)
    assert browser.get("/api/account").status_code == 401
    assert browser.get("/memory").status_code == 303
    assert give(browser, "000000").status_code == 401
    assert browser.get("/api/account").status_code == 401
    answer = give(browser, next_code(secret))
    assert (answer.status_code, answer.location) == (303, "/memory")
    assert browser.get("/api/account").status_code == 200


def test_a_code_works_once(app, login, user):
    secret, _ = set_up(login(user))
    code = next_code(secret)
    assert give(first_step(app, user), code).status_code == 303
    assert give(first_step(app, user), code).status_code == 401


def test_a_recovery_code_works_once_and_however_it_is_typed(app, login, user):
    _, codes = set_up(login(user))
    assert give(first_step(app, user), codes[3].upper().replace("-", " ")).status_code == 303
    again = first_step(app, user)
    assert give(again, codes[3]).status_code == 401
    assert give(again, codes[4]).status_code == 303
    assert "8 recovery codes" in again.get("/settings/two-step").text
    assert "recovery_code_used" in [event["action"] for event in again.get("/api/audit").json["events"]]


def test_the_second_step_lapses_and_cannot_be_begun_without_the_first(app, login, user, anonymous, monkeypatch):
    secret, _ = set_up(login(user))
    assert anonymous.get("/login/code").location == "/login"
    assert post_form(anonymous, "/login/code", "/login", code=next_code(secret)).location == "/login"
    browser = first_step(app, user)
    real = time.time
    monkeypatch.setattr("webapp.accounts.password_check_pages.time.time", lambda: real() + 301)
    assert browser.get("/login/code").location == "/login"


def test_a_password_changed_between_the_steps_ends_the_sign_in(app, login, user):
    secret, _ = set_up(login(user))
    browser = first_step(app, user)
    execute(app, update(User).where(User.user_id == user.user_id).values(auth_version=User.auth_version + 1))
    assert browser.get("/login/code").location == "/login"


def test_it_counts_only_once_a_code_was_seen(app, user, browser):
    post_form(browser, "/settings/two-step/start", "/settings")
    wrong = post_form(browser, "/settings/two-step/confirm", "/settings/two-step", code="123")
    assert wrong.status_code == 422 and "not the current code" in wrong.text
    assert post_form(app.test_client(), "/login", "/login", email=user.email, password=PASSWORD).location == "/"
    with app.app_context():
        row = db.session.scalars(select(SecondFactor)).one()
        assert row.confirmed_at is None and row.recovery_hashes == []
        assert not second_factor.check(user.user_id, pyotp.TOTP(row.secret).now())


def test_turning_it_off(app, user, browser):
    set_up(browser)
    assert post_form(browser, "/settings/two-step/start", "/settings").status_code == 409
    assert post_form(browser, "/settings/two-step/off", "/settings").status_code == 303
    assert post_form(app.test_client(), "/login", "/login", email=user.email, password=PASSWORD).location == "/"
    actions = [event["action"] for event in browser.get("/api/audit").json["events"]]
    assert "two_factor_on" in actions and "two_factor_off" in actions


def test_an_admin_helps_on_the_command_line(app, login, user):
    set_up(login(user))
    done = app.test_cli_runner().invoke(args=["user", "reset-two-step", "--email", user.email])
    assert done.exit_code == 0, done.output
    with app.app_context():
        assert not second_factor.is_on(user.user_id)


def grow_old(app):
    """Every session's password was given an hour ago."""
    execute(app, update(UserSession).values(proved_at=now() - timedelta(hours=1)))


def test_what_is_sensitive_asks_for_the_password_again(app, browser):
    grow_old(app)
    headers = {"Referer": "http://localhost/settings"}
    asked = post_form(browser, "/settings/tokens", "/settings", headers=headers, access="full", token_name="Notes")
    assert asked.status_code == 303 and asked.location.startswith("/confirm?next=%2Fconfirm%2Fcontinue")
    token = {"X-CSRFToken": csrf_token(browser.get("/settings").text)}
    refused = browser.post("/api/account/tokens", json={"name": "Notes"}, headers=token)
    assert refused.status_code == 403 and "password" in refused.json["detail"]
    partly = post_form(browser, "/settings/tokens", "/settings", headers={"HX-Request": "true"}, token_name="Notes")
    assert partly.headers["HX-Redirect"].startswith("/confirm")
    assert "Back to your conversations" in browser.get("/confirm?next=/settings").text, "nobody is caught here"
    wrong = post_form(browser, "/confirm?next=/settings", "/confirm", password="not it")
    assert wrong.status_code == 422 and "Use a passkey" not in wrong.text  # there is none
    right = post_form(browser, "/confirm?next=/settings", "/confirm", password=PASSWORD)
    assert (right.status_code, right.location) == (303, "/settings")
    assert post_form(browser, "/settings/tokens", "/settings", access="full", token_name="Notes").status_code == 303


def test_an_export_asks_for_the_password_again(app, client, browser):
    grow_old(app)
    asked = post_form(
        browser, "/exports", "/settings", headers={"Referer": "http://localhost/transfer"}, what="account"
    )
    assert asked.status_code == 303 and asked.location.endswith("page%3D%252Ftransfer")
    assert client.post("/api/exports", json={"what": "memories"}).status_code != 403


def interrupt(app, browser, path, page, **form):
    """Send a form too late, give the password, and return the address where it goes on."""
    grow_old(app)
    asked = post_form(browser, path, page, headers={"Referer": f"http://localhost{page}"}, **form)
    assert asked.status_code == 303 and asked.location.startswith("/confirm?next=")
    return post_form(browser, asked.location, asked.location, password=PASSWORD).location


def resume(browser, address):
    """Send the form on the page where it goes on, as its button does."""
    page = browser.get(address).text
    action = html.unescape(re.search(r'<form [^>]*action="([^"]+)" data-continue', page)[1])
    fields = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', page)
    return browser.post(action, data=MultiDict([(name, html.unescape(value)) for name, value in fields]))


def test_a_form_that_was_interrupted_keeps_its_values_and_goes_on(app, admin_browser):
    """Adding a user ended on the empty form again, once the password was confirmed."""
    back = interrupt(app, admin_browser, "/admin/users", "/admin/users", email="new@example.org", name='Zoë "Z" <z>')
    made = follow(admin_browser, resume(admin_browser, back))
    assert "new@example.org" in made.text and "Zoë &#34;Z&#34; &lt;z&gt;" in made.text
    again = admin_browser.get(back)
    assert (again.status_code, again.location) == (303, "/admin/users"), "it is sent once"


def test_an_interrupted_form_keeps_what_is_there_several_times_and_its_address(app, browser):
    form = {"token_name": "Notes", "access": "chosen", "scopes": ["read", "memory"], "expires_in_days": ""}
    back = interrupt(app, browser, "/settings/tokens", "/settings/tokens", **form)
    assert resume(browser, back).location == "/settings/tokens"
    (token, _) = browser.get("/api/account/tokens").json["tokens"]
    assert (token["name"], token["scopes"], token["expires_at"]) == ("Notes", ["read", "memory"], None)


def test_an_interrupted_form_is_its_persons_alone(app, login, user, make_user, anonymous):
    browser, other = login(user), login(make_user())
    back = interrupt(app, browser, "/settings/tokens", "/settings/tokens", token_name="Private", access="full")
    assert in_redis(app.extensions["redis"], "Private") == set(), "Redis is no place for what a form says"
    assert "Private" not in anonymous.get(back).text and "Private" not in other.get(back).text
    assert anonymous.get("/confirm/continue").status_code == 303
    for address in ("/confirm/continue", "/confirm/continue?form=x&page=//evil.example"):
        assert browser.get(address).location == "/settings"


def test_without_redis_an_interrupted_form_is_filled_in_again(app, monkeypatch, browser):
    def away():
        raise RedisError("gone")

    monkeypatch.setattr(password_check, "redis", away)
    back = interrupt(app, browser, "/settings/tokens", "/settings/tokens", token_name="Notes", access="full")
    assert back == "/settings/tokens"
    assert browser.get("/confirm/continue?form=x&page=/settings/tokens").location == "/settings/tokens"


def test_the_api_proves_too(app, browser):
    grow_old(app)
    token = {"X-CSRFToken": csrf_token(browser.get("/settings").text)}
    assert browser.post("/api/account/proof", json={"password": "not it"}, headers=token).status_code == 422
    assert browser.post("/api/account/proof", json={"password": PASSWORD}, headers=token).status_code == 204
    assert browser.post("/api/account/tokens", json={"name": "Notes"}, headers=token).status_code == 201


@pytest.mark.parametrize("path", ["/admin/users/{0}/admin", "/admin/users/{0}/password", "/admin/users/{0}/delete"])
def test_roles_and_passwords_of_others_ask_for_it(app, user, path, admin_browser):
    grow_old(app)
    asked = post_form(admin_browser, path.format(user.user_id), "/admin", admin="1", email=user.email)
    assert asked.status_code == 303 and asked.location.startswith("/confirm")


def test_a_password_from_an_admin_is_good_for_choosing_another(app, admin_browser):
    made = post_form(admin_browser, "/admin/users", "/admin/users", email="new@example.org", name="New")
    issued = re.search(r"[a-z2-9]{5}(?:-[a-z2-9]{5}){3}", follow(admin_browser, made).text)[0]
    browser = app.test_client()
    post_form(browser, "/login", "/login", email="new@example.org", password=issued)
    for path in ("/", "/settings", "/memory"):
        assert browser.get(path).location == "/new-password"
    assert browser.get("/api/account").status_code == 403
    chosen = "nine grey stones at low water"
    form = {"current_password": issued, "new_password": chosen}
    short = post_form(browser, "/new-password", "/new-password", current_password=issued, new_password="x")
    assert short.status_code == 422 and re.findall(r'id="(\w+)"[^>]* autofocus', short.text) == ["new_password"]
    assert post_form(browser, "/new-password", "/new-password", **form).location == "/"
    assert browser.get("/settings").status_code == 200
    assert browser.get("/api/account").status_code == 200


def test_guesses_at_a_password_count_together_wherever_they_are_made(app, monkeypatch, browser):
    monkeypatch.setitem(app.config, "RATELIMIT_ENABLED", True)
    guess = {"current_password": "a wrong guess", "new_password": "nine grey stones at low water"}
    answers = [post_form(browser, "/settings/password", "/settings", **guess).status_code for _ in range(10)]
    assert answers == [422] * 10
    assert post_form(browser, "/confirm", "/confirm", password=PASSWORD).status_code == 429
    assert post_form(browser, "/settings/password", "/settings", **guess).status_code == 429


def test_who_is_refused_keeps_the_form(anonymous, login, user, monkeypatch):
    def refuse(*_attempt, **_options):
        raise TooMany.within(40)

    monkeypatch.setattr("webapp.accounts.auth.throttle.count_attempt", refuse)
    browser = login(user)
    forms = {"/settings/password": "/settings/security", "/settings/two-step/confirm": "/settings/two-step"}
    signed_in = ["/confirm", "/new-password", "/settings/delete", *forms]
    post_form(browser, "/settings/two-step/start", "/settings")
    for path in ["/login", "/register", *signed_in]:
        page = forms.get(path, path)
        refused = post_form(browser if path in signed_in else anonymous, path, page, email=user.email, password="wrong")
        assert (refused.status_code, refused.headers["Retry-After"]) == (429, "40"), path
        assert "Try again in 40 seconds." in refused.text and f'action="{path}"' in refused.text, path
