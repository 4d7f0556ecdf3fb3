"""The settings of the whole site, and its first account, which is the admin."""

import base64
import hashlib
import hmac
import ipaddress
import logging
from typing import Any
from urllib.parse import urlsplit

from flask import Flask, request
from sqlalchemy import select

from webapp.accounts.models import SiteSetting, User
from webapp.db.base import db
from webapp.extensions import Part, app_settings

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


log = logging.getLogger(__name__)

GROUP, GROUPS = 4, 5


class FirstAccount:
    """The set-up token, which the first account takes from elsewhere than this machine."""

    def __init__(self, app: Flask) -> None:
        self._app = app
        self._is_logged = False

    @property
    def token(self) -> str:
        """Return the token of this installation, in groups that can be typed: 100 bits."""
        digest = hmac.new(str(self._app.config["SECRET_KEY"]).encode(), b"first account", hashlib.sha256).digest()
        letters = base64.b32encode(digest).decode().lower()
        return "-".join(letters[start : start + GROUP] for start in range(0, GROUP * GROUPS, GROUP))

    def needs_token(self) -> bool:
        """Return whether the token is asked for in the current request; the first time that it is, log it."""
        if is_local_request() or has_users():
            return False
        if not self._is_logged:
            self._is_logged = True
            log.warning("There is no account yet. The page of the first one asks for the set-up token %s", self.token)
        return True

    def is_right(self, secret: str) -> bool:
        """Return whether this is the token, however it was spaced and capitalised."""
        letters = "".join(ch for ch in secret.lower() if ch.isalnum())
        return hmac.compare_digest(letters.encode(), self.token.replace("-", "").encode())


first_account: Part[FirstAccount] = Part("first_account")


def init_first_account(app: Flask) -> None:
    """Prepare to ask for the set-up token."""
    first_account.put(app, FirstAccount(app))


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
