"""Pages of accounts: register, sign in and out. Those of Settings are in settings_pages.py."""

from types import SimpleNamespace

from flask import redirect, render_template, request, url_for

from webapp.accounts import auth, service
from webapp.accounts.auth import current_identity, public
from webapp.accounts.password_check_pages import complete_sign_in
from webapp.accounts.schemas import Credentials, Registration
from webapp.accounts.site import first_account, has_users, registration_is_open
from webapp.db.base import db
from webapp.errors import Forbidden, Invalid
from webapp.extensions import app_settings
from webapp.http.forms import on_form, read_form
from webapp.http.views import PageBlueprint, ViewResult
from webapp.i18n.marks import N_

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
    values = SimpleNamespace(**{name: request.form.get(name, "") for name in ("name", "email", "setup_token")})
    return render_template(
        "accounts/register.html",
        errors=errors or {},
        values=values,
        registration_open=registration_is_open(),
        first_account=not has_users(),
        asks_for_token=first_account().needs_token(),
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
@on_form(login_form, ACCOUNT_LABELS)
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
@on_form(register_form, ACCOUNT_LABELS, otherwise="email")
def make_account() -> ViewResult:
    """Create an account, sign in with it and go where the visitor wanted to."""
    auth.count_attempt("register", request.form.get("email", ""))
    if (first := first_account()).needs_token() and not first.is_right(request.form.get("setup_token", "")[:100]):
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
