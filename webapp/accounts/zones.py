"""The person's time zone, for what happens when their browser is not there to tell it."""

from __future__ import annotations

from flask import request

from webapp import dates
from webapp.accounts import service
from webapp.accounts.auth import current_identity
from webapp.accounts.schemas import AccountChanges, SettingsChanges

UNSET = "UTC"


def learn_zone() -> None:
    """Keep the zone that this browser told, for an account that has none yet; costs nothing otherwise."""
    identity, told = current_identity(), request.cookies.get("tz", "")
    if (
        identity is None
        or identity.settings.get("timezone", UNSET) != UNSET
        or told == UNSET
        or not dates.is_zone(told)
    ):
        return
    service.update_account(identity.user_id, AccountChanges(settings=SettingsChanges(timezone=told)))
