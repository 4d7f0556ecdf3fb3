"""Accounts as services see them."""

from collections.abc import Callable
from functools import partial

import pytest
from argon2 import PasswordHasher
from flask import Flask
from pydantic import ValidationError

from tests.accounts.conftest import PASSWORD
from tests.support.interleaving import at_once
from webapp.accounts import deletion, service, site, tokens
from webapp.accounts.emails import normalise_email
from webapp.accounts.models import User
from webapp.accounts.schemas import (
    AccountChanges,
    Credentials,
    NewToken,
    Registration,
    SettingsChanges,
    UserChanges,
    UserSettings,
)
from webapp.db.base import db, write_transaction
from webapp.errors import Conflict, Forbidden, Invalid, Unauthenticated


def registration(name: str) -> Registration:
    """Somebody's."""
    return Registration(email=f"{name}@example.com", password=PASSWORD, name=name.title())


def together(probe_app: Flask, *actions: Callable[[], object]) -> list[object]:
    """What actions gave or raised that ran side by side, each in a transaction of its own."""

    def run(action: Callable[[], object]) -> object:
        with probe_app.app_context():
            try:
                with write_transaction():
                    return action()
            except Exception as error:
                return error

    return at_once(*(partial(run, action) for action in actions))


@pytest.mark.parametrize("attempt", range(5))
def test_of_many_first_accounts_at_once_exactly_one_is_an_admin(probe_app, attempt):
    names = [f"user{number}" for number in range(4)]
    results = together(probe_app, *(lambda name=name: service.register(registration(name)).is_admin for name in names))
    assert sorted(results, key=str) == [False, False, False, True]
    assert db.session.query(User).filter(User.is_admin).count() == 1


def test_of_the_same_account_twice_at_once_one_is_made(probe_app):
    results = together(probe_app, *[lambda: service.register(registration("ann")).user_id] * 2)
    assert sum(isinstance(result, int) for result in results) == 1
    assert sum(isinstance(result, Invalid) for result in results) == 1


def test_a_failed_first_registration_leaves_the_next_to_be_first(probe_app):
    with pytest.raises(RuntimeError), write_transaction():
        assert service.register(registration("ann")).is_admin
        raise RuntimeError
    with write_transaction():
        assert service.register(registration("eve")).is_admin


def test_an_address_has_one_account(probe_app):
    with write_transaction():
        service.register(registration("ann"))
        with pytest.raises(Invalid) as caught:
            service.register(Registration(email="ANN@Example.com", password=PASSWORD))
        assert caught.value.errors == [{"loc": ["email"], "msg": "already has an account"}]
        service.register(registration("eve"))
    assert db.session.query(User).count() == 2


def test_registration_can_be_closed_and_opened(probe_app):
    with write_transaction():
        site.set_setting(site.REGISTRATION_OPEN, False)
        assert site.registration_is_open()  # else nobody could ever begin
        service.register(registration("ann"))
        assert not site.registration_is_open()
        with pytest.raises(Forbidden):
            service.register(registration("eve"))
        service.create_user(registration("bob"))
        site.set_setting(site.REGISTRATION_OPEN, True)
        service.register(registration("eve"))


def test_log_in(probe_app, people):
    ann = people.user("ann")
    with write_transaction():
        assert service.log_in(Credentials(email=" ANN@example.com", password=PASSWORD)).user_id == ann
    assert service.get_user(ann).last_seen_at is not None


@pytest.mark.parametrize(
    ("email", "password"),
    [
        ("ann@example.com", "wrong garden"),
        ("nobody@example.com", PASSWORD),
        ("no address", PASSWORD),
        ("", ""),
        ("ann@example.com", "x" * 5_000),
        ("stopped@example.com", PASSWORD),
    ],
)
def test_refused_log_ins_say_and_cost_the_same(people, email, password, monkeypatch):
    people.user("ann")
    with write_transaction():
        service.update_user(people.user("stopped"), UserChanges(is_active=False))
    compared = []
    monkeypatch.setattr(service, "verify_password", lambda given, kept: compared.append(kept))
    with pytest.raises(Unauthenticated, match="The e-mail address or the password is wrong."):
        service.log_in(Credentials(email=email, password=password))
    assert len(compared) == 1


@pytest.mark.usefixtures("real_hashes")
def test_a_weak_hash_is_renewed_at_log_in(people):
    ann = people.user("ann")
    weak = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(PASSWORD)
    with write_transaction():
        service.get_user(ann).password_hash = weak
    with write_transaction():
        service.log_in(Credentials(email="ann@example.com", password=PASSWORD))
    assert service.get_user(ann).password_hash != weak
    with write_transaction():
        service.log_in(Credentials(email="ann@example.com", password=PASSWORD))


