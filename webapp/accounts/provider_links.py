"""Linking somebody at a provider to the account with their address: after they signed in to it in the same browser."""

import time
from typing import Any

from flask import session

from webapp.accounts import identities
from webapp.accounts.models import User
from webapp.accounts.provider_claims import ProviderClaims

WAITING = "link_waiting"
"""Whom a provider vouched for in this browser, kept in its session until they sign in."""
SECONDS = 600


def wait(vouched: ProviderClaims) -> None:
    """Keep somebody until they sign in, for ten minutes."""
    session[WAITING] = {
        "issuer": vouched.issuer,
        "subject": vouched.subject,
        "email": vouched.email,
        "at": int(time.time()),
    }


def link(user: User, waiting: dict[str, Any] | None) -> None:
    """Link whoever waited to the account that has just been signed in to, if it is the one with their address."""
    if waiting and time.time() - waiting["at"] < SECONDS:
        identities.link(user, waiting["issuer"], waiting["subject"], waiting["email"])
