"""API tokens: created, listed, revoked, recognised."""

import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import Row, Select, Update, and_, bindparam, or_, select, update

from webapp.accounts import signals
from webapp.accounts.models import ApiToken, User
from webapp.accounts.schemas import NewToken
from webapp.db.base import add_row, db, now, read_columns, rows_changed, table_of
from webapp.db.columns import Timestamp
from webapp.db.encryption import digest_of
from webapp.errors import Conflict, NotFound

PREFIX = "cmpl_"
SERVICE_PREFIX = "cmps_"
MAX_TOKENS = 100
_LENGTH = 11  # the prefix and six characters: enough to tell one's tokens apart, useless to a thief


def create_token(user_id: int, data: NewToken, *, is_service: bool = False) -> tuple[ApiToken, str]:
    """Return a new token's row and, this once, the token itself: 256 random bits behind a recognisable prefix."""
    if len(list_tokens(user_id)) >= MAX_TOKENS:
        raise Conflict("You already have %(max_tokens)s tokens. Revoke one you no longer use.", max_tokens=MAX_TOKENS)
    token, secret = new_token(user_id, data, is_service=is_service)
    add_row(token)
    signals.note(user_id, "token_created", data.name)
    return token, secret


def new_token(user_id: int, data: NewToken, *, is_service: bool = False, **fields: Any) -> tuple[ApiToken, str]:
    """Return a row that is not stored yet, with any other fields, and the token itself."""
    secret = (SERVICE_PREFIX if is_service else PREFIX) + secrets.token_urlsafe(32)
    fields.setdefault("expires_at", now() + timedelta(days=data.expires_in_days) if data.expires_in_days else None)
    token = ApiToken(
        user_id=user_id,
        name=data.name,
        token_hash=digest_of(secret),
        prefix=secret[:_LENGTH],
        is_service=is_service,
        scopes=list(data.scopes) if data.scopes is not None else None,
        **fields,
    )
    return token, secret


def create_delegated(
    user_id: int, data: NewToken, *, space_ids: Sequence[int] | None, expires_at: datetime
) -> tuple[ApiToken, str]:
    """Return the row of a token for a program the user authorised, and the token itself."""
    places = list(space_ids) if space_ids is not None else None
    token, secret = new_token(user_id, data, space_ids=places, is_delegated=True, expires_at=expires_at)
    add_row(token)
    return token, secret


def renew_delegated(token_id: int, expires_at: datetime) -> str:
    """Return a new secret for the token of a program; the previous one is worthless from now on."""
    secret = PREFIX + secrets.token_urlsafe(32)
    statement = update(ApiToken).where(ApiToken.token_id == token_id, ApiToken.revoked_at.is_(None))
    if (
        rows_changed(statement.values(token_hash=digest_of(secret), prefix=secret[:_LENGTH], expires_at=expires_at))
        == 0
    ):
        raise NotFound("There is no such token.")
    return secret


def list_tokens(user_id: int) -> Sequence[ApiToken]:
    """Return the usable tokens a user created, newest first."""
    conditions = ApiToken.user_id == user_id, ApiToken.is_delegated.is_(False), *usable_tokens()
    return db.session.scalars(select(ApiToken).where(*conditions).order_by(ApiToken.token_id.desc())).all()


def is_in_use(token_id: int) -> bool:
    """Return whether a token neither has ended nor was revoked; a program's can be renewed until it is revoked."""
    lasts = and_(ApiToken.is_delegated, ApiToken.revoked_at.is_(None)) | and_(*usable_tokens())
    return bool(db.session.scalar(select(ApiToken.token_id).where(ApiToken.token_id == token_id, lasts)))


def revoke_token(user_id: int, token_id: int) -> None:
    """End a token of this user now. Raises NotFound for an unknown, foreign or revoked one."""
    conditions = ApiToken.token_id == token_id, ApiToken.user_id == user_id
    usable = update(ApiToken).where(*conditions, ApiToken.revoked_at.is_(None))
    if rows_changed(usable.values(revoked_at=now())) == 0:
        raise NotFound("There is no such token.")
    signals.note(user_id, "token_revoked", db.session.scalars(select(ApiToken.name).where(*conditions)).one())


def revoke_all(user_id: int) -> int:
    """End every token of this user now; returns how many."""
    statement = update(ApiToken).where(ApiToken.user_id == user_id, ApiToken.revoked_at.is_(None))
    count = rows_changed(statement.values(revoked_at=now()))
    if count:
        signals.note(user_id, "token_revoked", "all tokens")
    return count


def find_by_secret(secret: str) -> Row[*tuple[Any, ...]] | None:
    """Return the usable token with this secret and its active owner, as named columns."""
    if not secret.startswith((PREFIX, SERVICE_PREFIX)):
        return None
    return read_columns(_by_hash(), {"hash": digest_of(secret), "now": now()}).one_or_none()


@cache
def _by_hash() -> Select[*tuple[Any, ...]]:
    # Built once, and columns rather than rows of both classes, which take three times as long: every call of the API
    # asks for it.
    return (
        select(
            ApiToken.token_id,
            ApiToken.is_service,
            ApiToken.last_used_at,
            ApiToken.scopes,
            ApiToken.space_ids,
            ApiToken.name.label("token_name"),
            User.user_id,
            User.is_admin,
            User.email,
            User.name,
            User.settings,
        )
        .join(User, User.user_id == ApiToken.user_id)
        .where(
            ApiToken.token_hash == bindparam("hash"), User.is_active, *usable_tokens(bindparam("now", type_=Timestamp))
        )
    )


def note_use(token_id: int, before: datetime, address: str = "") -> None:
    """Record that the token was used now, and from where, unless that was recorded after `before`."""
    values = {"last_used_at": now(), "last_used_address": address[:64] or None}
    db.session.execute(_update_if_used_before(), {"token": token_id, "before": before, **values})


@cache
def _update_if_used_before() -> Update:
    columns = table_of(ApiToken).c  # of the class, SQLAlchemy would look for rows in the session
    is_due = or_(columns.last_used_at.is_(None), columns.last_used_at < bindparam("before"))
    return update(table_of(ApiToken)).where(columns.token_id == bindparam("token"), is_due)


def usable_tokens(moment: Any = None) -> tuple[Any, ...]:
    """Return the conditions under which a token is neither revoked nor expired."""
    moment = now() if moment is None else moment
    return ApiToken.revoked_at.is_(None), or_(ApiToken.expires_at.is_(None), ApiToken.expires_at > moment)
