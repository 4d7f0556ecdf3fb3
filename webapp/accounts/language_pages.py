"""The reader's language and time zone: as chosen, or as the browser reports them until then."""

from flask import redirect, request, url_for

from webapp.accounts import auth, service
from webapp.accounts.auth import current_identity, current_user_id, public
from webapp.accounts.preferences import UserSettings
from webapp.accounts.schemas import AccountChanges, SettingsChanges
from webapp.db.base import db
from webapp.errors import Invalid
from webapp.extensions import this_app
from webapp.http.views import PageBlueprint, ViewResult
from webapp.i18n import LANGUAGES, dates
from webapp.i18n.request_language import COOKIE, language_of

blueprint = PageBlueprint("language_pages", __name__)

COOKIE_SECONDS = 365 * 86_400


@blueprint.post("/language")
@public
def choose() -> ViewResult:
    """Use that language from now on: for the account if somebody is signed in, else for this browser."""
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
        service.update_account(identity.user_id, AccountChanges(settings=SettingsChanges.model_validate(changes)))
