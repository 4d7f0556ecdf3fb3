"""The identity behind a request, as the rest of the application sees it."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from flask import g
from sqlalchemy import select

from webapp.accounts import sessions, tokens
from webapp.accounts.models import ApiToken, User, UserSession
from webapp.accounts.schemas import UserSettings
from webapp.db.base import db, now
from webapp.errors import Forbidden, Unauthenticated


@dataclass(frozen=True, slots=True)
class Identity:
    """The identity behind a request: a copy, so that nothing is loaded unnoticed. Templates call it `current_user`."""

    user_id: int
    is_admin: bool
    is_service: bool
    via: Literal["token", "session"]
    email: str = ""
    name: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    session_id: int | None = None
    session_secret: str = field(default="", repr=False)
    proved_at: datetime | None = None
    must_change_password: bool = False
    token_id: int | None = None
    token_name: str = ""
    scopes: frozenset[str] | None = None
    space_ids: frozenset[int] | None = None

    # What Flask-Login needs of a user
    is_authenticated = True
    is_active = True
    is_anonymous = False

    def get_id(self) -> str:
        """Return what the session cookie holds: the secret of a row of `user_sessions`."""
        return self.session_secret


def current_identity() -> Identity | None:
    """Return the identity behind the request; None if nobody is signed in."""
    identity: Identity | None = g.get("identity")
    return identity


def require_identity() -> Identity:
    """Return the identity behind the request, for views that require one. Raises Unauthenticated."""
    identity = current_identity()
    if identity is None:
        raise Unauthenticated("Sign in first.")
    return identity


def is_admin() -> bool:
    """Return whether an admin is behind the request."""
    identity = current_identity()
    return bool(identity and identity.is_admin)


def current_user_id() -> int:
    """Return the user whose data this request is about. Raises Unauthenticated, or Forbidden for a service token."""
    identity = require_identity()
    if identity.is_service:
        raise Forbidden("A service token belongs to nobody in particular and has no data of its own.")
    return identity.user_id


def session_identity(user: User, row: UserSession, secret: str) -> Identity:
    """Return the user whose browser holds the secret of this session."""
    return Identity(
        user_id=user.user_id,
        is_admin=user.is_admin,
        is_service=False,
        via="session",
        email=user.email,
        name=user.name,
        settings=UserSettings.of(user.settings).model_dump(mode="json"),
        session_id=row.session_id,
        session_secret=secret,
        proved_at=row.proved_at,
        must_change_password=user.must_change_password,
    )


def is_valid(identity: Identity) -> bool:
    """Return whether the token or session behind an earlier request can still be used, and its account is in use."""
    good = select(User.user_id).where(User.user_id == identity.user_id, User.is_active)
    if identity.token_id is not None:
        good = good.join(ApiToken, ApiToken.token_id == identity.token_id).where(*tokens.usable_tokens())
    else:
        condition = UserSession.session_id == identity.session_id
        good = good.join(UserSession, condition).where(*sessions.active_sessions(now()))
    return db.session.scalar(good) is not None
