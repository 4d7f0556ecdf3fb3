"""The `user` and `token` commands."""

import contextvars

import pytest
from click.testing import Result
from flask import Flask

from tests.accounts.conftest import PASSWORD
from webapp.accounts import service, tokens
from webapp.accounts.models import User
from webapp.accounts.schemas import Credentials
from webapp.db.base import db
from webapp.errors import Unauthenticated


class Shell:
    """Runs commands as a process of their own would."""

    def __init__(self, probe_app: Flask) -> None:
        self.app = probe_app

    def __call__(self, *words: str, input: str | None = None) -> Result:
        result = contextvars.Context().run(self.app.test_cli_runner().invoke, args=words, input=input)
        db.session.rollback()
        return result


@pytest.fixture
def flask(probe_app: Flask) -> Shell:
    """The command line, with one admin."""
    shell = Shell(probe_app)
    assert shell("user", "create", "--email", "Root@example.com", "--password", PASSWORD).exit_code == 0
    return shell


def test_user_create(flask):
    assert service.find_user("root@example.com").is_admin
    result = flask("user", "create", "--email", "ann@example.com", "--password", PASSWORD, "--name", "Ann")
    assert result.exit_code == 0 and "ann@example.com" in result.stdout
    ann = service.find_user("ann@example.com")
    assert (ann.is_admin, ann.name) == (False, "Ann")
    flask("user", "create", "--email", "eve@example.com", "--password", PASSWORD, "--admin")
    assert service.find_user("eve@example.com").is_admin


def test_user_create_asks_for_the_password(flask):
    result = flask("user", "create", "--email", "ann@example.com", input=f"{PASSWORD}\n{PASSWORD}\n")
    assert result.exit_code == 0 and PASSWORD not in result.stdout
    assert service.log_in(Credentials(email="ann@example.com", password=PASSWORD))


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["user", "create", "--email", "root@example.com", "--password", PASSWORD], "email already has an account"),
        (["user", "create", "--email", "nonsense", "--password", PASSWORD], "must look like name@example.org"),
        (["user", "create", "--email", "a@b.c", "--password", "password"], "too common"),
        (["user", "set-admin", "--email", "nobody@b.c"], "no account with the address nobody@b.c"),
        (["user", "set-admin", "--email", "root@example.com", "--off"], None),
        (["user", "reset-password", "--email", "root@example.com", "--password", "short"], "at least 8"),
        (["token", "create", "--email", "nobody@b.c"], "no account"),
        (["token", "create", "--email", "root@example.com", "--name", " "], "name"),
        (["token", "revoke", "--email", "root@example.com", "77"], "no such token"),
    ],
)
def test_what_cannot_be_done_is_said(flask, words, sentence):
    result = flask(*words)
    if sentence is None:  # the only account of all may do as it likes
        assert result.exit_code == 0
        return
    assert result.exit_code == 1
    assert sentence in result.stderr
    assert "Traceback" not in result.output and result.stdout == ""


def test_token_create_prints_the_token_and_nothing_else(flask):
    result = flask("token", "create", "--email", "root@example.com")
    assert result.stdout.startswith("cmpl_") and result.stdout.count("\n") == 1
    found = tokens.find_by_secret(result.stdout.strip())
    assert found is not None and not found.is_service
    result = flask("token", "create", "--email", "ROOT@example.com", "--service")
    found = tokens.find_by_secret(result.stdout.strip())
    assert result.stdout.startswith("cmps_") and found is not None and found.is_service


def test_a_token_may_be_for_less_than_everything(flask):
    create = ("token", "create", "--email", "root@example.com")
    found = tokens.find_by_secret(flask(*create, "--scope", "read", "--scope", "memory").stdout.strip())
    assert found is not None and found.scopes == ["read", "memory"]
    for option, value in (("--scope", "everything"), ("--days", "0"), ("--days", "4000")):
        done = flask(*create, option, value)
        assert done.exit_code == 2 and f"Invalid value for '{option}'" in done.output


def test_tokens_are_listed_and_revoked(flask):
    secret = flask("token", "create", "--email", "root@example.com", "--name", "nightly", "--days", "3").stdout.strip()
    listed = flask("token", "list", "--email", "root@example.com").stdout
    assert "nightly" in listed and "never used" in listed and secret not in listed
    token_id = listed.split("\t")[0]
    assert flask("token", "revoke", "--email", "root@example.com", token_id).exit_code == 0
    assert tokens.find_by_secret(secret) is None
    assert flask("token", "list", "--email", "root@example.com").stdout == ""


def test_admins_are_made_and_unmade(flask):
    flask("user", "create", "--email", "ann@example.com", "--password", PASSWORD)
    assert flask("user", "set-admin", "--email", "root@example.com", "--off").exit_code == 1
    assert flask("user", "set-admin", "--email", "ann@example.com").exit_code == 0
    assert flask("user", "set-admin", "--email", "root@example.com", "--off").exit_code == 0
    assert flask("user", "list").stdout.splitlines()[1].endswith("ann@example.com\tadmin")
    assert flask("user", "set-active", "--email", "root@example.com", "--off").exit_code == 0
    assert flask("user", "list").stdout.splitlines()[0].endswith("root@example.com\tstopped")
    assert flask("user", "set-active", "--email", "root@example.com").exit_code == 0


def test_reset_password(flask):
    before = service.find_user("root@example.com").auth_version
    assert flask("user", "reset-password", "--email", "root@example.com", "--password", "kettle orbit").exit_code == 0
    with pytest.raises(Unauthenticated):
        service.log_in(Credentials(email="root@example.com", password=PASSWORD))
    assert service.log_in(Credentials(email="root@example.com", password="kettle orbit")).auth_version == before + 1


def test_delete(flask):
    assert flask("user", "delete", "--email", "root@example.com", input="n\n").exit_code == 1
    assert db.session.query(User).count() == 1
    assert flask("user", "delete", "--email", "root@example.com", "--yes").exit_code == 0
    assert db.session.query(User).count() == 0
