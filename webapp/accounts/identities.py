"""Accounts of people an OpenID provider vouches for: its claims, as providers differ in them, and whose they are."""

import json
import secrets
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from flask import session
from sqlalchemy import delete, select

from webapp.accounts import service
from webapp.accounts.emails import spelling
from webapp.accounts.models import User, UserIdentity
from webapp.accounts.schemas import Registration, UserChanges
from webapp.config import Settings
from webapp.db.base import add_row, db, now, rows_changed
from webapp.errors import Conflict, Forbidden, Invalid, NotFound
from webapp.i18n.marks import N_

MAX_SUBJECT = 255


@dataclass(frozen=True, slots=True)
class ProviderClaims:
    """A provider's claims; `is_email_verified` and `groups` are None where it does not say."""

    issuer: str
    subject: str
    email: str = ""
    is_email_verified: bool | None = None
    name: str = ""
    groups: frozenset[str] | None = frozenset()

    @classmethod
    def of(cls, issuer: str, claims: Mapping[str, Any], settings: Settings) -> "ProviderClaims":
        """Return the identity that an ID token claims. Raises Forbidden if it does not say who it is."""
        subject = claims.get("sub")
        subject = str(subject) if isinstance(subject, str | int) and not isinstance(subject, bool) else ""
        if not subject.strip() or len(subject) > MAX_SUBJECT:
            raise Forbidden("The provider did not say who you are (sub). Ask an admin.")
        if subject.endswith(" "):  # MariaDB and MySQL compare without them: it could be somebody else's
            raise Forbidden("The provider's name for you (sub) ends with a space, which is not accepted. Ask an admin.")
        parts = " ".join(text for name in ("given_name", "family_name") for text in _texts(claims.get(name)))
        people = (
            text for value in (claims.get("name"), parts, claims.get("preferred_username")) for text in _texts(value)
        )
        verified = find_claim(claims, settings.oidc_email_verified_claim)
        otherwise = True if settings.oidc_email_verified == "always" else None
        return cls(
            issuer=issuer,
            subject=subject,
            email=find_email(claims, settings),
            is_email_verified=otherwise if verified is None else _is_true(verified),
            name=next(filter(None, people), "")[:200],
            groups=_groups(claims, settings.oidc_groups_claim),
        )


def find_email(claims: Mapping[str, Any], settings: Settings) -> str:
    """Return the address in the first claim of the admin's list that holds one, or nothing."""
    names = (name.strip() for name in settings.oidc_email_claim.split(","))
    texts = (text.strip() for name in names for text in _texts(find_claim(claims, name)))
    return next((text for text in texts if "@" in text), "")


def find_claim(claims: Mapping[str, Any], name: str) -> Any:
    """Return the claim of a name; one with points in its name may be within others: `realm_access.roles`."""
    if name in claims:
        return claims[name]
    inner = (key for key, value in claims.items() if name.startswith(f"{key}.") and isinstance(value, Mapping))
    found = (find_claim(claims[key], name.removeprefix(f"{key}.")) for key in inner)
    return next((value for value in found if value is not None), None)


def _texts(value: Any) -> list[str]:
    """Return the texts in a claim: some providers send a list of one."""
    return [text for text in (value if isinstance(value, list) else [value]) if isinstance(text, str)]


def _is_true(value: Any) -> bool:
    return value == 1 or (isinstance(value, str) and value.strip().lower() in ("true", "1"))


def _groups(claims: Mapping[str, Any], name: str) -> frozenset[str] | None:
    """Return the groups that are named, those given as a path (Keycloak's "/staff") also without the first slash."""
    sources = claims.get("_claim_names")
    # Entra names a place to ask instead of more than 200 groups.
    if (isinstance(sources, Mapping) and name in sources) or claims.get("hasgroups"):
        return None
    value = find_claim(claims, name)
    if value is None or value == "":
        return frozenset()
    if isinstance(value, str) and value.startswith("["):
        with suppress(ValueError, RecursionError):
            value = json.loads(value)
    groups = [value] if isinstance(value, str) else value
    if not isinstance(groups, list) or not all(isinstance(group, str) for group in groups):
        return None
    return frozenset(name for group in groups for name in (group, group.removeprefix("/")))


class UnprovenIdentity(Forbidden):
    """Somebody whose address has an account that may be another person's: they prove it by signing in to it."""

    def __init__(self) -> None:
        super().__init__(
            N_(
                "There is already an account with your e-mail address, and it may be somebody else’s. If it is yours, "
                "sign in to it with its password now: from then on, you can sign in to it this way too."
            )
        )


