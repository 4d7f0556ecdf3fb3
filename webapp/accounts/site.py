"""The settings of the whole site, and its first account, which is the admin."""

import base64
import hmac
import ipaddress
import logging
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from flask import current_app, request
from sqlalchemy import select

from webapp.accounts.models import SiteSetting, User
from webapp.db.base import db
from webapp.extensions import app_settings

log = logging.getLogger(__name__)

REGISTRATION_OPEN = "registration_open"
SCHEDULES_PER_PERSON = "schedules_per_person"
NIGHTS = "nights"
"""The instants at which the work of the last two nights was asked for, earlier first."""
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
    return bool(get_setting(REGISTRATION_OPEN, app_settings().registration_open)) or not has_users()


def schedules_per_person() -> int:
    """Return how many schedules a person may have: as an admin has set it, else as configured."""
    value = get_setting(SCHEDULES_PER_PERSON)
    return app_settings().schedules_per_person if value is None else int(value)


def has_users() -> bool:
    """Return whether there is any account yet."""
    return db.session.scalar(select(User.user_id).limit(1)) is not None


GROUP, GROUPS = 4, 5


def setup_token() -> str:
    """Return the token required to set up the first account from another machine: 100 bits, in groups easy to type."""
    secret = str(current_app.config["SECRET_KEY"])
    letters = base64.b32encode(hmac.digest(secret.encode(), b"first account", "sha256")).decode().lower()
    return "-".join(letters[start : start + GROUP] for start in range(0, GROUP * GROUPS, GROUP))


def needs_setup_token() -> bool:
    """Return whether the set-up token is asked for in the current request; it is logged the first time."""
    if is_local_request() or has_users():
        return False
    log_setup_token(setup_token())
    return True


@cache
def log_setup_token(token: str) -> None:
    """Tell the token to whoever can read the log, once a process."""
    log.warning("There is no account yet. The page of the first one asks for the set-up token %s", token)


def is_setup_token(text: str) -> bool:
    """Return whether this is the set-up token, however it was spaced and capitalised."""
    letters = "".join(ch for ch in text.lower() if ch.isalnum())
    return hmac.compare_digest(letters.encode(), setup_token().replace("-", "").encode())


_PROXY_HEADERS = ("X-Forwarded-For", "X-Real-IP", "Forwarded", "Via")


def is_from_loopback() -> bool:
    """Return whether the request comes from this machine, and not through a proxy."""
    is_passed_on = any(name in request.headers for name in _PROXY_HEADERS)
    return not is_passed_on and _is_loopback(request.remote_addr or "")


def is_local_request() -> bool:
    """Return whether a request from this machine names it: another site's name may lead here, too (DNS rebinding)."""
    host = urlsplit(f"//{request.host}").hostname or ""
    is_own_name = host == "localhost" or host.endswith(".localhost") or _is_loopback(host)
    return is_own_name and is_from_loopback()


def _is_loopback(text: str) -> bool:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback
