"""Pages of passkeys: signing in with one, and adding, renaming and removing them in Settings."""

from urllib.parse import urlsplit

from flask import Response, render_template, request, session, url_for

from webapp.accounts import auth, passkeys, service
from webapp.accounts.agents import describe_agent
from webapp.accounts.auth import current_user_id, password_required, public
from webapp.accounts.passkeys import RelyingParty
from webapp.accounts.password_check_pages import complete_sign_in
from webapp.db.base import db
from webapp.errors import Conflict
from webapp.http.forms import redisplay_form
from webapp.http.views import PageBlueprint, ViewResult, commit_and_redirect
from webapp.i18n.request_language import gettext as _, translate

blueprint = PageBlueprint("passkey_pages", __name__, access="user")

CHALLENGE = "passkey_challenge"


@blueprint.post("/login/passkey/options")
@public
def options() -> ViewResult:
    """Return what a browser is to sign with a passkey, as JSON."""
    auth.count_attempt("passkey", "")
    challenge = passkeys.new_challenge()
    session[CHALLENGE] = challenge
    return Response(passkeys.options_to_sign_in(_relying_party(), challenge), mimetype="application/json")


@blueprint.post("/login/passkey")
@public
@redisplay_form(lambda errors: _failure_page(errors[""]), {})
def sign_in() -> ViewResult:
    """Sign in with what the browser signed; no second step is asked for, as the passkey is both."""
    auth.count_attempt("passkey", "")
    next_url = auth.safe_next(request.args.get("next"))
    challenge = str(session.pop(CHALLENGE, ""))
    user = passkeys.recognise(request.form.get("credential", ""), _relying_party(), challenge)
    db.session.commit()
    auth.reset_attempts("passkey", "")
    return complete_sign_in(user, next_url, has_two_steps=False)


@blueprint.get("/settings/passkeys")
def index() -> ViewResult:
    return render_template("accounts/passkeys.html", passkeys=passkeys.list_passkeys(current_user_id()))


@blueprint.get("/settings/passkeys/new")
@password_required
def new() -> ViewResult:
    return _new()


@blueprint.post("/settings/passkeys")
@password_required
@redisplay_form(lambda errors: _new(errors[""]), {})
def add() -> ViewResult:
    """Keep the passkey the browser created."""
    challenge = str(session.pop(CHALLENGE, ""))
    name = request.form.get("name", "")
    passkey = passkeys.add(current_user_id(), name, request.form.get("credential", ""), _relying_party(), challenge)
    return commit_and_redirect(url_for(".index"), _("“%(name)s” can sign you in from now on.", name=passkey.name))


@blueprint.post("/settings/passkeys/<int:passkey_id>/rename")
def rename(passkey_id: int) -> ViewResult:
    passkeys.rename(current_user_id(), passkey_id, request.form.get("name", ""))
    return commit_and_redirect(url_for(".index"))


@blueprint.post("/settings/passkeys/<int:passkey_id>/remove")
@password_required
def remove(passkey_id: int) -> ViewResult:
    passkeys.remove(current_user_id(), passkey_id)
    return commit_and_redirect(
        url_for(".index"), _("The passkey has been removed. Delete it in your browser or password manager too.")
    )


def _relying_party() -> RelyingParty:
    origin = f"{request.scheme}://{request.host}"
    return RelyingParty(domain=urlsplit(origin).hostname or "", origin=origin)


def _failure_page(reason: str) -> str:
    return render_template("accounts/passkey_failed.html", reason=reason, next=request.args.get("next"))


def _new(problem: str = "") -> str:
    user = service.get_user(current_user_id())
    try:
        challenge = passkeys.new_challenge()
        options = passkeys.options_to_add(user, _relying_party(), challenge)
        session[CHALLENGE] = challenge
    except Conflict as error:
        options, problem = "", error.detail
    suggested = translate(describe_agent(request.headers.get("User-Agent", "")))
    return render_template("accounts/passkey_new.html", options=options, problem=problem, suggested=suggested)
