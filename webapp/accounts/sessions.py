"""Sessions of signed-in browsers, kept on the server: begun, recognised, listed, ended."""

import secrets
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import Row, Select, bindparam, delete, or_, select, update

from webapp.accounts.models import User, UserSession
from webapp.db.base import add_row, db, now, rows_changed
from webapp.db.columns import Timestamp
from webapp.db.encryption import digest_of
from webapp.errors import NotFound
from webapp.http.paging import read_rows
from webapp.http.validation import Page, PageQuery

MAX_SECRET = 100
RETENTION_DAYS = 7
"""How long an ended session's row may stay before it is purged."""


def begin(user: User, *, user_agent: str, address: str, days: int) -> tuple[UserSession, str]:
    """Return a new session's row and the secret for its cookie; it ends after `days`, no matter how much it is used."""
    secret = secrets.token_urlsafe(32)
    row = UserSession(
        user_id=user.user_id,
        secret_hash=digest_of(secret),
        auth_version=user.auth_version,
        user_agent=user_agent[:300],
        address=address[:64],
        expires_at=now() + timedelta(days=days),
    )
    add_row(row)
    return row, secret


def find(secret: str) -> Row[User, UserSession] | None:
    """Return the session with this secret and its active user, in one statement; None for one that has ended."""
    if not 0 < len(secret) <= MAX_SECRET:
        return None
    return db.session.execute(_by_hash(), {"hash": digest_of(secret), "now": now()}).one_or_none()


@cache
def _by_hash() -> Select[User, UserSession]:
    return (
        select(User, UserSession)
        .join(User, User.user_id == UserSession.user_id)
        .where(
            UserSession.secret_hash == bindparam("hash"),
            User.is_active,
            *active_sessions(bindparam("now", type_=Timestamp)),
        )
    )


def list_sessions(user_id: int, query: PageQuery) -> Page[UserSession]:
    """Return a page of a user's sessions that can be used, newest first. Raises Invalid for another list's cursor."""
    statement = (
        select(UserSession)
        .join(User, User.user_id == UserSession.user_id)
        .where(UserSession.user_id == user_id, *active_sessions(now()))
    )
    return read_rows("sessions", query, statement, UserSession.session_id, scope=user_id)


def end(user_id: int, session_id: int) -> None:
    """End one of the user's sessions. Raises NotFound for an unknown, foreign or ended one."""
    statement = delete(UserSession).where(UserSession.session_id == session_id, UserSession.user_id == user_id)
    if rows_changed(statement) == 0:
        raise NotFound("There is no such session.")


def end_others(user_id: int, but: int | None) -> int:
    """End every session of the user but one; returns how many."""
    statement = delete(UserSession).where(UserSession.user_id == user_id)
    if but is not None:
        statement = statement.where(UserSession.session_id != but)
    return rows_changed(statement)


def prove(session_id: int) -> None:
    """Record that the user has just given the password in this session."""
    db.session.execute(update(UserSession).where(UserSession.session_id == session_id).values(proved_at=now()))


def update_last_seen(session_id: int, before: datetime) -> None:
    """Record that the session was used now, unless that was recorded after `before`."""
    db.session.execute(
        update(UserSession)
        .where(UserSession.session_id == session_id, UserSession.last_seen_at < before)
        .values(last_seen_at=now())
    )


def purge() -> int:
    """Delete the rows of sessions that ended a while ago; returns how many."""
    return rows_changed(delete(UserSession).where(UserSession.expires_at < now() - timedelta(days=RETENTION_DAYS)))


def active_sessions(moment: Any) -> tuple[Any, ...]:
    """Return the conditions under which a session, joined with its user, has not ended."""
    return (
        UserSession.auth_version == User.auth_version,
        or_(UserSession.expires_at.is_(None), UserSession.expires_at > moment),
    )