def user_of(provider_claims: ProviderClaims, *, creates: bool, admin_group: str) -> User:
    """Return the account of this person, who may sign in: known, taken over by its verified address, or new.

    With an `admin_group`, exactly its members are admins, once they are in, if the provider says who is in it. The
    caller commits. Raises Forbidden, with a sentence for them, and UnprovenIdentity.
    """
    user = (
        _user_of_identity(provider_claims)
        or _user_of_email(provider_claims)
        or (_create(provider_claims) if creates else None)
    )
    if user is None:
        raise Forbidden("There is no account for you here yet. Ask an admin for one.")
    if not service.may_sign_in(user):
        raise Forbidden("This account is deactivated. Ask an admin.")
    roles = provider_claims.groups if admin_group and user.is_active else None
    if roles is not None and user.is_admin != (admin_group in roles):
        with suppress(Conflict):  # the last admin stays one, or nobody could look after the site
            service.update_user(user.user_id, UserChanges(is_admin=not user.is_admin))
    user.last_seen_at = now()
    db.session.flush()
    return user


def issuers_of(user_id: int) -> list[str]:
    """Return the providers at which somebody can sign in to this account."""
    statement = select(UserIdentity.issuer).where(UserIdentity.user_id == user_id).distinct()
    return list(db.session.scalars(statement.order_by(UserIdentity.issuer)))


def unlink_providers(user_id: int) -> int:
    """Unlink an account from all providers; return how many there were."""
    return rows_changed(delete(UserIdentity).where(UserIdentity.user_id == user_id))


def _user_of_identity(provider_claims: ProviderClaims) -> User | None:
    return db.session.scalar(
        select(User)
        .join(UserIdentity, UserIdentity.user_id == User.user_id)
        .where(UserIdentity.issuer == provider_claims.issuer, UserIdentity.subject == provider_claims.subject)
    )


def _user_of_email(provider_claims: ProviderClaims) -> User | None:
    """Return the unlinked account with their address, if it is verified there and here; None if no account has it.

    Raises Forbidden, UnprovenIdentity.
    """
    if not provider_claims.email:
        raise Forbidden(
            "The provider did not send your e-mail address (email). Ask an admin: OIDC_SCOPE asks for it, and "
            "OIDC_EMAIL_CLAIM names the claim that has it."
        )
    if provider_claims.is_email_verified is False:
        raise _email_unverified()
    try:
        user = service.find_user(provider_claims.email)
    except NotFound:
        return None
    if not provider_claims.is_email_verified:
        raise _email_unverified()
    if user.email_verified_at is None or provider_claims.issuer in issuers_of(user.user_id):
        raise UnprovenIdentity()
    _remember(user, provider_claims.issuer, provider_claims.subject)
    return user


def _create(provider_claims: ProviderClaims) -> User:
    try:
        # A password that nobody knows: they sign in over there.
        fields = Registration(
            email=provider_claims.email, name=provider_claims.name, password=secrets.token_urlsafe(24)
        )
        user = service.create_user(fields, is_verified=bool(provider_claims.is_email_verified))
    except (ValueError, Invalid):
        raise Forbidden("Your address cannot be used for an account here. Ask an admin for one.") from None
    _remember(user, provider_claims.issuer, provider_claims.subject)
    return user


def _remember(user: User, issuer: str, subject: str) -> None:
    add_row(UserIdentity(user_id=user.user_id, issuer=issuer, subject=subject))


def _email_unverified() -> Forbidden:
    return Forbidden(
        "The provider does not say that your e-mail address is verified (email_verified). Verify it there, or ask an "
        "admin: OIDC_EMAIL_VERIFIED=always trusts a provider that never says so."
    )


PENDING_LINK = "link_pending"
"""Whom a provider vouched for in this browser, kept in its session until they sign in."""
SECONDS = 600


def remember_claims(provider_claims: ProviderClaims) -> None:
    """Keep somebody until they sign in, for ten minutes."""
    session[PENDING_LINK] = {
        "issuer": provider_claims.issuer,
        "subject": provider_claims.subject,
        "email": provider_claims.email,
        "at": int(time.time()),
    }


def link_pending(user: User, pending: dict[str, Any] | None) -> None:
    """Link whoever waited to the account that has just been signed in to, if it is the one with their address."""
    if not pending or time.time() - pending["at"] >= SECONDS or spelling(pending["email"]) != user.email:
        return
    if _user_of_identity(ProviderClaims(pending["issuer"], pending["subject"])) is None:
        _remember(user, pending["issuer"], pending["subject"])
        user.email_verified_at = user.email_verified_at or now()
