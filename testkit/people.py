"""Users for tests, created quickly, and clients that act for them."""

import re
from dataclasses import dataclass
from functools import cache
from itertools import count

from flask import Flask, session
from flask.testing import FlaskClient
from flask_wtf.csrf import generate_csrf
from werkzeug.test import TestResponse

from webapp.accounts import auth, deletion, service
from webapp.accounts.models import User
from webapp.accounts.passwords import hash_password
from webapp.accounts.schemas import Credentials, NewToken, UserChanges
from webapp.accounts.tokens import new_token
from webapp.db.base import db, write_transaction

PASSWORD = "a heron on the tide mill"
_numbers = count(1)


@dataclass(frozen=True)
class Person:
    """A user as a test needs them; a plain copy, bound to no session."""

    user_id: int
    email: str
    name: str
    password: str
    token: str


def make_person(
    app: Flask, *, email: str = "", name: str = "", is_admin: bool = False, is_service: bool = False
) -> Person:
    """Create an account with an API token; `is_service` makes it a service token."""
    number = next(_numbers)
    email, name = email or f"person{number}@example.org", name or f"Person {number}"
    with app.app_context(), write_transaction():
        user = User(email=email, name=name, password_hash=_hash(), is_admin=is_admin)
        db.session.add(user)
        db.session.flush()
        token, secret = new_token(user.user_id, NewToken(name="test"), is_service=is_service)
        db.session.add(token)
        return Person(user.user_id, email, name, PASSWORD, secret)


class ApiClient(FlaskClient):
    """A client of the JSON API that carries somebody's token."""

    person: Person


def api_client(app: Flask, person: Person) -> ApiClient:
    """Return a client whose every request is this person's."""
    client = ApiClient(app, app.response_class, use_cookies=False)
    client.environ_base = {"REMOTE_ADDR": "127.0.0.1", "HTTP_AUTHORIZATION": f"Bearer {person.token}"}
    client.person = person
    return client


DEACTIVATIONS = ["stopped", "closed"]
"""How an account goes out of use: an admin stops it, or its owner closes it and can still keep it."""


def deactivate(app: Flask, person: Person, way: str) -> None:
    """Stop or close somebody's account."""
    with app.app_context(), write_transaction():
        if way == "stopped":
            service.update_user(person.user_id, UserChanges(is_active=False))
        else:
            deletion.close(person.user_id, person.password)


def reactivate(app: Flask, person: Person, way: str) -> None:
    """Start it again, or keep it."""
    with app.app_context(), write_transaction():
        if way == "stopped":
            service.update_user(person.user_id, UserChanges(is_active=True))
        else:
            deletion.cancel(person.user_id)


def csrf_token(html: str) -> str:
    """Return the CSRF token of a page. Raises AssertionError if it has none."""
    found = re.search(r"csrf[-_]token[\"'][^>]*?(?:value|content)=[\"']([^\"']+)", html)
    assert found, "the page has no CSRF token"
    return found[1]


class Browser(FlaskClient):
    """A client with cookies; `token` is the CSRF token of its pages, as long as it stays signed in as it was."""

    token = ""


def post_form(
    browser: FlaskClient, path: str, page: str = "", *, headers: dict[str, str] | None = None, **form: object
) -> TestResponse:
    """Post a form with its CSRF token, as a page would: with a page's own if one is named or the token is unknown."""
    token = csrf_token(browser.get(page).text) if page else page_token(browser)
    return browser.post(path, data={**form, "csrf_token": token}, headers=headers)


def follow(browser: FlaskClient, answer: TestResponse) -> TestResponse:
    """Return the page to which a form led."""
    assert answer.status_code == 303, answer.text
    return browser.get(answer.location)


def page_token(browser: FlaskClient) -> str:
    """Return the CSRF token that a page would bring to a browser."""
    return getattr(browser, "token", "") or csrf_token(browser.get("/").text)


def browser_client(app: Flask, person: Person | None = None) -> Browser:
    """Return a client with cookies; that of a person is signed in, without the two pages that this takes."""
    client = Browser(app, app.response_class)
    if person is not None:
        with app.test_request_context("/login", environ_base=client.environ_base), write_transaction():
            auth.start_session(service.log_in(Credentials(email=person.email, password=person.password)))
            client.token = generate_csrf()
            held = dict(session)
        with client.session_transaction() as cookie:
            cookie.update(held)
            cookie.permanent = True
    return client


def session_client(app: Flask, person: Person) -> Browser:
    """Return a signed-in browser whose scripts send the CSRF token: for endpoints that take no token."""
    browser = browser_client(app, person)
    browser.environ_base = {**browser.environ_base, "HTTP_X_CSRFTOKEN": browser.token}
    return browser


@cache
def _hash() -> str:
    return hash_password(PASSWORD)
