"""Pages on which users prove again who they are: the second step, the password again, a password of their own."""

from __future__ import annotations

import time

from flask import Blueprint, flash, redirect, render_template, request, session, url_for

from webapp.accounts import auth, resuming, second_factor, service, sessions
from webapp.accounts.auth import current_identity, current_user_id, public, recently_proved, signed_in
from webapp.accounts.models import User
from webapp.accounts.schemas import PasswordChange
from webapp.database import db
from webapp.errors import Invalid, NotFound
from webapp.forms import read_form, sentences
from webapp.languages.marks import N_
from webapp.languages.speaking import gettext as _
from webapp.web import ViewResult

blueprint = Blueprint("proving_pages", __name__)

SECOND_STEP = "second_step"
SECOND_STEP_SECONDS = 300
PASSWORD_LABELS = N_({"current_password": "This", "new_password": "The password"})


def ask_for_code(user: User, then: str) -> ViewResult:
    """Remember that the password was right, and ask for the second step."""
    session.clear()
    session[SECOND_STEP] = {"user_id": user.user_id, "version": user.auth_version, "at": int(time.time())}
    return redirect(url_for("proving_pages.code", next=then if then != "/" else None), 303)


@blueprint.get("/login/code")
@public
def code() -> ViewResult:
    """The second step of signing in."""
    return _code_form() if _half_signed_in() else redirect(url_for("accounts_pages.login"), 303)


@blueprint.post("/login/code")
@public
def check_code() -> ViewResult:
    """Sign in with the current code or a recovery code."""
    user = _half_signed_in()
    if user is None:
        return redirect(url_for("accounts_pages.login"), 303)
    auth.count_attempt("code", str(user.user_id))
    if not second_factor.check(user.user_id, request.form.get("code", "")[:100]):
        db.session.rollback()
        return _code_form({"code": "This is neither the current code nor an unused recovery code."}), 401
    db.session.commit()
    auth.forgive_attempts("code", str(user.user_id))
    auth.start_session(user)
    return redirect(auth.safe_next(request.args.get("next")), 303)


@blueprint.get("/confirm")
@signed_in
def confirm() -> ViewResult:
    """The password again, before something that a borrowed browser must not do."""
    return _confirm_form()


@blueprint.post("/confirm")
@signed_in(session_only=True)
def prove() -> ViewResult:
    """Note that the password was given just now, and go back."""
    identity, user_id = current_identity(), current_user_id()
    auth.count_attempt("password", str(user_id))
    try:
        service.prove_password(user_id, request.form.get("password", "")[:1_000])
    except Invalid:
        return _confirm_form({"password": "That is not your password."}), 422
    if identity is not None and identity.session_id is not None:
        sessions.prove(identity.session_id)
    db.session.commit()
    auth.forgive_attempts("password", str(user_id))
    return redirect(auth.safe_next(request.args.get("next"), url_for("accounts_pages.settings")), 303)


@blueprint.get("/confirm/continue")
@signed_in
def go_on() -> ViewResult:
    """Send the form that was interrupted, as it was; a script does so by itself."""
    form = resuming.take_form(current_user_id(), request.args.get("form", ""))
    if form is None:
        return redirect(auth.safe_next(request.args.get("page"), url_for("accounts_pages.settings")), 303)
    return render_template("accounts/continue.html", form=form)


@blueprint.get("/new-password")
@signed_in
def new_password() -> ViewResult:
    """The form for a password of one's own, replacing one set by somebody else."""
    return _new_password_form()


@blueprint.post("/new-password")
@signed_in(session_only=True)
def set_new_password() -> ViewResult:
    """Set it; every other session ends."""
    auth.count_attempt("password", str(current_user_id()))
    try:
        user = service.change_password(current_user_id(), read_form(PasswordChange))
        db.session.commit()
    except Invalid as error:
        db.session.rollback()
        return _new_password_form(sentences(error, PASSWORD_LABELS, otherwise="new_password")), 422
    auth.forgive_attempts("password", str(user.user_id))
    auth.start_session(user, is_renewed=True)
    return redirect(url_for("conversations_pages.new"), 303)


@blueprint.get("/settings/two-step")
@signed_in(session_only=True)
def two_step() -> ViewResult:
    """Whether two-step sign-in is on; while it is being set up, the QR code and a field for the first code."""
    return _two_step()


@blueprint.post("/settings/two-step/start")
@signed_in(session_only=True)
@recently_proved
def start_two_step() -> ViewResult:
    """Create a new secret for an authenticator."""
    second_factor.begin(current_user_id())
    db.session.commit()
    return redirect(url_for(".two_step"), 303)


@blueprint.post("/settings/two-step/confirm")
@signed_in(session_only=True)
def confirm_two_step() -> ViewResult:
    """Turn it on; the response is the only page that ever shows the recovery codes."""
    auth.count_attempt("code", str(current_user_id()))
    try:
        codes = second_factor.confirm(current_user_id(), request.form.get("code", "")[:100])
    except Invalid as error:
        db.session.rollback()
        return _two_step(sentences(error, N_({"code": "This"}), otherwise="code")), 422
    db.session.commit()
    return _two_step(codes=codes), 201


@blueprint.post("/settings/two-step/off")
@signed_in(session_only=True)
@recently_proved
def end_two_step() -> ViewResult:
    """Turn it off."""
    second_factor.turn_off(current_user_id())
    db.session.commit()
    flash(_("Two-step sign-in is off."))
    return redirect(url_for(".two_step"), 303)


def _half_signed_in() -> User | None:
    """The user who just gave the right password, as long as it is still theirs."""
    kept = session.get(SECOND_STEP) or {}
    if int(time.time()) - kept.get("at", 0) > SECOND_STEP_SECONDS:
        return None
    try:
        user = service.get_user(kept["user_id"])
    except NotFound:
        return None
    return user if user.is_active and user.auth_version == kept["version"] else None


def _code_form(errors: dict[str, str] | None = None) -> str:
    return render_template("accounts/code.html", errors=errors or {}, next=request.args.get("next", ""))


def _confirm_form(errors: dict[str, str] | None = None) -> str:
    return render_template("accounts/confirm.html", errors=errors or {}, next=request.args.get("next", ""))


def _new_password_form(errors: dict[str, str] | None = None) -> str:
    return render_template("accounts/new_password.html", errors=errors or {})


def _two_step(errors: dict[str, str] | None = None, *, codes: list[str] | None = None) -> str:
    import segno  # noqa: PLC0415 - for this page alone, and workers load the module, too

    user = service.get_user(current_user_id())
    secret = second_factor.pending_secret(user.user_id)
    return render_template(
        "accounts/two_step.html",
        errors=errors or {},
        codes=codes,
        is_on=second_factor.is_on(user.user_id),
        codes_left=second_factor.codes_left(user.user_id),
        secret=secret,
        picture=segno.make(second_factor.address(user, secret)).svg_data_uri(scale=5) if secret else "",
    )
