"""Choosing the language of the interface: for the account in the settings, for this browser before signing in."""

from flask import redirect, request, url_for

from webapp.accounts import auth, service
from webapp.accounts.auth import current_identity, current_user_id, public
from webapp.accounts.schemas import AccountChanges, SettingsChanges
from webapp.db.base import db
from webapp.errors import Invalid
from webapp.http.views import PageBlueprint, ViewResult
from webapp.i18n import LANGUAGES
from webapp.i18n.request_language import COOKIE

blueprint = PageBlueprint("language_pages", __name__)

COOKIE_SECONDS = 365 * 86_400


@blueprint.post("/language")
@public
def choose() -> ViewResult:
    """Use that language from now on: for the account if somebody is signed in, else for this browser. Without a choice
    the browser's own preference decides."""
    code = request.form.get("language", "")
    if code and code not in LANGUAGES:
        raise Invalid("There is no such language.")
    identity = current_identity()
    if identity is not None and identity.via == "session":
        changes = SettingsChanges.model_validate({"language": code})
        service.update_account(current_user_id(), AccountChanges(settings=changes))
        db.session.commit()
    location = (
        url_for("accounts_pages.general", _anchor="language")
        if identity is not None
        else url_for("accounts_pages.login")
    )
    response = redirect(auth.safe_next(request.form.get("next"), location), 303)
    if code:
        response.set_cookie(COOKIE, code, max_age=COOKIE_SECONDS, samesite="Lax")
    else:
        response.delete_cookie(COOKIE)
    return response
