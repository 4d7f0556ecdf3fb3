"""Accounts of people an OpenID provider vouches for."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from webapp.accounts import service
from webapp.accounts.models import User, UserIdentity
from webapp.accounts.schemas import Registration, UserChanges
from webapp.database import db, now
from webapp.errors import Conflict, Forbidden, Invalid, NotFound


@dataclass(frozen=True, slots=True)
class Vouched:
    """What a provider says about somebody; if it names no groups, they are in none."""

    issuer: str
    subject: str
    email: str = ""
    is_email_verified: bool = False
    name: str = ""
    groups: frozenset[str] = frozenset()

    @classmethod
    def of(cls, issuer: str, claims: Mapping[str, Any], groups_claim: str) -> Vouched:
        """From the claims of an ID token."""
        groups = claims.get(groups_claim) or []
        return cls(
            issuer=issuer,
            subject=str(claims["sub"]),
            email=str(claims.get("email") or ""),
            is_email_verified=claims.get("email_verified") is True,
            name=str(claims.get("name") or claims.get("preferred_username") or "")[:200],
            groups=frozenset(map(str, groups if isinstance(groups, list) else [groups])),
        )


def user_of(vouched: Vouched, *, creates: bool, admin_group: str) -> User:
    """The account of this person, who may sign in: known, taken over by its verified address, or new.

    With an `admin_group`, exactly its members are admins, once they are in. The caller commits. Raises Forbidden,
    with a sentence for them.
    """
    user = _known(vouched) or _linked(vouched) or (_created(vouched) if creates else None)
    if user is None:
        raise Forbidden("There is no account for you here yet. Ask an admin for one.")
    if not service.may_sign_in(user):
        raise Forbidden("This account is deactivated. Ask an admin.")
    if admin_group and user.is_active and user.is_admin != (admin_group in vouched.groups):
        with suppress(Conflict):  # the last admin stays one, or nobody could look after the site
            service.update_user(user.user_id, UserChanges(is_admin=not user.is_admin))
    user.last_seen_at = now()
    db.session.flush()
    return user


def _known(vouched: Vouched) -> User | None:
    return db.session.scalar(
        select(User)
        .join(UserIdentity, UserIdentity.user_id == User.user_id)
        .where(UserIdentity.issuer == vouched.issuer, UserIdentity.subject == vouched.subject)
    )


def _linked(vouched: Vouched) -> User | None:
    """The account with their address; only a verified one proves that it is theirs."""
    if not vouched.email or not vouched.is_email_verified:
        return None
    try:
        user = service.find_user(vouched.email)
    except NotFound:
        return None
    _remember(user, vouched)
    return user


def _created(vouched: Vouched) -> User:
    try:
        # A password that nobody knows: they sign in over there.
        fields = Registration(email=vouched.email, name=vouched.name, password=secrets.token_urlsafe(24))
        user = service.create_user(fields)
    except (ValueError, Invalid):
        raise Forbidden("Your address cannot be used for an account here. Ask an admin for one.") from None
    _remember(user, vouched)
    return user


def _remember(user: User, vouched: Vouched) -> None:
    db.session.add(UserIdentity(user_id=user.user_id, issuer=vouched.issuer, subject=vouched.subject))
    db.session.flush()
