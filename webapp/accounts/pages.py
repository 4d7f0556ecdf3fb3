"""Pages of accounts: register, sign in and out, settings."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from flask import Blueprint, flash, make_response, redirect, render_template, request, url_for
from pydantic import ValidationError

from webapp.accounts import auth, second_factor, service, sessions, tokens
from webapp.accounts.agents import describe_agent
from webapp.accounts.auth import current_identity, current_user_id, public, recently_proved, signed_in
from webapp.accounts.entrance import login_form, register_form
from webapp.accounts.first import first_account
from webapp.accounts.preferences import THEMES
from webapp.accounts.proving_pages import let_in
from webapp.accounts.schemas import (
    AccountChanges,
    Credentials,
    NewToken,
    PasswordChange,
    Registration,
    SettingsChanges,
)
from webapp.accounts.scopes import WORDS as SCOPE_WORDS
from webapp.accounts.site import has_users
from webapp.database import db
from webapp.errors import Forbidden, Invalid, Unauthenticated
from webapp.extensions import app_settings
from webapp.forms import read_form, sentences
from webapp.languages.marks import N_
from webapp.languages.speaking import gettext as _
from webapp.paging import PageQuery
from webapp.problems import field_errors
from webapp.web import ViewResult, wants_partial

blueprint = Blueprint("accounts_pages", __name__)

ACCOUNT_LABELS = N_({"name": "The name", "email": "The e-mail address", "password": "The password"})
PASSWORD_LABELS = N_({"current_password": "This", "new_password": "The password"})
PROFILE_LABELS = N_({"name": "The name", "instructions": "The instructions"})
TOKEN_LABELS = N_({"token_name": "The name"})
SESSIONS_SHOWN = 20
THEME_COOKIE_SECONDS = 365 * 86_400


@blueprint.get("/login")
@public
def login() -> ViewResult:
    """The sign-in form; the very first visitor creates the first account instead."""
    if current_identity() is not None:
        return redirect(auth.safe_next(request.args.get("next")), 303)
    if not has_users():
        return redirect(url_for(".register", next=request.args.get("next")), 303)
    return login_form()


@blueprint.post("/login")
@public
def sign_in() -> ViewResult:
    """Sign in and go where the visitor wanted to."""
    email = request.form.get("email", "")
    auth.count_attempt("login", email)
    try:
        user = service.log_in(read_form(Credentials))
    except (Unauthenticated, Invalid) as error:
        said = {"": _("The e-mail address or the password is wrong.")}
        return login_form(said, email=email), (422 if isinstance(error, Invalid) else 401)
    db.session.commit()
    auth.forgive_attempts("login", email)
    return let_in(user, auth.safe_next(request.args.get("next")))


@blueprint.get("/register")
@public
def register() -> ViewResult:
    """The form for a new account."""
    if current_identity() is not None:
        return redirect(auth.safe_next(request.args.get("next")), 303)
    return register_form()


@blueprint.post("/register")
@public
def make_account() -> ViewResult:
    """Create an account, sign in with it and go where the visitor wanted to."""
    auth.count_attempt("register", request.form.get("email", ""))
    if (first := first_account()).asks() and not first.is_right(request.form.get("setup_token", "")[:100]):
        return register_form({"setup_token": "This is not the set-up token that stands in the server’s log."}), 403
    if app_settings().smtp_host and has_users():
        raise Forbidden("To create an account, request a link by e-mail.")
    try:
        user = service.register(read_form(Registration))
        db.session.commit()
    except Forbidden as error:
        db.session.rollback()
        return register_form({"": error.detail}), 403
    except Invalid as error:
        db.session.rollback()
        # An error about the form as a whole is about the password: how it relates to the address.
        return register_form(sentences(error, ACCOUNT_LABELS, otherwise="password")), 422
    auth.start_session(user)
    return redirect(auth.safe_next(request.args.get("next"), url_for("conversations_pages.new")), 303)


@blueprint.post("/logout")
@public
def logout() -> ViewResult:
    """Sign out in this browser."""
    auth.end_session()
    return redirect(url_for(".login"), 303)


@blueprint.get("/settings")
@signed_in
def settings() -> ViewResult:
    """All settings of a user on one page."""
    return _settings()


@blueprint.post("/settings/profile")
@signed_in
def profile() -> ViewResult:
    """Change the name and the instructions for every reply."""
    try:
        changes = read_form(SettingsChanges, {"custom_instructions": "instructions"})
        name = read_form(AccountChanges).name
        service.update_account(
            current_user_id(),
            AccountChanges(
                name=name,
                settings=SettingsChanges(
                    custom_instructions=changes.custom_instructions, suggestions_enabled=_wants_suggestions()
                ),
            ),
        )
    except Invalid as error:
        for item in error.errors or []:
            item["loc"] = ["instructions" if part == "custom_instructions" else part for part in item["loc"]]
        typed = SimpleNamespace(
            name=request.form.get("name", ""),
            instructions=request.form.get("instructions", ""),
            suggestions=_wants_suggestions() is not False,
        )
        return _settings({"profile": sentences(error, PROFILE_LABELS, otherwise="name")}, values=typed), 422
    db.session.commit()
    flash(_("Saved."))
    return redirect(url_for(".settings"), 303)


def _wants_suggestions() -> bool | None:
    """What the form says about suggestions; None if it does not ask."""
    return "suggestions" in request.form if "has_suggestions" in request.form else None


@blueprint.post("/settings/appearance")
@signed_in
def appearance() -> ViewResult:
    """Choose the theme, for this browser and as the account's default."""
    theme = request.form.get("theme", "")
    if theme not in THEMES:
        raise Invalid("There is no such theme.")
    service.update_account(current_user_id(), AccountChanges(settings=SettingsChanges(theme=theme)))
    db.session.commit()
    done = ("", 204) if wants_partial() else redirect(url_for(".settings", _anchor="appearance"), 303)
    response = make_response(done)
    response.set_cookie("theme", theme, max_age=THEME_COOKIE_SECONDS, samesite="Lax")
    return response