def test_settings_change_one_by_one(people):
    ann = people.user("ann")
    with write_transaction():
        service.update_account(ann, AccountChanges(settings=SettingsChanges(theme="dark")))
        service.update_account(ann, AccountChanges(name="Ann B.", settings=SettingsChanges(timezone="Asia/Tokyo")))
        service.update_account(ann, AccountChanges(settings=SettingsChanges(memory_enabled=False)))
    db.session.expire_all()
    found = service.user_settings(ann)
    assert (found.theme, found.timezone, found.memory_enabled) == ("dark", "Asia/Tokyo", False)
    assert service.get_user(ann).name == "Ann B."


def test_there_is_always_an_admin(probe_app):
    with write_transaction():
        ann = service.register(registration("ann")).user_id
        eve = service.register(registration("eve")).user_id
        for action in (
            lambda: service.update_user(ann, UserChanges(is_admin=False)),
            lambda: service.update_user(ann, UserChanges(is_active=False)),
            lambda: service.delete_user(ann),
        ):
            with pytest.raises(Conflict):
                action()
        service.update_user(eve, UserChanges(is_admin=True))
        service.update_user(ann, UserChanges(is_admin=False))
        with pytest.raises(Conflict):
            service.delete_user(eve)


def test_two_admins_cannot_unmake_each_other_at_once(probe_app):
    with write_transaction():
        ann = service.register(registration("ann")).user_id
        eve = service.create_user(registration("eve"), is_admin=True).user_id
    results = together(
        probe_app, *(lambda who=who: service.update_user(who, UserChanges(is_admin=False)) for who in (ann, eve))
    )
    assert sum(isinstance(result, Conflict) for result in results) == 1
    db.session.rollback()
    assert db.session.query(User).filter(User.is_admin).count() == 1


def test_the_last_account_may_go_and_the_next_is_first_again(probe_app):
    with write_transaction():
        deletion.delete_account(service.register(registration("ann")).user_id, PASSWORD)
    with write_transaction():
        assert service.register(registration("eve")).is_admin


def test_tokens_are_kept_as_hashes_and_recognised(people):
    ann = people.user("ann")
    with write_transaction():
        token, secret = tokens.create_token(ann, NewToken(name="Laptop", expires_in_days=1))
    assert secret.startswith("cmpl_") and len(secret) == 48
    assert secret not in str(vars(token)) and secret.startswith(token.prefix)
    assert token.expires_at > token.created_at
    found = tokens.find_by_secret(secret)
    assert found is not None and found.user_id == ann
    assert tokens.find_by_secret(secret + "x") is None
    assert tokens.find_by_secret(secret[:-1]) is None
    assert tokens.find_by_secret(token.token_hash) is None


def test_tokens_are_bounded(people, monkeypatch):
    monkeypatch.setattr(tokens, "MAX_TOKENS", 2)
    ann = people.user("ann")
    with write_transaction():
        for _ in range(2):
            tokens.create_token(ann, NewToken(name="x"))
        with pytest.raises(Conflict):
            tokens.create_token(ann, NewToken(name="x"))


@pytest.mark.cases("text", "address")
def test_spelling(text, address):
    assert normalise_email(text) == address
    assert normalise_email(address) == address


@pytest.mark.parametrize(
    "text",
    [
        *("", "ann", "@", "ann@", "@example.com", "a b@example.com", "a@b@c.com", "ann@exa mple.com", "ann@-a.com"),
        *("ann@a..b", "ann@example.com.", "ann\n@example.com", "ann@[1.2.3.4]", "<ann@example.com>", "a" * 65 + "@b.c"),
        *("a@" + "b" * 64 + ".com", "a@" + ".".join(["b" * 60] * 5), "\ud800@example.com\x00", "ann@ex\ud800.com"),
        "=?x?q?=61nn?=@example.com",  # which would be sent to ann
    ],
)
def test_what_is_no_address(text):
    with pytest.raises(ValueError):
        normalise_email(text)


def test_settings_have_defaults():
    assert UserSettings.of(None) == UserSettings.of({}) == UserSettings()


def test_what_cannot_be_read_falls_back_alone():
    found = UserSettings.of({"theme": "neon", "timezone": "Europe/Lisbon", "from_the_future": 1})
    assert (found.theme, found.timezone) == ("system", "Europe/Lisbon")


@pytest.mark.parametrize("zone", ["Mars/Olympus", "", "../../etc/passwd", "/etc/localtime", "UTC\x00", "x" * 65])
def test_time_zones_are_real(zone):
    with pytest.raises(ValidationError):
        SettingsChanges(timezone=zone)


def test_a_registration_judges_the_password_with_the_address():
    with pytest.raises(ValidationError, match="e-mail address"):
        Registration(email="averylongname@example.com", password="averylongname")
    assert Registration(email=" Ann@Example.com", password="kettle orbit").email == "ann@example.com"
