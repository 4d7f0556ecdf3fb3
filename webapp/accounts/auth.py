"""Who is asking, and whether they may: sessions, bearer tokens, CSRF, access rules of views."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Literal
from urllib.parse import urlencode, urlsplit

from flask import Flask, Request, Response, current_app, g, redirect, request, session
from flask_login import current_user, login_user, logout_user
from flask_wtf.csrf import CSRFError
from sqlalchemy import Row, select
from sqlalchemy.exc import SQLAlchemyError

from webapp.accounts import service, throttle, tokens
from webapp.accounts.access import admin_only, public, service_only, signed_in
from webapp.accounts.identity import Identity, current_identity, current_user_id
from webapp.accounts.models import User
from webapp.accounts.schemas import UserSettings
from webapp.database import database_is_away, db, expect_writes, now, write_transaction
from webapp.errors import Forbidden, Unauthenticated
from webapp.extensions import csrf, login
from webapp.validation import parse_id
from webapp.web import check_ids, check_json_request, wants_json, wants_partial

__all__ = [
    "Identity",
    "admin_only",
    "count_attempt",
    "current_identity",
    "current_user_id",
    "end_session",
    "forgive_attempts",
    "init_auth",
    "public",
    "safe_next",
    "service_only",
    "signed_in",
    "start_session",
]

log = logging.getLogger(__name__)

SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}
TOKEN_USE_NOTED_EVERY = timedelta(minutes=1)
VISIT_NOTED_EVERY = timedelta(minutes=5)


def start_session(user: User) -> None:
    """Sign the user in, in this browser, until the session lapses or their credentials change."""
    session.clear()  # a CSRF token from before signing in must not outlive it
    session.permanent = True
    identity = _identity_of(user, via="session")
    login_user(identity)
    g.identity = identity


def end_session() -> None:
    """Sign out in this browser."""
    logout_user()
    session.clear()
    g.identity = None


def count_attempt(action: str, account: str) -> None:
    """Count an attempt of the caller's address at an account's password. Raises TooMany."""
    throttle.count_attempt(action, request.remote_addr or "", account.strip().lower())


def forgive_attempts(action: str, account: str) -> None:
    """Forget the attempts at an account after a success."""
    throttle.forgive(action, request.remote_addr or "", account.strip().lower())


def safe_next(target: str | None, default: str = "/") -> str:
    """Where to go after signing in: a path of this site, never another one."""
    if not target or not target.startswith("/") or target.startswith(("//", "/\\")) or not target.isprintable():
        return default
    parts = urlsplit(target)
    return default if parts.scheme or parts.netloc or "\\" in target else target


def init_auth(app: Flask) -> None:
    """Decide about every request before its view runs."""
    login.session_protection = None  # bound to the address and the browser's name it would sign travellers out
    login.user_loader(_from_session)
    login.request_loader(_from_token)
    app.before_request(_admit)
    throttle.init_throttle(app)


def _admit() -> Response | None:
    g.identity = None
    view = current_app.view_functions.get(request.endpoint or "")
    if view is None or request.routing_exception is not None or request.method == "OPTIONS":
        expect_writes(False)
        return None
    expect_writes(request.method not in SAFE_METHODS or getattr(view, "writes", False))
    access = _access(view)
    if access != "static":
        g.identity = _whoever(access)
        if refusal := _refusal(access, g.identity, services=getattr(view, "services", False)):
            return refusal
        _check_session(view, g.identity)
        _check_csrf(g.identity)
        _note(g.identity)
    check_ids()
    check_json_request()
    return None


def _whoever(access: str) -> Identity | None:
    """Who is asking. What anybody may ask, such as whether the database is there, does not need the database for it."""
    try:
        return current_user._get_current_object() if current_user.is_authenticated else None
    except SQLAlchemyError as error:
        if access != "public" or not database_is_away(error):
            raise
        db.session.rollback()
        return None


def _access(view: Callable[..., Any]) -> str:
    """The access rule of a view, or of its blueprint; admins only where nobody said anything."""
    if request.endpoint in ("static", "asset") or (request.endpoint or "").endswith(".static"):
        return "static"
    blueprint = current_app.blueprints.get(request.blueprint or "")
    return getattr(view, "access", None) or getattr(blueprint, "access", None) or "admin"


def _refusal(access: str, identity: Identity | None, *, services: bool) -> Response | None:
    if access == "public":
        return None
    if identity is None:
        if _bearer(request) is not None:
            raise Unauthenticated("The token is unknown, expired or revoked.")
        return _to_login()
    allowed = {
        "user": services or not identity.is_service,
        "admin": identity.is_admin,
        "service": identity.is_service or identity.is_admin,
    }
    if not allowed[access]:
        if identity.is_service:
            raise Forbidden("A service token cannot be used for this.")
        raise Forbidden("Only admins can do this.")
    return None


def _check_session(view: Callable[..., Any], identity: Identity | None) -> None:
    """A leaked token must not be able to make another, or to outlive its revocation in any other way."""
    if getattr(view, "session_only", False) and identity is not None and identity.via != "session":
        raise Forbidden("A token cannot do this. Sign in, and do it there.")


def _to_login() -> Response:
    """To the login page and back afterwards; raises Unauthenticated for programs."""
    if wants_json():
        raise Unauthenticated("Send a token, or sign in.")
    if wants_partial():
        # The part of a page cannot become the login page: the whole page goes there.
        here = urlsplit(request.headers.get("HX-Current-URL", ""))
        response = Response(status=401)
        response.headers["HX-Redirect"] = _login_address(here.path + ("?" + here.query if here.query else ""))
        return response
    back = request.full_path.rstrip("?") if request.method in SAFE_METHODS else ""
    return redirect(_login_address(back), 303)  # type: ignore[return-value]


def _login_address(back: str) -> str:
    target = safe_next(back, "")
    return f"{request.script_root}/login" + (f"?{urlencode({'next': target})}" if target not in ("", "/") else "")


def _check_csrf(identity: Identity | None) -> None:
    if request.method in SAFE_METHODS or not current_app.config.get("WTF_CSRF_ENABLED", True):
        return
    if identity is not None and identity.via == "token":
        return  # no browser sends a bearer token by itself
    blueprint = current_app.blueprints.get(request.blueprint or "")
    if getattr(blueprint, "csrf_by_origin", False):
        # Pages that are not ours carry no token; a browser says truthfully where their requests come from.
        if request.headers.get("Origin") == request.host_url.rstrip("/"):
            return
        raise Forbidden("The request came from another site.")
    try:
        csrf.protect()
    except CSRFError as error:
        raise Forbidden("This page is out of date. Reload it and try again.") from error


def _note(identity: Identity | None) -> None:
    """Write, now and then, that the token or the user was here, in a transaction of its own."""
    due = g.pop("note_use", None)
    if identity is None or due is None:
        return
    with write_transaction():
        due()


def _bearer(incoming: Request) -> str | None:
    scheme, _, value = incoming.headers.get("Authorization", "").partition(" ")
    return value.strip() if scheme.lower() == "bearer" else None


def _from_session(session_id: str) -> Identity | None:
    """The session's user, as long as the account is active and its credentials are those of the session."""
    if _bearer(request) is not None:
        return None  # whoever sends a token means the token
    user_id, _, version = session_id.partition(":")
    if parse_id(user_id) is None or parse_id(version) is None:
        return None
    user = db.session.scalar(
        select(User).where(User.user_id == int(user_id), User.auth_version == int(version), User.is_active)
    )
    if user is None:
        return None
    _note_if_due(user.last_seen_at, VISIT_NOTED_EVERY, service.note_seen, user.user_id)
    g.account = user  # held, so that whoever needs the account in this request finds it in the session
    return _identity_of(user, via="session")


def _from_token(incoming: Request) -> Identity | None:
    secret = _bearer(incoming)
    found = tokens.find_by_secret(secret) if secret else None
    if found is None:
        return None
    _note_if_due(found.last_used_at, TOKEN_USE_NOTED_EVERY, tokens.note_use, found.token_id)
    return _identity_of(found, via="token", is_service=found.is_service)


def _note_if_due(last: datetime | None, every: timedelta, note: Callable[[int, datetime], None], row: int) -> None:
    before = now() - every
    if last is None or last < before:
        g.note_use = lambda: note(row, before)


def _identity_of(
    user: User | Row[*tuple[Any, ...]], *, via: Literal["token", "session"], is_service: bool = False
) -> Identity:
    return Identity(
        user_id=user.user_id,
        # A service token has the rights of a service, not those of the admin who made it.
        is_admin=user.is_admin and not is_service,
        is_service=is_service,
        via=via,
        email=user.email,
        name=user.name,
        settings=UserSettings.of(user.settings).model_dump(mode="json"),
        auth_version=user.auth_version,
    )
