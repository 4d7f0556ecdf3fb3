"""Authentication and access rules: sessions, bearer tokens, CSRF, access rules of views."""

from collections.abc import Callable, Collection
from contextlib import suppress
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode, urlsplit

from flask import Flask, Request, Response, current_app, flash, g, request, session
from flask_login import current_user, login_user, logout_user
from flask_wtf.csrf import CSRFError
from sqlalchemy.exc import SQLAlchemyError

from webapp.accounts import identities, password_check, scopes, service, sessions, signals, throttle, tokens
from webapp.accounts.access import (
    BROWSER_ONLY,
    access_of,
    admin_only as admin_only,
    cookieless as cookieless,
    login_required as login_required,
    password_required as password_required,
    public as public,
    session_only as session_only,
    writes as writes,
)
from webapp.accounts.agents import describe_agent
from webapp.accounts.emails import spelling
from webapp.accounts.identity import (
    Identity,
    current_identity as current_identity,
    current_user_id as current_user_id,
    require_identity as require_identity,
    session_identity,
)
from webapp.accounts.models import User
from webapp.accounts.schemas import UserSettings
from webapp.accounts.visits import init_visits
from webapp.db.base import db, expect_writes, now
from webapp.db.failures import database_is_away
from webapp.errors import OUTDATED_PAGE, Forbidden, NotFound, Unauthenticated
from webapp.extensions import app_settings, csrf, login
from webapp.http.views import (
    bearer_token,
    check_ids,
    check_json_request,
    is_for_programs,
    previous_page,
    receive_body,
    redirect_to,
    wants_json,
    wants_partial,
)
from webapp.i18n.marks import N_

TOKEN_USE_INTERVAL = timedelta(minutes=1)
VISIT_INTERVAL = timedelta(minutes=5)


def start_session(user: User, *, is_renewed: bool = False) -> None:
    """Sign the user in, in this browser; commits. `is_renewed`: in place of the session that changed credentials."""
    pending = session.get(identities.PENDING_LINK)
    session.clear()  # a CSRF token from before signing in must not outlive it
    session.permanent = True
    days = app_settings().session_max_days
    agent, address = request.headers.get("User-Agent", ""), request.remote_addr or ""
    row, secret = sessions.begin(user, user_agent=agent, address=address, days=days)
    identities.link_pending(user, pending)
    g.identity = session_identity(user, row, secret)
    login_user(g.identity)
    if is_renewed:
        sessions.end_others(user.user_id, row.session_id)
    else:
        signals.note(user.user_id, "signed_in", describe_agent(agent))
    db.session.commit()


def renew_session(user: User) -> None:
    """Commit the new credentials of a user; the session that changed them continues, the others have ended."""
    db.session.commit()
    reset_attempts("password", str(user.user_id))
    start_session(user, is_renewed=True)


def prove_password(password: str) -> None:
    """Record in this session that its user has just given the password; commits. Raises Invalid, TooMany."""
    identity = require_identity()
    account = str(identity.user_id)
    count_attempt("password", account)
    service.prove_password(identity.user_id, password)
    if identity.session_id is not None:
        sessions.prove(identity.session_id)
    db.session.commit()
    reset_attempts("password", account)


def end_session() -> None:
    """Sign out in this browser; its cookie is worthless from now on. Commits."""
    identity = current_identity()
    if identity is not None and identity.session_id is not None:
        with suppress(NotFound):
            sessions.end(identity.user_id, identity.session_id)
            signals.note(identity.user_id, "signed_out")
        db.session.commit()
    logout_user()
    session.clear()
    g.identity = None


def count_attempt(action: str, account: str, *, everywhere: bool = False) -> None:
    """Count an attempt of the caller's address at an account's password, or of all `everywhere`. Raises TooMany."""
    address = request.remote_addr or ""
    throttle.count_attempt(action, address, spelling(account), everywhere=everywhere)


def reset_attempts(action: str, account: str) -> None:
    """Forget the attempts at an account after a success."""
    throttle.reset_attempts(action, request.remote_addr or "", spelling(account))


def safe_next(target: str | None, default: str = "/") -> str:
    """Return where to go after signing in: a path of this site, never another one."""
    if not target or not target.startswith("/") or target.startswith(("//", "/\\")) or not target.isprintable():
        return default
    parts = urlsplit(target)
    return default if parts.scheme or parts.netloc or "\\" in target else target


def init_auth(app: Flask) -> None:
    """Decide about every request before its view runs."""
    login.session_protection = None  # bound to the IP address and the browser's name, it would sign travellers out
    login.user_loader(_from_session)
    login.request_loader(_from_token)
    app.before_request(_admit)
    init_visits(app)
    throttle.init_throttle(app)


