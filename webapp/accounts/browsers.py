"""Facts that the person's browser reports, for work done without it: time zone and language."""

from flask import request

from webapp.accounts import service
from webapp.accounts.auth import current_identity
from webapp.accounts.preferences import UserSettings
from webapp.accounts.schemas import AccountChanges, SettingsChanges
from webapp.extensions import this_app
from webapp.i18n import dates
from webapp.i18n.request_language import language_of

UNSET = "UTC"


def learn_from_browser() -> None:
    """Keep the time zone this browser reported, for an account that has none yet, and its language.

    Costs nothing when nothing is new.
    """
    identity, zone = current_identity(), request.cookies.get("tz", "")
    if identity is None:
        return
    settings = UserSettings.of(identity.settings)
    changes: dict[str, str] = {}
    if settings.timezone == UNSET != zone and dates.is_zone(zone):
        changes["timezone"] = zone
    if not settings.language and request.accept_languages:
        code = language_of(this_app()).code
        if code != settings.document_language:
            changes["browser_language"] = code
    if changes:
        service.update_account(identity.user_id, AccountChanges(settings=SettingsChanges.model_validate(changes)))
