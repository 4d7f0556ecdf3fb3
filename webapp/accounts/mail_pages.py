"""Pages that account e-mails link to: joining, a new password, a confirmed address. None without SMTP."""

from types import SimpleNamespace

from flask import Flask, flash, redirect, render_template, request, session, url_for

from webapp.accounts import auth, mails
from webapp.accounts.access import admin_only
from webapp.accounts.access_kinds import list_access
from webapp.accounts.auth import current_user_id, login_required, password_required, public
from webapp.accounts.mail_texts import JOIN, RESET, VERIFY
from webapp.accounts.mails import InvalidLink
from webapp.accounts.pages import ACCOUNT_LABELS
from webapp.accounts.passwords import password_problem
from webapp.accounts.schemas import Email, Password, PersonName
from webapp.accounts.site import has_users, registration_is_open
from webapp.config import ConfigError, Settings
from webapp.db.base import db
from webapp.errors import Forbidden, Invalid, NotFound, TooMany
from webapp.http.forms import read_form, redisplay_form, sentences
from webapp.http.validation import Input
from webapp.http.views import PageBlueprint, ViewResult, commit_and_redirect
from webapp.i18n.request_language import gettext as _

blueprint = PageBlueprint("mail_pages", __name__)

NEXT = "mail_next"
"""Where somebody was going when they asked for a mail, such as a program's consent page; kept in their browser."""
MAX_NEXT_LENGTH = 1_500  # a browser keeps 4 kB of a cookie


class Address(Input):
    """The address of a mail."""

    email: Email


class Choice(Input):
    """The choice of somebody who followed a link."""

    password: Password
    name: PersonName = ""


def init_mail(app: Flask, settings: Settings) -> None:
    """Tell templates whether mail is sent. Raises ConfigError for missing settings."""
    app.jinja_env.globals["sends_mail"] = bool(settings.smtp_host)
    if not settings.smtp_host:
        return
    if "@" not in settings.smtp_from:
        raise ConfigError("SMTP_FROM: must be the address mail comes from, as SMTP_HOST is set")
    if not settings.site_url:
        # If it came from the request, anybody could choose the site that a link with a secret leads to.
        raise ConfigError("SITE_URL: must be the address of the site, for links in mail, as SMTP_HOST is set")


@blueprint.before_request
def _only_with_mail() -> None:
    if not mails.is_set_up():
        raise NotFound("There is nothing at this address.")


@blueprint.errorhandler(InvalidLink)
def _show_expired_link(error: InvalidLink) -> ViewResult:
    db.session.rollback()
    return _render("link_gone", reason=_(error.detail)), 410


@blueprint.post("/register/mail")
@public
@redisplay_form(lambda errors: _mail_form("register_mail", errors), ACCOUNT_LABELS, otherwise="email")
def ask_to_join() -> ViewResult:
    """Send the address a link for a new account, or a note that it has one; the response is the same."""
    auth.count_attempt("mail", request.form.get("email", ""))
    if not (has_users() and registration_is_open()):  # the first account is made on its page, which may ask for a token
        raise Forbidden("New accounts cannot be created here at the moment. Ask an admin for one.")
    mails.ask_to_join(read_form(Address).email)
    db.session.commit()
    _keep_next()
    return redirect(url_for(".join", sent=1), 303)


@blueprint.get("/forgot-password")
@public
def forgot_password() -> ViewResult:
    return _mail_form("forgot", {})


@blueprint.post("/forgot-password")
@public
@redisplay_form(lambda errors: _mail_form("forgot", errors), ACCOUNT_LABELS, otherwise="email")
def ask_for_reset() -> ViewResult:
    """Send a link if there is such an account; the answer is the same if there is none."""
    auth.count_attempt("mail", request.form.get("email", ""))
    mails.ask_for_reset(read_form(Address).email)
    db.session.commit()
    _keep_next()
    return redirect(url_for(".reset_form", sent=1), 303)


@blueprint.get("/join")
@public
def join() -> ViewResult:
    return _choose(JOIN)


