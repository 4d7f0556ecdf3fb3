"""Accounts: registering, signing in, changing, deleting, and what admins do with them."""

from collections.abc import Iterable
from datetime import date, datetime, tzinfo
from typing import Any

from sqlalchemy import delete, or_, select, update
from sqlalchemy.exc import IntegrityError

from webapp.accounts import sessions, signals, tokens
from webapp.accounts.emails import spelling
from webapp.accounts.models import AccountDeletion, SiteSetting, User
from webapp.accounts.passwords import hash_password, is_outdated, password_problem, verify_password
from webapp.accounts.schemas import (
    AccountChanges,
    Credentials,
    EmailChange,
    PasswordChange,
    Registration,
    SettingsChanges,
    UserChanges,
    UserQuery,
    UserSettings,
)
from webapp.accounts.site import has_users, registration_is_open
from webapp.db.base import db, now
from webapp.db.conflicts import insert_unless_taken
from webapp.db.text_search import contains_words
from webapp.errors import Conflict, Forbidden, Invalid, Unauthenticated, require
from webapp.http.paging import read_rows
from webapp.http.validation import Page
from webapp.i18n import dates

FIRST_ACCOUNT = "first_account"  # a row of site_settings: the account that inserts it is the first, and an admin
IS_REVERSIBLE = AccountDeletion.begun_at.is_(None), AccountDeletion.done_at.is_(None)
"""The deletions that their owners can still take back."""
_CAN_SIGN_IN = or_(
    User.is_active,
    select(AccountDeletion.deletion_id).where(AccountDeletion.user_id == User.user_id, *IS_REVERSIBLE).exists(),
)


def register(data: Registration) -> User:
    """Register an account as its owner; the very first is an admin. Raises Forbidden when registration is closed."""
    # Hashed before the first query, so that no transaction is open meanwhile.
    password_hash = hash_password(data.password)
    if not registration_is_open():
        raise Forbidden("New accounts cannot be created here at the moment. Ask an admin for one.")
    return _add(data, password_hash)


def create_user(data: Registration, *, is_admin: bool = False, is_verified: bool = True) -> User:
    """Create an account, whether or not registration is open; `is_verified`: the creator vouches for the address."""
    user = _add(data, hash_password(data.password), is_admin=is_admin)
    user.email_verified_at = now() if is_verified else None
    return user


def log_in(data: Credentials) -> User:
    """Return the user with these credentials. Raises Unauthenticated, alike in words and time whatever was wrong."""
    statement = select(User.user_id, User.password_hash).where(User.email == spelling(data.email), _CAN_SIGN_IN)
    row = db.session.execute(statement).one_or_none()
    # Proving a password takes a while: no transaction stays open for it.
    db.session.rollback()
    if not verify_password(data.password, row.password_hash if row else None):
        raise Unauthenticated("The e-mail address or the password is wrong.")
    assert row is not None
    user = get_user(row.user_id)
    if not may_sign_in(user) or user.password_hash != row.password_hash:
        raise Unauthenticated("The account has just been changed. Sign in again.")
    if is_outdated(user.password_hash):
        user.password_hash = hash_password(data.password)
    user.last_seen_at = now()
    db.session.flush()
    return user


def may_sign_in(user: User) -> bool:
    """Return whether the account is in use, or its owner closed it and may still take that back, and nothing else."""
    return db.session.scalar(select(User.user_id).where(User.user_id == user.user_id, _CAN_SIGN_IN)) is not None


def get_user(user_id: int) -> User:
    """Return the user. Raises NotFound."""
    return require(db.session.get(User, user_id), "There is no such account.")


def time_zone_of(user_id: int) -> tzinfo:
    """Return the time zone of a user, in which models are told their days. Raises NotFound."""
    return dates.zone(UserSettings.of(get_user(user_id).settings).timezone)


def today_of(user_id: int) -> date:
    """Return the day that it is for a user. Raises NotFound."""
    return now().astimezone(time_zone_of(user_id)).date()


def find_user(email: str) -> User:
    """Return the user with this address. Raises NotFound."""
    row = db.session.scalar(select(User).where(User.email == spelling(email)))
    return require(row, "There is no account with the address %(email)s.", email=email)


def names_of(user_ids: Iterable[int | None]) -> dict[int, str]:
    """Return the names of some users for admins: the address of those who have none."""
    ids = {user_id for user_id in user_ids if user_id is not None}
    rows = db.session.execute(select(User.user_id, User.name, User.email).where(User.user_id.in_(ids)))
    return {user_id: name or email for user_id, name, email in rows}


def update_account(user_id: int, changes: AccountChanges) -> User:
    """Change the name and the given settings."""
    user = get_user(user_id)
    if changes.name is not None:
        user.name = changes.name
    if changes.settings is not None:
        merged = UserSettings.of(user.settings).model_dump() | changes.settings.model_dump(exclude_none=True)
        user.settings = UserSettings(**merged).model_dump(mode="json")
    db.session.flush()
    return user


def change_settings(user_id: int, **changes: Any) -> User:
    """Change settings of a user, by the names of `SettingsChanges`."""
    return update_account(user_id, AccountChanges(settings=SettingsChanges(**changes)))


def user_settings(user_id: int) -> UserSettings:
    """Return a user's settings, with defaults for those never set."""
    return UserSettings.of(get_user(user_id).settings)


