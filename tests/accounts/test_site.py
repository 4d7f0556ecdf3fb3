"""The first account where other machines reach the site: only with the token that stands in the server's log."""

import logging
import re
import socket
from collections.abc import Iterator

import pytest
from flask import Flask
from flask.testing import FlaskClient

from testkit.people import post_form
from webapp.accounts.site import FirstAccount, first_account

FORM = {"name": "Ada", "email": "ada@example.org", "password": "a heron on the tide mill"}
FAR = {"REMOTE_ADDR": "203.0.113.7"}


@pytest.fixture
def first(app: Flask) -> Iterator[FirstAccount]:
    found = first_account.of(app)
    yield found
    found.is_open = False


@pytest.fixture
def open_first(first: FirstAccount) -> FirstAccount:
    with socket.create_server(("0.0.0.0", 0)) as listener:
        first.note_sockets([listener], tells=False)
    return first


@pytest.fixture
def far(anonymous: FlaskClient) -> FlaskClient:
    anonymous.environ_base.update(FAR)
    return anonymous


def test_on_loopback_nothing_is_asked(first, far):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        first.note_sockets([listener], tells=True)
    assert "setup_token" not in far.get("/register").text
    assert post_form(far, "/register", "/register", **FORM).status_code == 303


def test_from_the_machine_itself_nothing_is_asked(open_first, anonymous):
    assert "setup_token" not in anonymous.get("/register").text
    assert post_form(anonymous, "/register", "/register", **FORM).status_code == 303


def test_a_proxy_on_the_machine_does_not_open_it(open_first, anonymous):
    page = anonymous.get("/register", headers={"X-Forwarded-For": "203.0.113.7"})
    assert 'name="setup_token"' in page.text


@pytest.mark.parametrize("given", ["", "aaaa-aaaa-aaaa-aaaa-aaaa", "é" * 20])
def test_a_stranger_without_the_token_makes_no_account(open_first, far, app, given):
    assert 'name="setup_token"' in far.get("/register").text
    refused = post_form(far, "/register", "/register", **FORM, setup_token=given)
    assert refused.status_code == 422 and "This is not the set-up token" in refused.text
    assert far.get("/login").location == "/register"


def test_whoever_has_the_token_makes_the_first_account(open_first, far):
    typed = open_first.token.upper().replace("-", " ")
    assert post_form(far, "/register", "/register", **FORM, setup_token=typed).status_code == 303
    assert "Administration" in far.get("/").text


def test_later_accounts_need_none(open_first, far, make_user):
    make_user(is_admin=True)
    assert "setup_token" not in far.get("/register").text
    assert post_form(far, "/register", "/register", **FORM).status_code == 303


def test_the_token_is_said_once_where_it_is_needed(first, caplog, make_user, app):
    with caplog.at_level(logging.WARNING), socket.create_server(("0.0.0.0", 0)) as listener:
        first.note_sockets([listener], tells=False)
        assert first.token not in caplog.text
        first.note_sockets([listener], tells=True)
        assert caplog.text.count(first.token) == 1
        make_user()
        first.note_sockets([listener], tells=True)
        assert caplog.text.count(first.token) == 1
    assert app.test_cli_runner().invoke(args=["user", "setup-token"]).output.strip() == first.token


def test_the_token_can_be_typed_and_not_guessed(first):
    assert re.fullmatch(r"([a-z2-7]{4}-){4}[a-z2-7]{4}", first.token)
    assert first.is_right(first.token) and not first.is_right(first.token[:-1])


def test_a_socket_behind_a_proxy_counts_as_closed(first, tmp_path):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "web.sock"))
        first.note_sockets([listener], tells=True)
    assert not first.is_open
