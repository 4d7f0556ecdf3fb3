"""Pages on which users prove again who they are: the second step, the password again, a password of their own."""

import time

from flask import flash, redirect, render_template, request, session, url_for

from webapp.accounts import auth, identities, passkeys, password_check, second_factor, service
from webapp.accounts.auth import current_user_id, password_required, public
from webapp.accounts.models import User
from webapp.accounts.schemas import PasswordChange
from webapp.db.base import db
from webapp.errors import NotFound, Unauthenticated
from webapp.http.forms import read_form, redisplay_form
from webapp.http.views import PageBlueprint, ViewResult, commit_and_redirect, pop_values, show_once
from webapp.i18n.marks import N_
from webapp.i18n.request_language import gettext as _

blueprint = PageBlueprint("password_check_pages", __name__, access="user")

SECOND_STEP = "second_step"
SECOND_STEP_SECONDS = 300
WAY_BACK = "way_back"
WAY_BACK_SECONDS = 600
PASSWORD_LABELS = N_({"current_password": "This", "password": "This", "new_password": "The password"})


def complete_sign_in(user: User, next_url: str, *, has_two_steps: bool = True) -> ViewResult:
    """Sign in a person who has proved their identity; with `has_two_steps`, after the second step."""
    if has_two_steps and second_factor.is_on(user.user_id):
        _remember(SECOND_STEP, user)
        return redirect(url_for("password_check_pages.code", next=next_url if next_url != "/" else None), 303)
    if not user.is_active:
        _remember(WAY_BACK, user)
        return redirect(url_for("account_deletion_pages.way_back"), 303)
    auth.start_session(user)
    return redirect(next_url, 303)


def returning_owner() -> User | None:
    """Return the owner of a closed account, who has just proved who they are."""
    return _remembered_user(WAY_BACK, WAY_BACK_SECONDS)


def _code_form(errors: dict[str, str] | None = None) -> str:
    return render_template("accounts/code.html", errors=errors or {}, next=request.args.get("next", ""))


def _confirm_form(errors: dict[str, str] | None = None) -> str:
    return render_template(
        "accounts/confirm.html",
        errors=errors or {},
        next=request.args.get("next", ""),
        has_passkeys=passkeys.count(current_user_id()) > 0,
    )


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
        codes_left=second_factor.count_unused_codes(user.user_id),
        secret=secret,
        picture=segno.make(second_factor.address(user, secret)).svg_data_uri(scale=5) if secret else "",
    )


@blueprint.get("/login/code")
@public
def code() -> ViewResult:
    """The second step of signing in."""
    user = _remembered_user(SECOND_STEP, SECOND_STEP_SECONDS)
    return _code_form() if user else redirect(url_for("accounts_pages.login"), 303)


@blueprint.post("/login/code")
@public
@redisplay_form(_code_form, {}, otherwise="code")
def check_code() -> ViewResult:
    """Sign in with the current code or a recovery code."""
    user = _remembered_user(SECOND_STEP, SECOND_STEP_SECONDS)
    if user is None:
        return redirect(url_for("accounts_pages.login"), 303)
    auth.count_attempt("code", str(user.user_id), everywhere=True)
    if not second_factor.check(user.user_id, request.form.get("code", "")[:100]):
        raise Unauthenticated("This is neither the current code nor an unused recovery code.")
    db.session.commit()
    auth.reset_attempts("code", str(user.user_id))
    return complete_sign_in(user, auth.safe_next(request.args.get("next")), has_two_steps=False)


@blueprint.get("/confirm")
def confirm() -> ViewResult:
    """The password again, before something that a borrowed browser must not do."""
    return _confirm_form()


@blueprint.post("/confirm")
@redisplay_form(_confirm_form, PASSWORD_LABELS, otherwise="password")
def prove() -> ViewResult:
    """Record that the password was given just now, and go back."""
    auth.prove_password(request.form.get("password", "")[:1_000])
    return redirect(auth.safe_next(request.args.get("next"), url_for("accounts_pages.settings")), 303)


@blueprint.get("/confirm/continue")
def go_on() -> ViewResult:
    """Send the form that was interrupted, as it was; a script does so by itself."""
    form = password_check.pop_form(current_user_id(), request.args.get("form", ""))
    if form is None:
        return redirect(auth.safe_next(request.args.get("page"), url_for("accounts_pages.settings")), 303)
    return render_template("accounts/continue.html", form=form)


@blueprint.get("/new-password")
def new_password() -> ViewResult:
    return _new_password_form()


@blueprint.post("/new-password")
@redisplay_form(_new_password_form, PASSWORD_LABELS, otherwise="new_password")
def set_new_password() -> ViewResult:
    """Set the new password; every other session ends."""
    auth.count_attempt("password", str(current_user_id()))
    auth.renew_session(service.change_password(current_user_id(), read_form(PasswordChange)))
    return redirect(url_for("conversations_pages.new"), 303)


@blueprint.get("/settings/two-step")
def two_step() -> ViewResult:
    """Return whether two-step sign-in is on; while it is being set up, the QR code and a field for the first code."""
    return _two_step(**pop_values())


@blueprint.post("/settings/two-step/start")
@password_required
def start_two_step() -> ViewResult:
    """Create a new secret for an authenticator."""
    second_factor.begin(current_user_id())
    return commit_and_redirect(url_for(".two_step"))


@blueprint.post("/settings/two-step/confirm")
@password_required
@redisplay_form(_two_step, N_({"code": "This"}), otherwise="code")
def confirm_two_step() -> ViewResult:
    """Turn on two-step sign-in, and end every other session; only the next page ever shows the recovery codes."""
    identity = auth.require_identity()
    auth.count_attempt("code", str(identity.user_id))
    codes = second_factor.confirm(identity.user_id, request.form.get("code", "")[:100])
    if service.end_sessions(identity.user_id, identity.session_id):
        flash(_("You have been signed out everywhere else."))
    return show_once(url_for(".two_step"), codes=codes)


@blueprint.post("/settings/two-step/off")
@password_required
def end_two_step() -> ViewResult:
    second_factor.disable(current_user_id())
    return commit_and_redirect(url_for(".two_step"), _("Two-step sign-in is off."))


def _remember(name: str, user: User) -> None:
    """Remember, in this browser and for a short while, that this user has proved who they are."""
    for key in session.keys() - {identities.PENDING_LINK}:
        del session[key]
    session[name] = {"user_id": user.user_id, "version": user.auth_version, "at": int(time.time())}


def _remembered_user(name: str, seconds: int) -> User | None:
    """Return the user of whom that was remembered within these seconds, as long as their credentials are the same."""
    state = session.get(name) or {}
    if int(time.time()) - state.get("at", 0) > seconds:
        return None
    try:
        user = service.get_user(state["user_id"])
    except NotFound:
        return None
    return user if user.auth_version == state["version"] and service.may_sign_in(user) else None
