"""The first account from elsewhere than this machine: only with the token that stands in the server's log."""

import logging
import re

import pytest

from testkit.people import post_form
from webapp.accounts.site import is_setup_token, log_setup_token, setup_token

FORM = {"name": "Ada", "email": "ada@example.org", "password": "a heron on the tide mill"}


@pytest.fixture
def token(app):
    with app.app_context():
        return setup_token()


@pytest.fixture
def far(anonymous):
    anonymous.environ_base["REMOTE_ADDR"] = "203.0.113.7"
    return anonymous


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8000", "[::1]:8000", "chat.localhost"])
def test_from_the_machine_itself_nothing_is_asked(anonymous, host):
    assert "setup_token" not in anonymous.get("/register", headers={"Host": host}).text
    assert post_form(anonymous, "/register", "/register", **FORM).status_code == 303
    assert {event["actor"]["kind"] for event in anonymous.get("/api/audit").get_json()["events"]} == {"you"}


@pytest.mark.parametrize("headers", [{"X-Forwarded-For": "203.0.113.7"}, {"X-Real-IP": "::2"}, {"Host": "example.org"}])
def test_neither_a_proxy_nor_another_sites_page_opens_it(anonymous, headers):
    """A proxy on the same machine let any stranger be the administrator; so did a name that leads to 127.0.0.1."""
    assert 'name="setup_token"' in anonymous.get("/register", headers=headers).text


@pytest.mark.parametrize("given", ["", "aaaa-aaaa-aaaa-aaaa-aaaa", "é" * 20])
def test_a_stranger_without_the_token_makes_no_account(far, given):
    assert 'name="setup_token"' in far.get("/register").text
    refused = post_form(far, "/register", "/register", **FORM, setup_token=given)
    assert refused.status_code == 422 and "This is not the set-up token" in refused.text
    assert far.get("/login").location == "/register"


def test_whoever_has_the_token_makes_the_first_account(app, token, far):
    with app.app_context():
        assert re.fullmatch(r"([a-z2-7]{4}-){4}[a-z2-7]{4}", token) and not is_setup_token(token[:-1])
    typed = token.upper().replace("-", " ")
    assert post_form(far, "/register", "/register", **FORM, setup_token=typed).status_code == 303
    assert "Administration" in far.get("/").text


def test_later_accounts_need_none(far, make_user):
    make_user(is_admin=True)
    assert "setup_token" not in far.get("/register").text
    assert post_form(far, "/register", "/register", **FORM).status_code == 303


def test_the_token_is_said_once_where_it_is_needed(token, far, caplog, app):
    log_setup_token.cache_clear()
    with caplog.at_level(logging.WARNING):
        far.get("/login")
        assert token not in caplog.text
        far.get("/register")
        far.get("/register")
    assert caplog.text.count(token) == 1
    assert app.test_cli_runner().invoke(args=["user", "setup-token"]).output.strip() == token