@blueprint.post("/settings/password")
@signed_in
def password() -> ViewResult:
    """Change the password; every other session ends."""
    auth.count_attempt("password", str(current_user_id()))
    try:
        user = service.change_password(current_user_id(), read_form(PasswordChange))
        db.session.commit()
    except Invalid as error:
        db.session.rollback()
        return _settings({"password": sentences(error, PASSWORD_LABELS, otherwise="new_password")}), 422
    auth.forgive_attempts("password", str(user.user_id))
    auth.start_session(user, is_renewed=True)
    flash(_("Your password has been changed. You have been signed out everywhere else."))
    return redirect(url_for(".settings"), 303)


@blueprint.post("/settings/tokens")
@signed_in
@recently_proved
def create_token() -> ViewResult:
    """Create an API token; the response is the only page that ever shows it."""
    try:
        token, secret = tokens.create_token(current_user_id(), _new_token())
        db.session.commit()
    except Invalid as error:
        db.session.rollback()
        typed = SimpleNamespace(token_name=request.form.get("token_name", ""), scopes=request.form.getlist("scopes"))
        return _settings({"token": sentences(error, TOKEN_LABELS, otherwise="token_name")}, values=typed), 422
    return _settings(new_token=SimpleNamespace(name=token.name, secret=secret)), 201


@blueprint.post("/settings/tokens/<int:token_id>/revoke")
@signed_in
def revoke_token(token_id: int) -> ViewResult:
    """End a token."""
    tokens.revoke_token(current_user_id(), token_id)
    db.session.commit()
    flash(_("The token has been revoked."))
    return redirect(url_for(".settings", _anchor="tokens"), 303)


@blueprint.post("/settings/sessions/<int:session_id>/end")
@signed_in
def end_session(session_id: int) -> ViewResult:
    """Sign out in another browser."""
    service.end_session(current_user_id(), session_id)
    db.session.commit()
    flash(_("That browser has been signed out."))
    return redirect(url_for(".settings", _anchor="sessions"), 303)


@blueprint.post("/settings/sessions/end-others")
@signed_in
def end_other_sessions() -> ViewResult:
    """Sign out everywhere but here."""
    service.end_sessions(current_user_id(), _this_session())
    db.session.commit()
    flash(_("You have been signed out everywhere else."))
    return redirect(url_for(".settings", _anchor="sessions"), 303)


def _new_token() -> NewToken:
    """The form for a token: no scope means all, no number of days means no expiry. Raises Invalid."""
    days = request.form.get("expires_in_days", "90")
    given = {"name": request.form.get("token_name", ""), "expires_in_days": days or None}
    try:
        return NewToken(**given, scopes=request.form.getlist("scopes") or None)
    except ValidationError as error:
        raise Invalid("", errors=field_errors(error)) from None


def _this_session() -> int | None:
    identity = current_identity()
    return identity.session_id if identity else None


def _settings(errors: dict[str, dict[str, str]] | None = None, *, values: Any = None, new_token: Any = None) -> str:
    # Without an error the page shows what is stored, not what the request began with.
    account = service.get_user(current_user_id())
    chosen = service.user_settings(account.user_id)
    stored = SimpleNamespace(
        name=account.name, instructions=chosen.custom_instructions, suggestions=chosen.suggestions_enabled
    )
    shown = SimpleNamespace(**{**vars(stored), **(vars(values) if values else {})})
    return render_template(
        "accounts/settings.html",
        errors=errors or {},
        values=shown,
        new_token=new_token,
        tokens=tokens.list_tokens(account.user_id),
        scopes=SCOPE_WORDS,
        sessions=sessions.list_sessions(account.user_id, PageQuery(limit=SESSIONS_SHOWN)).items,
        this_session=_this_session(),
        two_step=second_factor.is_on(account.user_id),
        verified=account.email_verified_at is not None,
        describe_agent=describe_agent,
    )
