"""Pages of Settings that are about the account itself, in the blueprint of its pages: one topic a page."""

import json
from typing import Any

from flask import flash, make_response, redirect, render_template, request, url_for

from webapp.accounts import auth, second_factor, service, sessions, tokens
from webapp.accounts.access_kinds import end_access, list_access
from webapp.accounts.agents import describe_agent
from webapp.accounts.auth import current_identity, current_user_id, password_required
from webapp.accounts.pages import blueprint as blueprint
from webapp.accounts.password_check_pages import PASSWORD_LABELS
from webapp.accounts.preferences import THEMES
from webapp.accounts.schemas import AccountChanges, NewToken, PasswordChange, SettingsChanges
from webapp.accounts.scopes import SCOPE_LABELS
from webapp.db.base import db
from webapp.errors import Invalid
from webapp.http.forms import read_form, redisplay_form, require_version, validate
from webapp.http.validation import PageQuery
from webapp.http.views import ViewResult, absolute_url, commit_and_redirect, pop_values, show_once, wants_partial
from webapp.i18n.marks import N_
from webapp.i18n.request_language import gettext as _

BOOKMARK = (
    "+'?title='+encodeURIComponent(document.title)+'&url='+encodeURIComponent(location.href)"
    "+'&text='+encodeURIComponent(String(getSelection()).slice(0,1500))"
)
"""The rest of a bookmark that leads to the first page: what the page it is clicked on shares."""
PROFILE_LABELS = N_({"name": "The name"})
INSTRUCTION_LABELS = N_({"custom_instructions": "The instructions"})
TOKEN_LABELS = N_({"token_name": "The name", "scopes": "This"})
SESSIONS_SHOWN = 20
THEME_COOKIE_SECONDS = 365 * 86_400
SWITCHES = ("memory_enabled", "past_conversations_enabled", "space_documents_enabled", "suggestions_enabled")
FULL_ACCESS, CHOSEN_ACCESS = "full", "chosen"


def _security(errors: dict[str, str] | None = None) -> str:
    return render_template(
        "accounts/security.html",
        errors=errors or {},
        access=list_access(current_user_id()),
        ended=request.form.getlist("ended"),
        two_step=second_factor.is_on(current_user_id()),
    )


@blueprint.get("/settings")
@blueprint.get("/settings/general", endpoint="general")
def settings() -> ViewResult:
    """The profile, the appearance and the language; on a phone the first address lists the rooms of Settings."""
    return _general()


@blueprint.post("/settings/profile")
@redisplay_form(lambda errors: _general(errors, name=request.form.get("name", "")), PROFILE_LABELS, otherwise="name")
def profile() -> ViewResult:
    service.update_account(current_user_id(), AccountChanges(name=read_form(AccountChanges).name))
    return commit_and_redirect(url_for(".general"), _("Saved."))


@blueprint.post("/settings/appearance")
def appearance() -> ViewResult:
    """Choose the theme, for this browser and as the account's default."""
    theme = request.form.get("theme", "")
    if theme not in THEMES:
        raise Invalid("There is no such theme.")
    service.change_settings(current_user_id(), theme=theme)
    db.session.commit()
    answer = ("", 204) if wants_partial() else redirect(url_for(".general", _anchor="appearance"), 303)
    response = make_response(answer)
    response.set_cookie("theme", theme, max_age=THEME_COOKIE_SECONDS, samesite="Lax")
    return response


def _personalisation(errors: dict[str, str] | None = None) -> str:
    stored = _personal()
    posted = {"custom_instructions": request.form.get("custom_instructions", ""), **_switches()}
    values = posted if errors else stored
    return render_template("accounts/personalisation.html", errors=errors or {}, stored=stored, values=values)


def _switches() -> dict[str, bool]:
    return {name: name in request.form.getlist("on") for name in SWITCHES}


@blueprint.get("/settings/personalisation")
def personalisation() -> ViewResult:
    """Show what every reply is told, and what memory may do."""
    return _personalisation()


@blueprint.post("/settings/personalisation")
@redisplay_form(_personalisation, INSTRUCTION_LABELS, otherwise="custom_instructions")
def personalise() -> ViewResult:
    """Change the instructions and the switches."""
    require_version(_personal())
    changes = read_form(SettingsChanges).model_copy(update=_switches())
    service.update_account(current_user_id(), AccountChanges(settings=changes))
    return commit_and_redirect(url_for(".personalisation"), _("Saved."))


