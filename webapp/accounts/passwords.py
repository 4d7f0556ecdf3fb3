"""Passwords: which are good enough (NIST SP 800-63B: long and not common), and how they are stored (Argon2id)."""

import os
import secrets
import threading
import unicodedata
from functools import lru_cache
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

MIN_PASSWORD = 8
MAX_PASSWORD = 1_000

# 19 MiB and two passes (OWASP): a crowd signing in at once must not exhaust the memory of a small machine.
HASHER = PasswordHasher(time_cost=2, memory_cost=19_456, parallelism=1)
_SLOTS = threading.BoundedSemaphore(max(2, os.cpu_count() or 2))
_CLEAR = "abcdefghjkmnpqrstuvwxyz23456789"
_RUNS = ("abcdefghijklmnopqrstuvwxyz", "0123456789", "qwertyuiop", "asdfghjkl", "zxcvbnm", "qwertzuiop", "azertyuiop")


def password_problem(password: str, email: str = "") -> str | None:
    """Return what is wrong with a new password, as the rest of a sentence about it; None if nothing is."""
    lowercase = _canonical(password).casefold()
    if len(lowercase) < MIN_PASSWORD:
        return f"must have at least {MIN_PASSWORD} characters; a few words in a row are easy to keep in mind"
    if len(password) > MAX_PASSWORD:
        return f"must have at most {MAX_PASSWORD} characters"
    if lowercase in _common() or _is_run(lowercase):
        return "is too common; choose another one"
    local, _, domain = email.casefold().partition("@")
    if email and lowercase in {email.casefold(), local, domain, local + domain}:
        return "must not be the e-mail address or a part of it"
    return None


def random_code(groups: int, length: int) -> str:
    """Return letters and digits that are not taken for each other, about 5 bits each: `k7mzp-h4q9t-…`."""
    return "-".join("".join(secrets.choice(_CLEAR) for _ in range(length)) for _ in range(groups))


def hash_password(password: str) -> str:
    """Return the Argon2id hash to keep."""
    with _SLOTS:
        return HASHER.hash(_canonical(password))


def verify_password(password: str, password_hash: str | None) -> bool:
    """Return whether the password matches the stored hash; takes as long when there is no hash at all."""
    if len(password) > MAX_PASSWORD:
        return False
    with _SLOTS:
        try:
            HASHER.verify(password_hash or _decoy_hash(), _canonical(password))
        except (VerificationError, InvalidHashError):
            return False
    return password_hash is not None


def is_outdated(password_hash: str) -> bool:
    """Return whether the hash was made with weaker parameters than today's."""
    return HASHER.check_needs_rehash(password_hash)


def _canonical(password: str) -> str:
    """Return a password in the same bytes whatever keyboard it is typed on; half a surrogate pair stays as it is."""
    return unicodedata.normalize("NFKC", password).encode("utf-8", "backslashreplace").decode("utf-8")


@lru_cache(maxsize=1)
def _decoy_hash() -> str:
    return HASHER.hash(os.urandom(16).hex())


@lru_cache(maxsize=1)
def _common() -> frozenset[str]:
    """Our own list, and those of the 30,000 most frequent leaked passwords that are long enough to be chosen."""
    words = Path(__file__).with_name("common_passwords.txt").read_text(encoding="utf-8").split()
    return frozenset(words) | _leaked_passwords()


def _leaked_passwords() -> set[str]:
    """Return the list that zxcvbn carries, without loading zxcvbn: its dictionaries would stay in memory."""
    package = find_spec("zxcvbn")
    (folder,) = (package.submodule_search_locations or []) if package else []
    spec = spec_from_file_location("frequency_lists", Path(folder) / "frequency_lists.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return {word for word in module.FREQUENCY_LISTS["passwords"] if len(word) >= MIN_PASSWORD}


def _is_run(password: str) -> bool:
    """Return whether a password is one or two characters over and over, or a walk along the alphabet or the keys."""
    if len(set(password)) <= 2:
        return True
    rows = [row * 4 for row in _RUNS]
    return any(password in row or password[::-1] in row for row in rows)
