"""The second step of signing in: time-based one-time passwords (RFC 6238), and codes for when the phone is lost."""

import hmac
import time

import pyotp
from sqlalchemy import select

from webapp.accounts import signals
from webapp.accounts.models import SecondFactor, User
from webapp.accounts.passwords import random_code
from webapp.db.base import db, delete_row, now
from webapp.db.encryption import digest_of
from webapp.errors import Conflict, Invalid

ISSUER = "Commonplace"
RECOVERY_CODES = 10
DRIFT_STEPS = 1
"""How many steps of 30 seconds a phone's clock may be off, either way."""


def is_on(user_id: int) -> bool:
    """Return whether this user needs more than the password."""
    confirmed = select(SecondFactor.user_id).where(
        SecondFactor.user_id == user_id, SecondFactor.confirmed_at.is_not(None)
    )
    return db.session.scalar(confirmed) is not None


def count_unused_codes(user_id: int) -> int:
    """Return how many recovery codes can still be used."""
    row = db.session.get(SecondFactor, user_id)
    return len(row.recovery_hashes) if row is not None and row.confirmed_at is not None else 0


def begin(user_id: int) -> None:
    """Make a new secret for an authenticator; it counts once `confirm` has accepted a code from it. Raises Conflict."""
    row = _lock_row(user_id)
    if row is not None and row.confirmed_at is not None:
        raise Conflict("Two-step sign-in is already on.")
    if row is None:
        row = SecondFactor(user_id=user_id, secret="", recovery_hashes=[])
        db.session.add(row)
    row.secret, row.last_step = pyotp.random_base32(), 0
    db.session.flush()


def pending_secret(user_id: int) -> str | None:
    """Return the secret that waits for its first code."""
    row = db.session.get(SecondFactor, user_id)
    return row.secret if row is not None and row.confirmed_at is None else None


def address(user: User, secret: str) -> str:
    """Return the otpauth address that an authenticator reads from a QR code."""
    return pyotp.TOTP(secret).provisioning_uri(name=user.email, issuer_name=ISSUER)


def confirm(user_id: int, code: str) -> list[str]:
    """Turn on the second step by a new secret's first code; returns recovery codes, once. Raises Invalid, Conflict."""
    row = _lock_row(user_id)
    if row is None or row.confirmed_at is not None:
        raise Conflict("There is nothing to confirm.")
    if not _is_current(row, code):
        raise Invalid.field("code", "is not the current code. Check that your phone’s clock is right")
    codes = [random_code(4, 4) for _ in range(RECOVERY_CODES)]
    row.recovery_hashes, row.confirmed_at = [_digest(code) for code in codes], now()
    db.session.flush()
    signals.note(user_id, "two_factor_on")
    return codes


def check(user_id: int, code: str) -> bool:
    """Return whether this is the current code or an unused recovery code; either works once. The caller commits."""
    row = _lock_row(user_id)
    if row is None or row.confirmed_at is None:
        return False
    if _is_current(row, code):
        return True
    digest = _digest(code)
    match = next((code_hash for code_hash in row.recovery_hashes if hmac.compare_digest(code_hash, digest)), None)
    if match is None:
        return False
    row.recovery_hashes = [code_hash for code_hash in row.recovery_hashes if code_hash != match]
    db.session.flush()
    signals.note(user_id, "recovery_code_used", f"{len(row.recovery_hashes)} left")
    return True


def disable(user_id: int) -> None:
    """Turn off the second step."""
    row = _lock_row(user_id)
    if row is None:
        return
    was_on = row.confirmed_at is not None
    delete_row(row)
    if was_on:
        signals.note(user_id, "two_factor_off")


def _lock_row(user_id: int) -> SecondFactor | None:
    return db.session.get(SecondFactor, user_id, with_for_update=True, populate_existing=True)


def _is_current(row: SecondFactor, code: str) -> bool:
    """Return whether the code fits a current step that no code was used for yet; notes the step."""
    digits = code.replace(" ", "")
    if not digits.isascii() or not digits.isdecimal():
        return False
    totp = pyotp.TOTP(row.secret)
    step = int(time.time()) // totp.interval
    for candidate in range(step - DRIFT_STEPS, step + DRIFT_STEPS + 1):
        if candidate > row.last_step and hmac.compare_digest(totp.generate_otp(candidate), digits):
            row.last_step = candidate
            db.session.flush()
            return True
    return False


def _digest(code: str) -> str:
    # About 79 random bits: a fast hash will do.
    return digest_of("".join(ch for ch in code.lower() if ch.isalnum()))
