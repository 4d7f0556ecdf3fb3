"""The forms for people who are not signed in: signing in and creating an account."""

from __future__ import annotations

from types import SimpleNamespace

from flask import render_template, request

from webapp.accounts.first_account import first_account
from webapp.accounts.site import has_users, registration_is_open
from webapp.extensions import app_settings


def login_form(errors: dict[str, str] | None = None, *, email: str = "") -> str:
    """The sign-in form, with what went wrong."""
    return render_template(
        "accounts/login.html",
        errors=errors or {},
        values=SimpleNamespace(email=email),
        registration_open=registration_is_open(),
        next=request.args.get("next", ""),
    )


def register_form(errors: dict[str, str] | None = None) -> str:
    """The form for an account; if mail is set up, for a link to one."""
    if app_settings().smtp_host and has_users() and registration_is_open():
        # Only the address itself learns whether it has an account.
        return render_template(
            "accounts/mail/register_mail.html", errors={}, values={}, next=request.args.get("next", "")
        )
    typed = SimpleNamespace(**{name: request.form.get(name, "") for name in ("name", "email", "setup_token")})
    return render_template(
        "accounts/register.html",
        errors=errors or {},
        values=typed,
        registration_open=registration_is_open(),
        first_account=not has_users(),
        asks_for_token=first_account().asks(),
        next=request.args.get("next", ""),
    )
