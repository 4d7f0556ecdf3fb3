"""Pages of accounts: register, sign in and out, choose a language. Those of Settings are in settings_pages.py."""

from types import SimpleNamespace

from flask import redirect, render_template, request, url_for

from webapp.accounts import auth, service
from webapp.accounts.auth import current_identity, current_user_id, public
from webapp.accounts.password_check_pages import complete_sign_in
from webapp.accounts.preferences import UserSettings
from webapp.accounts.schemas import Credentials, Registration
from webapp.accounts.site import has_users, is_setup_token, needs_setup_token, registration_is_open
from webapp.db.base import db
from webapp.errors import Forbidden, Invalid
from webapp.extensions import app_settings, this_app
from webapp.http.forms import read_form, redisplay_form
from webapp.http.views import PageBlueprint, ViewResult
from webapp.i18n import LANGUAGES, dates
from webapp.i18n.marks import N_
from webapp.i18n.request_language import COOKIE, language_of

blueprint = PageBlueprint("accounts_pages", __name__, access="user")

ACCOUNT_LABELS = N_(
    {"name": "The name", "email": "The e-mail address", "password": "The password", "setup_token": "This"}
)


def login_form(errors: dict[str, str] | None = None) -> str:
    """Return the sign-in form, with what went wrong."""
    return render_template(
        "accounts/login.html",
        errors=errors or {},
        values=request.form,
        registration_open=registration_is_open(),
        next=request.args.get("next", ""),
    )


def register_form(errors: dict[str, str] | None = None) -> str:
    """Return the form for an account; if mail is set up, for a link to one."""
    if app_settings().smtp_host and has_users() and registration_is_open():
        # Only the address itself learns whether it has an account.
        return render_template(
            "accounts/mail/register_mail.html",
            errors=errors or {},
            values=request.form,
            next=request.args.get("next", ""),
        )
    return render_template(
        "accounts/register.html",
        errors=errors or {},
        values=SimpleNamespace(**{name: request.form.get(name, "") for name in ("name", "email", "setup_token")}),
        registration_open=registration_is_open(),
        first_account=not has_users(),
        asks_for_token=needs_setup_token(),
        next=request.args.get("next", ""),
    )


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
@redisplay_form(login_form, ACCOUNT_LABELS)
def sign_in() -> ViewResult:
    """Sign in and go where the visitor wanted to."""
    email = request.form.get("email", "")
    auth.count_attempt("login", email)
    user = service.log_in(read_form(Credentials))
    db.session.commit()
    auth.reset_attempts("login", email)
    return complete_sign_in(user, auth.safe_next(request.args.get("next")))


@blueprint.get("/register")
@public
def register() -> ViewResult:
    if current_identity() is not None:
        return redirect(auth.safe_next(request.args.get("next")), 303)
    return register_form()


@blueprint.post("/register")
@public
@redisplay_form(register_form, ACCOUNT_LABELS, otherwise="email")
def make_account() -> ViewResult:
    """Create an account, sign in with it and go where the visitor wanted to."""
    auth.count_attempt("register", request.form.get("email", ""))
    if needs_setup_token() and not is_setup_token(request.form.get("setup_token", "")[:100]):
        raise Invalid.field("setup_token", "is not the set-up token that stands in the server’s log")
    if app_settings().smtp_host and has_users():
        raise Forbidden("To create an account, request a link by e-mail.")
    user = service.register(read_form(Registration))
    db.session.commit()
    auth.start_session(user)
    return redirect(auth.safe_next(request.args.get("next"), url_for("conversations_pages.new")), 303)


@blueprint.post("/logout")
@public
def logout() -> ViewResult:
    auth.end_session()
    return redirect(url_for(".login"), 303)


language_blueprint = PageBlueprint("language_pages", __name__)

COOKIE_SECONDS = 365 * 86_400


@language_blueprint.post("/language")
@public
def choose() -> ViewResult:
    """Use that language from now on: for the account if somebody is signed in, else for this browser."""
    code = request.form.get("language", "")
    if code and code not in LANGUAGES:
        raise Invalid("There is no such language.")
    identity = current_identity()
    if identity is not None and identity.via == "session":
        service.change_settings(current_user_id(), language=code)
        db.session.commit()
    location = (
        url_for("accounts_pages.login") if identity is None else url_for("accounts_pages.general", _anchor="language")
    )
    response = redirect(auth.safe_next(request.form.get("next"), location), 303)
    if code:
        response.set_cookie(COOKIE, code, max_age=COOKIE_SECONDS, samesite="Lax")
    else:
        response.delete_cookie(COOKIE)
    return response


UNSET = "UTC"


def learn_from_browser() -> None:
    """Store the time zone this browser reported, for an account that has none yet, and its language."""
    identity, zone = current_identity(), request.cookies.get("tz", "")
    if identity is None:
        return
    settings = UserSettings.of(identity.settings)
    changes: dict[str, str] = {}
    if settings.timezone == UNSET != zone and dates.is_time_zone(zone):
        changes["timezone"] = zone
    if not settings.language and request.accept_languages:
        code = language_of(this_app()).code
        if code != settings.document_language:
            changes["browser_language"] = code
    if changes:
        service.change_settings(identity.user_id, **changes)
