"""Which passwords are good enough, and how they are kept."""

import pytest
from argon2 import PasswordHasher

from webapp.accounts import passwords
from webapp.accounts.passwords import hash_password, is_outdated, password_problem, verify_password

pytestmark = pytest.mark.usefixtures("real_hashes")


@pytest.mark.parametrize("password", ["kettle orbit", "8 letters", "ünïcödé🎉x", "correct horse", "x" * 500 + "abc"])
def test_good_enough(password):
    assert password_problem(password, "ann@example.com") is None


@pytest.mark.parametrize(
    ("password", "word"),
    [
        ("short", "at least 8"),
        ("", "at least 8"),
        ("x1" * 600, "at most"),
        ("password", "too common"),
        ("PassWord123", "too common"),
        ("12345678", "too common"),
        ("87654321", "too common"),
        ("cdefghijk", "too common"),
        ("qwertyuiop", "too common"),
        ("aaaaaaaaaaaa", "too common"),
        ("abababababab", "too common"),
        ("ann-with-a-long-name", "e-mail"),
        ("Ann-With-A-Long-Name@example.com", "e-mail"),
        ("example.com", "e-mail"),
    ],
)
def test_not_good_enough(password, word):
    found = password_problem(password, "ann-with-a-long-name@example.com")
    assert found is not None and word in found


def test_kept_hash():
    kept = hash_password("kettle orbit é")
    assert kept.startswith("$argon2id$") and "kettle" not in kept
    assert kept != hash_password("kettle orbit é")
    assert verify_password("kettle orbit é", kept)
    assert verify_password("kettle orbit e\u0301", kept)
    assert not verify_password("kettle orbit", kept)
    assert not verify_password("", kept)
    assert not is_outdated(kept)


def test_no_hash_is_still_compared(monkeypatch):
    compared = []
    verify = PasswordHasher.verify

    def count_call(self: PasswordHasher, kept: str, password: str) -> bool:
        compared.append(kept)
        return bool(verify(self, kept, password))

    monkeypatch.setattr(PasswordHasher, "verify", count_call)
    assert not verify_password("kettle orbit", None)
    assert len(compared) == 1 and compared[0].startswith("$argon2id$v=19$m=19456,t=2,p=1$")


def test_broken_and_weak_hashes():
    assert not verify_password("kettle orbit", "plain text")
    weak = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash("kettle orbit")
    assert is_outdated(weak)
    assert verify_password("kettle orbit", weak)


def test_half_a_surrogate_pair_is_a_password_too():
    assert verify_password("kettle \ud83d orbit", hash_password("kettle \ud83d orbit"))


@pytest.mark.parametrize("password", ["alice123", "hunter12", "Qwerty123", "trustno1"])
def test_what_leaked_often_cannot_be_chosen(password):
    assert password_problem(password) == "is too common; choose another one"


def test_the_list_of_leaked_ones_is_there():
    """That its package is not loaded is in tests/test_architecture.py."""
    assert 10_000 < len(passwords._leaked_passwords()) < 30_000
