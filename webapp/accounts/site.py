"""Settings of the site that an admin changes while it runs."""

from typing import Any

from sqlalchemy import select

from webapp.accounts.models import SiteSetting, User
from webapp.db.base import db
from webapp.extensions import app_settings

REGISTRATION_OPEN = "registration_open"
SCHEDULES_PER_PERSON = "schedules_per_person"
MAX_SCHEDULES = 10_000
"""The most of them that an admin can allow each person."""


def get_setting(key: str, default: Any = None) -> Any:
    """Return the value of a site setting, or the default while nobody has set it."""
    row = db.session.get(SiteSetting, key)
    return default if row is None else row.value


def set_setting(key: str, value: Any) -> None:
    """Set a site setting to any JSON value."""
    db.session.merge(SiteSetting(key=key, value=value))
    db.session.flush()


def registration_is_open() -> bool:
    """Return whether anybody may register: as an admin has set it, else as configured; always for the first account."""
    configured = app_settings().registration_open
    return bool(get_setting(REGISTRATION_OPEN, configured)) or not has_users()


def schedules_per_person() -> int:
    """Return how many schedules a person may have: as an admin has set it, else as configured."""
    value = get_setting(SCHEDULES_PER_PERSON)
    return app_settings().schedules_per_person if value is None else int(value)


def has_users() -> bool:
    """Return whether there is any account yet."""
    return db.session.scalar(select(User.user_id).limit(1)) is not None