def prove_password(user_id: int, password: str, field: str = "password") -> User:
    """Return the user, whose password this is. Raises Invalid, about a field, for any other."""
    user = get_user(user_id)
    if not verify_password(password, user.password_hash):
        raise Invalid.field(field, "is not your current password")
    return user


def change_password(user_id: int, data: PasswordChange) -> User:
    """Set a new password; every session ends, so the caller starts a new one for the user."""
    user = prove_password(user_id, data.current_password, "current_password")
    _set_password(user, data.new_password, "new_password")
    signals.note(user_id, "password_changed")
    if data.revoke_tokens:
        tokens.revoke_all(user_id)
    return user


def reset_password(user_id: int, password: str) -> User:
    """Set a password on somebody's behalf; their sessions end."""
    user = get_user(user_id)
    _set_password(user, password, "password")
    signals.note(user_id, "password_reset")
    return user


def change_email(user_id: int, data: EmailChange) -> User:
    """Sign in with another address from now on; every session ends."""
    user = prove_password(user_id, data.password)
    try:
        with db.session.begin_nested():
            user.email, user.email_verified_at = data.email, None
            user.auth_version += 1
            db.session.flush()
    except IntegrityError:
        raise _email_conflict() from None
    signals.note(user_id, "email_changed")
    return user


def end_sessions(user_id: int, but: int | None = None) -> int:
    """End every session of the user, or every other one; returns how many."""
    ended = sessions.end_others(user_id, but)
    if ended:
        signals.note(user_id, "session_ended", f"{ended} session{'' if ended == 1 else 's'}")
    return ended


def end_session(user_id: int, session_id: int) -> None:
    """End one of the user's sessions. Raises NotFound."""
    sessions.end(user_id, session_id)
    signals.note(user_id, "session_ended")


def delete_user(user_id: int) -> None:
    """Delete an account and everything in it, in one transaction. Raises Conflict as `require_other_admin` does."""
    require_other_admin(user_id)
    signals.end_account(user_id)
    signals.account_deleted.send(None, user_id=user_id)
    db.session.execute(delete(User).where(User.user_id == user_id))
    db.session.expire_all()
    if not has_users():
        db.session.execute(delete(SiteSetting).where(SiteSetting.key == FIRST_ACCOUNT))


def list_users(query: UserQuery) -> Page[User]:
    """Return a page of all accounts, or of those with some letters in address or name; oldest first. Raises Invalid."""
    statement = select(User)
    if query.q:
        in_email = User.email.contains(query.q.lower(), autoescape=True)
        statement = statement.where(or_(in_email, contains_words(User.name, query.q)))
    return read_rows("users", query, statement, User.user_id, newest_first=False)


def update_user(user_id: int, changes: UserChanges) -> User:
    """Give or remove admin rights, or (de)activate an account. Raises Conflict if no admin would be left."""
    user = get_user(user_id)
    if changes.is_admin is False or changes.is_active is False:
        require_other_admin(user_id)
    if changes.is_admin is not None:
        if changes.is_admin != user.is_admin:
            signals.note(user_id, "role_changed", "admin" if changes.is_admin else "no admin any more")
        user.is_admin = changes.is_admin
    if changes.is_active is not None and changes.is_active != user.is_active:
        user.is_active = changes.is_active
        if not changes.is_active:
            signals.account_closed.send(None, user_id=user_id)
        else:  # an admin restores it on its owner's behalf
            db.session.execute(delete(AccountDeletion).where(AccountDeletion.user_id == user_id))
        # A reactivated account must not get back its sessions from before.
        user.auth_version += 1
        signals.note(user_id, "account_restored" if changes.is_active else "account_stopped")
    db.session.flush()
    return user


def update_last_seen(user_id: int, before: datetime) -> None:
    """Record that the user was here now, unless that was recorded after `before`."""
    db.session.execute(
        update(User)
        .where(User.user_id == user_id, or_(User.last_seen_at.is_(None), User.last_seen_at < before))
        .values(last_seen_at=now())
    )


def _add(data: Registration, password_hash: str, *, is_admin: bool = False) -> User:
    user = User(email=data.email, name=data.name, password_hash=password_hash, settings={})
    user.is_admin = is_admin or _claim_first()
    if not insert_unless_taken(user):
        raise _email_conflict()
    signals.note(user.user_id, "account_created")
    return user


def _claim_first() -> bool:
    """Return whether this account is the first. Of two at once, the second waits here until the first is committed."""
    if db.session.get(SiteSetting, FIRST_ACCOUNT) is not None or has_users():
        return False
    return insert_unless_taken(SiteSetting(key=FIRST_ACCOUNT, value=True))


def require_other_admin(user_id: int) -> None:
    """Raise Conflict if this is the only active admin while there are other accounts."""
    statement = select(User.user_id).where(User.is_admin, User.is_active).order_by(User.user_id).with_for_update()
    if list(db.session.scalars(statement)) != [user_id]:
        return
    if db.session.scalar(select(User.user_id).where(User.user_id != user_id).limit(1)) is not None:
        raise Conflict("This is the only admin. Make somebody else an admin first.")


def _set_password(user: User, password: str, field: str) -> None:
    if problem := password_problem(password, user.email):
        raise Invalid.field(field, problem)
    user.password_hash = hash_password(password)
    user.must_change_password = False
    user.auth_version += 1
    db.session.flush()


def _email_conflict() -> Invalid:
    return Invalid.field("email", "already has an account")
