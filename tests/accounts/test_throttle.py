"""Guessing passwords is bounded by address and by account, with Redis and without."""

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError

from tests.accounts.conftest import PASSWORD, Browser
from webapp.accounts import throttle
from webapp.accounts.models import User
from webapp.db.base import db
from webapp.errors import TooMany


def attempt(browser: Browser, email: str, password: str, address: str) -> object:
    """An attempt to sign in from an address."""
    return browser.caller.post(
        "/test-login",
        data={"email": email, "password": password},
        headers={**browser.csrf(), "Accept": "application/json"},
        environ_overrides={"REMOTE_ADDR": address},
    )


def test_one_address_has_its_share(people):
    browser = Browser(people.app.test_client())
    answers = [attempt(browser, f"user{number}@example.com", "wrong", "10.0.0.1") for number in range(19)]
    assert [answer.status_code for answer in answers] == [401] * 18 + [429]
    last = answers[-1]
    assert last.content_type == "application/problem+json"
    assert 0 < int(last.headers["Retry-After"]) <= 60
    assert last.get_json()["detail"].startswith("Too many attempts. Try again in ")
    assert attempt(browser, "ann@example.com", "wrong", "10.0.0.2").status_code == 401


def test_an_address_and_an_account_have_their_share_whatever_its_spelling(people):
    people.user("ann")
    browser = Browser(people.app.test_client())
    wide = "\uff41nn@example.com"  # one account with the others, as NFKC has it
    for email in [
        "ann@example.com",
        "ANN@example.com",
        " Ann@Example.com ",
        wide,
        wide.upper(),
        "ann@ex\u00adample.com",
    ]:
        assert attempt(browser, email, "wrong", "10.0.0.1").status_code == 401
    assert attempt(browser, "ann@example.com", PASSWORD, "10.0.0.1").status_code == 429
    assert attempt(browser, "eve@example.com", "wrong", "10.0.0.1").status_code == 401


def test_guessing_elsewhere_does_not_lock_the_owner_out(people):
    email = "=?x?q?=61?=@example.com"  # of before such addresses were refused
    db.session.get(User, people.user("ann")).email = email
    db.session.commit()
    browser = Browser(people.app.test_client())
    for number in range(30):
        attempt(browser, email, "wrong", f"10.0.0.{number // 6}")
    assert attempt(browser, email.upper(), PASSWORD, "10.0.1.1").status_code == 200


def test_a_code_is_guessed_at_from_no_number_of_addresses(probe_app):
    """Whoever has the password could guess six digits soon enough, with a network for every few of them."""
    for number in range(18):
        throttle.count_attempt("code", f"2001:db8:{number}::1", "7", everywhere=True)
    with pytest.raises(TooMany):
        throttle.count_attempt("code", "2001:db8:ffff::1", "7", everywhere=True)
    throttle.count_attempt("code", "2001:db8:ffff::1", "8", everywhere=True)


def test_a_network_of_ipv6_addresses_is_one(people):
    browser = Browser(people.app.test_client())
    for number in range(6):
        assert attempt(browser, "ann@example.com", "wrong", f"2001:db8:1:2::{number + 1}").status_code == 401
    assert attempt(browser, "ann@example.com", "wrong", "2001:db8:1:2:ffff::1").status_code == 429
    for other in ("2001:db8:1:3::1", *(f"::ffff:10.0.0.{number}" for number in range(8))):  # the last are IPv4 ones
        assert attempt(browser, "ann@example.com", "wrong", other).status_code == 401


def test_a_success_forgives_the_pair_but_not_the_address(people):
    people.user("ann")
    for _ in range(5):
        attempt(Browser(people.app.test_client()), "ann@example.com", "wrong", "10.0.1.1")
    assert attempt(Browser(people.app.test_client()), "ann@example.com", PASSWORD, "10.0.1.1").status_code == 200
    for number in range(12):
        name = ("ann", "bob")[number % 2]
        answer = attempt(Browser(people.app.test_client()), f"{name}@example.com", "wrong", "10.0.1.1")
        assert answer.status_code == 401, number
    assert attempt(Browser(people.app.test_client()), "eve@example.com", "wrong", "10.0.1.1").status_code == 429


def test_without_redis_each_process_counts_for_itself(probe_app, monkeypatch):
    def away(*_: object) -> bool:
        raise RedisConnectionError

    counter = probe_app.extensions["throttle"]
    monkeypatch.setattr(counter, "hit", away)
    monkeypatch.setattr(counter, "clear", away)
    for _ in range(6):
        throttle.count_attempt("log in", "10.9.9.9", "ann@example.com")
    with pytest.raises(TooMany):
        throttle.count_attempt("log in", "10.9.9.9", "ann@example.com")
    throttle.reset_attempts("log in", "10.9.9.9", "ann@example.com")
    throttle.count_attempt("log in", "10.9.9.9", "ann@example.com")


def test_it_can_be_switched_off(probe_app, monkeypatch):
    monkeypatch.setitem(probe_app.config, "RATELIMIT_ENABLED", False)
    for _ in range(50):
        throttle.count_attempt("log in", "10.9.9.7", "bob@example.com")
    throttle.reset_attempts("log in", "10.9.9.7", "bob@example.com")


def test_no_address_is_kept_in_redis(people):
    attempt(Browser(people.app.test_client()), "ann@example.com", "wrong", "10.0.0.1")
    keys = b" ".join(people.app.extensions["redis"].keys("*"))
    assert b"10.0.0.1" in keys and b"ann" not in keys


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(1, "a second"), (59, "59 seconds"), (89, "89 seconds"), (90, "2 minutes"), (121, "3 minutes")],
)
def test_waiting_in_words(seconds, words):
    assert TooMany.within(seconds).detail == f"Too many attempts. Try again in {words}."