@blueprint.get("/settings/security")
def security() -> ViewResult:
    return _security()


@blueprint.post("/settings/password")
@redisplay_form(_security, PASSWORD_LABELS, otherwise="new_password")
def password() -> ViewResult:
    """Change the password, and end other access that was ticked; every other session ends."""
    user_id = current_user_id()
    auth.count_attempt("password", str(user_id))
    user = service.change_password(user_id, read_form(PasswordChange))
    end_access(user_id, but=list_access(user_id).keys() - set(request.form.getlist("ended")))
    auth.renew_session(user)
    flash(_("Your password has been changed. You have been signed out everywhere else."))
    return redirect(url_for(".security"), 303)


def _tokens(errors: dict[str, str] | None = None, *, new_token: Any = None) -> str:
    return render_template(
        "accounts/tokens.html",
        errors=errors or {},
        values=request.form,
        chosen=request.form.getlist("scopes"),
        new_token=new_token,
        tokens=tokens.list_tokens(current_user_id()),
        scopes=SCOPE_LABELS,
    )


@blueprint.get("/settings/tokens")
def tokens_page() -> ViewResult:
    """The API tokens, and the form for another one."""
    return _tokens(**pop_values())


@blueprint.post("/settings/tokens")
@password_required
@redisplay_form(_tokens, TOKEN_LABELS, otherwise="token_name")
def create_token() -> ViewResult:
    """Create an API token; the next page is the only one that ever shows it."""
    token, secret = tokens.create_token(current_user_id(), _new_token())
    return show_once(url_for(".tokens_page"), new_token={"name": token.name, "secret": secret})


@blueprint.post("/settings/tokens/<int:token_id>/revoke")
def revoke_token(token_id: int) -> ViewResult:
    tokens.revoke_token(current_user_id(), token_id)
    return commit_and_redirect(url_for(".tokens_page"), _("The token has been revoked."))


@blueprint.get("/settings/sessions")
def sessions_page() -> ViewResult:
    """The browsers in which the user is signed in."""
    page = sessions.list_sessions(current_user_id(), PageQuery(limit=SESSIONS_SHOWN))
    return render_template(
        "accounts/sessions.html", sessions=page.items, this_session=_this_session(), describe_agent=describe_agent
    )


@blueprint.post("/settings/sessions/<int:session_id>/end")
def end_session(session_id: int) -> ViewResult:
    service.end_session(current_user_id(), session_id)
    return commit_and_redirect(url_for(".sessions_page"), _("That browser has been signed out."))


@blueprint.post("/settings/sessions/end-others")
def end_other_sessions() -> ViewResult:
    service.end_sessions(current_user_id(), _this_session())
    return commit_and_redirect(url_for(".sessions_page"), _("You have been signed out everywhere else."))


def _new_token() -> NewToken:
    """Return the posted token: full access only if that was chosen; without days it has no end. Raises Invalid."""
    days = request.form.get("expires_in_days", "90")
    fields = {"name": request.form.get("token_name", ""), "expires_in_days": days or None}
    scopes = None if request.form.get("access") == FULL_ACCESS else request.form.getlist("scopes")
    if scopes == []:
        raise Invalid.field("scopes", N_("Choose full access, or at least one permission."))
    return validate(NewToken, {**fields, "scopes": scopes})


def _this_session() -> int | None:
    identity = current_identity()
    return identity.session_id if identity else None


def _general(errors: dict[str, str] | None = None, *, name: str | None = None) -> str:
    # Without an error the page shows what is stored, not what the request began with.
    account = service.get_user(current_user_id())
    return render_template(
        "accounts/settings.html",
        bookmark=f"javascript:location={json.dumps(absolute_url(url_for('conversations_pages.new')))}{BOOKMARK}",
        errors=errors or {},
        name=account.name if name is None else name,
        verified=account.email_verified_at is not None,
    )


def _personal() -> dict[str, Any]:
    return service.user_settings(current_user_id()).model_dump(include={"custom_instructions", *SWITCHES})