def _admit() -> Response | None:
    g.identity = None
    view = current_app.view_functions.get(request.endpoint or "")
    expect_writes(False)
    if view is None or request.routing_exception is not None or request.method == "OPTIONS":
        if request.method == "GET" and not wants_json() and not wants_partial():
            g.identity = _identity_of_request("public")  # whoever opens an address that leads nowhere keeps the sidebar
        return None
    receive_body(large=False)
    expect_writes(request.method not in scopes.SAFE_METHODS or getattr(view, "writes", False))
    access = access_of(current_app, request.endpoint or "")
    if access != "static" and not getattr(view, "cookieless", False):
        g.identity = _identity_of_request(access)
        if refusal := _refusal(access, g.identity, services=getattr(view, "services", False)):
            return refusal
        _check_token(view, g.identity, access)
        receive_body(large=True)
        _check_csrf(g.identity)
        if response := password_check.next_step(view, g.identity, access):
            return response
    check_ids()
    check_json_request()
    return None


def _identity_of_request(access: str) -> Identity | None:
    """Return the identity behind a request; nobody if the database is away and the view is public."""
    try:
        return current_user._get_current_object() if current_user.is_authenticated else None
    except SQLAlchemyError as error:
        if access != "public" or not database_is_away(error):
            raise
        db.session.rollback()
        return None


def _refusal(access: str, identity: Identity | None, *, services: bool) -> Response | None:
    if access == "public":
        return None
    if identity is None:
        if bearer_token() is not None:
            if not is_for_programs():
                raise Forbidden(BROWSER_ONLY)
            raise Unauthenticated("The token is unknown, expired or revoked.")
        return _redirect_to_login()
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


def _check_token(view: Callable[..., Any], identity: Identity | None, access: str) -> None:
    """Raise Forbidden where no token, or not this one, is accepted: a leaked one must not create its own successor."""
    if identity is None or identity.via == "session" or access == "public":
        return
    if getattr(view, "session_only", False):
        raise Forbidden(BROWSER_ONLY)
    access = "admin" if access == "service" and not identity.is_service else access  # where admins act as such
    _require_scope(identity, scopes.required_scopes(request.method, request.path, access, getattr(view, "scope", None)))
    if request.args.get("forget"):  # with a conversation or a space also what was learned there
        _require_scope(identity, {"memory"})


def _require_scope(identity: Identity, required: Collection[str]) -> None:
    if not scopes.is_sufficient(identity.scopes, required):
        if not required:
            raise Forbidden("This needs a token that is not limited to scopes, or a signed-in browser.")
        raise Forbidden("This token lacks the scope %(scopes)s.", scopes=" or ".join(sorted(required)))


def _redirect_to_login() -> Response:
    """To the login page and back afterwards; raises Unauthenticated for programs."""
    if wants_json():
        raise Unauthenticated("Send a token, or sign in.")
    if request.method in scopes.SAFE_METHODS and not wants_partial():
        return redirect_to(_login_address(request.full_path.rstrip("?")), 401)
    # A fragment of a page cannot become the login page, so the whole page goes there; and a form is filled in again.
    flash(N_("You have been signed out. Sign in to go on."))
    return redirect_to(_login_address(previous_page()), 401)


def _login_address(next_url: str) -> str:
    target = safe_next(next_url, "")
    return f"{request.script_root}/login" + (f"?{urlencode({'next': target})}" if target not in ("", "/") else "")


def _check_csrf(identity: Identity | None) -> None:
    if request.method in scopes.SAFE_METHODS or not current_app.config.get("WTF_CSRF_ENABLED", True):
        return
    if identity is not None and identity.via == "token":
        return  # no browser sends a bearer token on its own
    try:
        csrf.protect()
    except CSRFError as error:
        raise Forbidden(OUTDATED_PAGE) from error


def _from_session(secret: str) -> Identity | None:
    """Return the session's user, unless it has ended, the account is not active or its credentials have changed."""
    if bearer_token() is not None:
        return None  # a caller who sends a token means the token
    session = sessions.find(str(secret))
    if session is None:
        return None
    user, row = session.User, session.UserSession
    before = now() - VISIT_INTERVAL
    if user.last_seen_at is None or user.last_seen_at < before or row.last_seen_at < before:
        user_id, session_id = user.user_id, row.session_id

        def note() -> None:
            service.update_last_seen(user_id, before)
            sessions.update_last_seen(session_id, before)

        g.note_use = note
    g.account = user  # held, so that code that needs the account in this request finds it in the session
    return session_identity(user, row, str(secret))


def _from_token(_request: Request) -> Identity | None:
    """Return the owner of the token in a request to the API; pages do not accept tokens."""
    secret = bearer_token() if is_for_programs() else None
    row = tokens.find_by_secret(secret) if secret else None
    if row is None:
        return None
    before = now() - TOKEN_USE_INTERVAL
    if row.last_used_at is None or row.last_used_at < before:
        token_id, address = row.token_id, request.remote_addr or ""
        g.note_use = lambda: tokens.note_use(token_id, before, address)
    granted = None if row.scopes is None else frozenset(row.scopes)
    return Identity(
        user_id=row.user_id,
        # A service token has the rights of a service, not those of the admin who made it.
        is_admin=row.is_admin and not row.is_service and scopes.is_sufficient(granted, {"admin"}),
        is_service=row.is_service,
        via="token",
        email=row.email,
        name=row.name,
        settings=UserSettings.of(row.settings).model_dump(mode="json"),
        token_id=row.token_id,
        token_name=row.token_name,
        scopes=granted,
        space_ids=None if row.space_ids is None else frozenset(row.space_ids),
    )
