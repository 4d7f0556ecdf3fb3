"""Passkeys: added, signed in with, renamed, removed; and refused where something does not fit."""

import html
import json
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import select, update
from werkzeug.test import TestResponse

from testkit.people import Person, csrf_token, post_form
from tests.accounts.authenticator import PRESENT, Authenticator
from tests.support.queries import execute, scalars
from webapp.accounts.models import Passkey, User, UserSession
from webapp.audit.models import AuditEvent
from webapp.db.base import now


def options_on(page: str) -> dict[str, Any]:
    found = re.search(r'data-passkey-add="([^"]+)"', page)
    assert found, "the page asks for no passkey"
    return dict(json.loads(html.unescape(found[1])))


def add(browser: FlaskClient, key: Authenticator, name: str = "Phone") -> TestResponse:
    page = browser.get("/settings/passkeys/new").text
    made = key.make(options_on(page))
    form = {"name": name, "credential": made, "csrf_token": csrf_token(page)}
    return browser.post("/settings/passkeys", data=form)


def login_options(browser: FlaskClient) -> dict[str, Any]:
    token = csrf_token(browser.get("/login").text)
    answer = browser.post("/login/passkey/options", headers={"X-CSRFToken": token})
    assert answer.status_code == 200, answer.text
    return dict(answer.get_json())


def sign_in(browser: FlaskClient, key: Authenticator, path: str = "/login/passkey") -> TestResponse:
    signed = key.sign(login_options(browser))
    return post_form(browser, path, "/login", credential=signed)


def is_in(browser: FlaskClient) -> bool:
    return browser.get("/settings").status_code == 200


@pytest.fixture
def key(user: Person, login: Callable[[Person], FlaskClient]) -> Authenticator:
    """A passkey of `user`."""
    made = Authenticator()
    done = add(login(user), made)
    assert done.status_code == 303, done.text
    return made


def test_it_signs_in_without_password_and_second_step(key, anonymous, app, user):
    done = sign_in(anonymous, key, "/login/passkey?next=/archive")
    assert (done.status_code, done.location) == (303, "/archive")
    assert is_in(anonymous)
    (passkey,) = scalars(app, select(Passkey))
    assert passkey.sign_count == 1 and passkey.last_used_at is not None and passkey.name == "Phone"
    events = scalars(app, select(AuditEvent.action).where(AuditEvent.user_id == user.user_id))
    assert "passkey_added" in events and events.count("signed_in") == 2


def test_what_is_asked_of_the_device(login, user, key):
    wanted = options_on(login(user).get("/settings/passkeys/new").text)
    assert wanted["rp"]["id"] == "localhost"
    assert wanted["authenticatorSelection"]["userVerification"] == "required"
    assert wanted["authenticatorSelection"]["residentKey"] == "required"
    assert len(wanted["excludeCredentials"]) == 1
    assert user.email.encode() not in key.handle


SPOILT: dict[str, dict[str, Any]] = {
    "another origin": {"origin": "https://evil.example"},
    "not verified": {"flags": PRESENT},
    "copied": {"counter": -1},
    "somebody else's handle": {"handle": b"99999"},
    "unknown": {"id": b"never seen" * 3},
    "another key": {"key": Authenticator().key},
}


@pytest.mark.parametrize("spoilt", SPOILT)
def test_what_does_not_fit_is_refused(key, anonymous, app, spoilt):
    execute(app, update(Passkey).values(sign_count=5))
    vars(key).update({"counter": 5, **SPOILT[spoilt]})
    refused = sign_in(anonymous, key)
    assert refused.status_code == 401 and "The passkey could not be used" in refused.text
    assert not is_in(anonymous)


def test_a_challenge_is_answered_once(key, anonymous, app):
    signed = key.sign(login_options(anonymous))
    cookie = anonymous.get_cookie("session")
    assert cookie is not None
    assert post_form(anonymous, "/login/passkey", "/login", credential=signed).status_code == 303
    thief = app.test_client()
    thief.set_cookie("session", cookie.value)  # who saw cookie and answer cannot use them again
    assert post_form(thief, "/login/passkey", "/login", credential=signed).status_code == 401