@blueprint.post("/join")
@public
@redisplay_form(lambda errors: _choose(JOIN, errors), ACCOUNT_LABELS, otherwise="password")
def make_account() -> ViewResult:
    auth.count_attempt("link", "")
    choice = _choice(JOIN)
    user = mails.join(_token(), choice.name, choice.password)
    db.session.commit()
    next_url = auth.safe_next(session.get(NEXT), url_for("conversations_pages.new"))
    auth.start_session(user)
    return redirect(next_url, 303)


@blueprint.get("/reset-password")
@public
def reset_form() -> ViewResult:
    return _choose(RESET)


@blueprint.post("/reset-password")
@public
@redisplay_form(lambda errors: _choose(RESET, errors), ACCOUNT_LABELS, otherwise="password")
def reset() -> ViewResult:
    """Set the password and end other access, except for what was unticked; the user then signs in."""
    auth.count_attempt("link", "")
    kept_sessions = set(request.form.getlist("listed")) - set(request.form.getlist("ended"))
    mails.reset(_token(), _choice(RESET).password, kept_sessions=kept_sessions)
    return commit_and_redirect(
        url_for("accounts_pages.login", next=session.pop(NEXT, None)),
        _("Your password has been changed. Sign in with the new one."),
    )


@blueprint.get("/verify-email")
@public
def verify_form() -> ViewResult:
    """A button, rather than a link that does it: mail scanners follow links."""
    return _choose(VERIFY)


@blueprint.post("/verify-email")
@public
@redisplay_form(lambda errors: _choose(VERIFY, errors), {}, otherwise="token")
def verify() -> ViewResult:
    auth.count_attempt("link", "")
    mails.verify(_token())
    return commit_and_redirect(url_for("accounts_pages.general"), _("Your e-mail address is confirmed."))


@blueprint.post("/settings/verify-email")
@login_required
def ask_to_verify() -> ViewResult:
    """Send the link that confirms the user's address."""
    try:
        mails.ask_to_verify(current_user_id())
        db.session.commit()
        flash(_("A link is on its way to your address."))
    except TooMany as error:
        db.session.rollback()
        flash(error.detail)
    return redirect(url_for("accounts_pages.general"), 303)


@blueprint.post("/admin/invitations")
@admin_only
@password_required
def invite() -> ViewResult:
    try:
        email = read_form(Address).email
        mails.invite(current_user_id(), email)
        db.session.commit()
        flash(_("An invitation is on its way to %(email)s.", email=email))
    except (Invalid, TooMany) as error:
        db.session.rollback()
        flash(sentences(error, ACCOUNT_LABELS, otherwise="email")["email"])
    return redirect(url_for("admin_pages.users"), 303)


def _keep_next() -> None:
    next_url = auth.safe_next(request.args.get("next"), "")
    if next_url and len(next_url) <= MAX_NEXT_LENGTH:
        session[NEXT] = next_url
    else:
        session.pop(NEXT, None)


def _token() -> str:
    return request.args.get("token", "")[:200]


def _choice(kind: str) -> Choice:
    """Return what was chosen, if the link is good and the password good enough. Raises Invalid, InvalidLink."""
    email = mails.check(kind, _token()).email
    choice = read_form(Choice)
    if problem := password_problem(choice.password, email):
        raise Invalid.field("password", problem)
    return choice


def _mail_form(name: str, errors: dict[str, str]) -> str:
    return _render(name, errors=errors, values=request.form)


def _choose(kind: str, errors: dict[str, str] | None = None) -> str:
    if "sent" in request.args:
        return _render("mail_sent", what=kind)
    mail = mails.check(kind, _token())
    access = list_access(mail.user_id) if kind == RESET and mail.user_id else {}
    ended = request.form.getlist("ended") if errors else list(access)
    values = SimpleNamespace(name=request.form.get("name", ""), ended=ended)
    return _render(
        "choose", kind=kind, email=mail.email, errors=errors or {}, values=values, token=_token(), access=access
    )


def _render(name: str, **context: object) -> str:
    return render_template(f"accounts/mail/{name}.html", next=request.args.get("next", ""), **context)
