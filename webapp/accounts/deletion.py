"""Deleting an account: closed at once, and deleted after a waiting time in which its owner can change their mind."""

import secrets
from datetime import datetime, timedelta
from typing import Any

from blinker import Signal
from sqlalchemy import Select, delete, select

from webapp.accounts import service, signals
from webapp.accounts.models import AccountDeletion
from webapp.background.queues import enqueue_after_commit
from webapp.db.base import add_row, db, now, rows_changed
from webapp.db.encryption import digest_of
from webapp.errors import Conflict, require
from webapp.extensions import app_settings

SMALL_ACCOUNT = 1_000
"""An account with at most this many messages, memories and the like is deleted within the request."""
REPORT_RETENTION = timedelta(days=90)

count_account_data = Signal()
"""`user_id=`: receivers return how much data the user has, as far as they count it."""


def close(user_id: int, password: str) -> str:
    """Close an account until it is deleted; return the secret of its report. Raises Invalid, Conflict (last admin)."""
    service.prove_password(user_id, password)
    service.require_other_admin(user_id)
    days = app_settings().account_grace_days
    user = service.get_user(user_id)
    user.is_active = False
    user.auth_version += 1
    signals.account_closed.send(None, user_id=user_id)
    secret = _add(user_id, now() + timedelta(days=days))
    signals.note(user_id, "deletion_asked", f"in {days} day{'' if days == 1 else 's'}" if days else "")
    return secret


def cancel(user_id: int) -> None:
    """Restore the account as it was; sessions from before stay ended. Raises Conflict once deleting has begun."""
    if not rows_changed(delete(AccountDeletion).where(AccountDeletion.user_id == user_id, *service.IS_REVERSIBLE)):
        raise Conflict("This account is already being deleted.")
    user = service.get_user(user_id)
    user.is_active = True
    user.auth_version += 1
    signals.note(user_id, "deletion_withdrawn")
    db.session.flush()


def delete_account(user_id: int, password: str) -> None:
    """Delete the account and everything in it, for good. Raises Invalid, and Conflict for the last admin."""
    service.prove_password(user_id, password)
    delete_now(user_id)


def delete_now(user_id: int) -> None:
    """Delete an account at once: here or, if it is large, by a job. Raises Conflict for the last admin, NotFound."""
    if sum(count for _, count in count_account_data.send(None, user_id=user_id)) <= SMALL_ACCOUNT:
        service.delete_user(user_id)
        db.session.execute(delete(AccountDeletion).where(AccountDeletion.user_id == user_id))
        return
    service.require_other_admin(user_id)
    user = service.get_user(user_id)
    user.is_active, user.auth_version = False, user.auth_version + 1
    user.email, user.name, user.password_hash = f"deleted-{user_id}@deleted.invalid", "", "!"
    db.session.execute(delete(AccountDeletion).where(AccountDeletion.user_id == user_id))
    signals.account_closed.send(None, user_id=user_id)
    _add(user_id, now())
    begin_due(user_id)


def pending_deletion(user_id: int) -> AccountDeletion | None:
    return db.session.scalar(_select_pending(user_id))


def begin_due(user_id: int) -> bool:
    """Begin to delete an account that is due, so that it cannot be restored; return whether to go ahead."""
    row = db.session.scalar(_select_pending(user_id).with_for_update())
    if row is None or row.due_at > now():
        return False
    if row.begun_at is None:
        row.begun_at, row.report = now(), signals.end_account(user_id)
    return True


def finish(user_id: int, report: dict[str, Any]) -> None:
    """Mark the deletion as done and complete its report, which names no one."""
    row = db.session.scalar(_select_pending(user_id))
    if row is not None:
        row.done_at, row.report = now(), {**(row.report or {}), **report}


def find_by_secret(secret: str) -> AccountDeletion:
    """Return the outcome of a deletion, for the person who asked for it. Raises NotFound."""
    row = db.session.scalar(select(AccountDeletion).where(AccountDeletion.secret_hash == digest_of(secret)))
    return require(row, "There is no such report, or it has expired.")


def due_deletions() -> list[int]:
    """Return the ids of accounts that are due for deletion, the longest due first."""
    due = select(AccountDeletion.user_id).where(AccountDeletion.done_at.is_(None), AccountDeletion.due_at <= now())
    return list(db.session.scalars(due.order_by(AccountDeletion.due_at)))


def purge(moment: datetime) -> int:
    """Delete expired reports; returns how many."""
    return rows_changed(delete(AccountDeletion).where(AccountDeletion.done_at < moment - REPORT_RETENTION))


def _add(user_id: int, due_at: datetime) -> str:
    secret = secrets.token_urlsafe(24)
    add_row(AccountDeletion(user_id=user_id, secret_hash=digest_of(secret), due_at=due_at))
    if due_at <= now():
        enqueue_after_commit("delete_account", user_id=user_id)
    return secret


def _select_pending(user_id: int) -> Select[AccountDeletion]:
    return select(AccountDeletion).where(AccountDeletion.user_id == user_id, AccountDeletion.done_at.is_(None))