def test_nonsense_is_refused(key, anonymous):
    for sent in ("", "no json", "[]", "{}", '{"rawId": "!"}', "x" * 50_000, '{"rawId": 7}'):
        login_options(anonymous)
        answer = post_form(anonymous, "/login/passkey", "/login", credential=sent)
        assert (sent, answer.status_code) == (sent, 401)


def test_a_stopped_account_stays_out(key, anonymous, app, user):
    execute(app, update(User).where(User.user_id == user.user_id).values(is_active=False))
    assert sign_in(anonymous, key).status_code == 401


def test_it_is_renamed_and_removed(key, login, user, app):
    (passkey_id,) = scalars(app, select(Passkey.passkey_id))
    path, owner = f"/settings/passkeys/{passkey_id}", login(user)
    assert post_form(owner, f"{path}/rename", name="  Old \n phone ").status_code == 303
    assert 'value="Old phone"' in owner.get("/settings/passkeys").text
    assert post_form(owner, f"{path}/remove").status_code == 303
    assert "No passkeys yet" in owner.get("/settings/passkeys").text
    assert sign_in(app.test_client(), key).status_code == 401


def test_it_is_seen_renamed_and_removed_by_a_program_of_its_owner(key, login, client, user, app):
    shown = client.get("/api/account/passkeys").get_json()["passkeys"]
    assert [(one["name"], sorted(one)) for one in shown] == [
        ("Phone", ["created_at", "last_used_at", "name", "passkey_id"])
    ]
    path = f"/api/account/passkeys/{shown[0]['passkey_id']}"
    # A token that leaked must neither hide a passkey nor take one away.
    assert client.patch(path, json={"name": "Mine"}).status_code == 403
    assert client.delete(path).status_code == 403

    def send(browser: FlaskClient, method: str, **body: Any) -> int:
        headers = {"X-CSRFToken": csrf_token(browser.get("/settings").text), "Accept": "application/json"}
        return browser.open(path, method=method, headers=headers, **body).status_code

    owner = login(user)
    assert [send(owner, "PATCH", json={"name": name}) for name in (" Old phone ", "", "x" * 101)] == [200, 422, 422]
    assert client.get("/api/account/passkeys").get_json()["passkeys"][0]["name"] == "Old phone"
    execute(app, update(UserSession).values(proved_at=now() - timedelta(hours=1)))
    assert send(owner, "DELETE") == 403
    execute(app, update(UserSession).values(proved_at=now()))
    assert [send(owner, "DELETE"), send(owner, "DELETE")] == [204, 404]
    assert sign_in(app.test_client(), key).status_code == 401


def test_adding_and_removing_take_the_password_again(key, app, browser):
    execute(app, update(UserSession).values(proved_at=now() - timedelta(hours=1)))
    for answer in (browser.get("/settings/passkeys/new"), post_form(browser, "/settings/passkeys", "/settings")):
        assert answer.status_code == 303 and answer.location.startswith("/confirm")
    assert post_form(browser, "/settings/passkeys/1/remove", "/settings").location.startswith("/confirm")


def test_a_passkey_proves_again_who_one_is(key, app, browser):
    execute(app, update(UserSession).values(proved_at=now() - timedelta(hours=1)))
    asked_again = browser.get("/settings/passkeys/new").location
    assert "Use a passkey" in browser.get(asked_again).text
    token = csrf_token(browser.get(asked_again).text)
    options = browser.post("/login/passkey/options", headers={"X-CSRFToken": token}).get_json()
    path = "/login/passkey?next=/settings/passkeys/new"
    done = browser.post(path, data={"credential": key.sign(options), "csrf_token": token})
    assert (done.status_code, done.location) == (303, "/settings/passkeys/new")
    assert browser.get(done.location).status_code == 200


def test_a_passkey_of_another_site_or_twice_is_not_kept(key, app, browser):
    foreign = add(browser, Authenticator("https://evil.example"))
    assert foreign.status_code == 422 and "could not be added" in foreign.text
    assert add(browser, key).status_code == 422
    late = browser.get("/settings/passkeys/new").text
    made = Authenticator().make(options_on(late))
    app.extensions["redis"].flushdb()
    form = {"name": "x", "credential": made, "csrf_token": csrf_token(late)}
    refused = browser.post("/settings/passkeys", data=form)
    assert refused.status_code == 422 and "took too long" in refused.text
