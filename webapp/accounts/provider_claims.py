"""Claims of OpenID providers about somebody, as providers differ in them; pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from webapp.errors import Forbidden

MAX_SUBJECT = 255
Trust = Literal["claim", "always"]


@dataclass(frozen=True, slots=True)
class ClaimNames:
    """Names of the claims that a provider uses. `emails`: those that may hold the address, of which the first counts.
    `trust`: whether an address of which it does not say that it is verified counts as verified."""

    emails: tuple[str, ...] = ("email",)
    verified: str = "email_verified"
    groups: str = "groups"
    trust: Trust = "claim"


@dataclass(frozen=True, slots=True)
class ProviderClaims:
    """A provider's claims about somebody.

    `is_email_verified`: None if it does not say. `groups`: empty if it names none, None if it has them elsewhere or in
    a form that cannot be read, so that nothing is known of them.
    """

    issuer: str
    subject: str
    email: str = ""
    is_email_verified: bool | None = None
    name: str = ""
    groups: frozenset[str] | None = frozenset()

    @classmethod
    def of(cls, issuer: str, claims: Mapping[str, Any], names: ClaimNames) -> ProviderClaims:
        """From the claims of an ID token. Raises Forbidden if they do not say who it is."""
        subject = claims.get("sub")
        if not isinstance(subject, str) or not subject.strip() or len(subject) > MAX_SUBJECT:
            raise Forbidden("The provider did not say who you are (sub). Ask an admin.")
        candidates = (find_claim(claims, name) for name in names.emails)
        email = next((value for value in candidates if isinstance(value, str) and "@" in value), "")
        verified = find_claim(claims, names.verified)
        return cls(
            issuer=issuer,
            subject=subject,
            email=email,
            is_email_verified=(True if names.trust == "always" else None) if verified is None else _is_true(verified),
            name=str(claims.get("name") or claims.get("preferred_username") or "")[:200],
            groups=_groups(claims, names.groups),
        )


def find_claim(claims: Mapping[str, Any], name: str) -> Any:
    """Return the claim of a name; one with points in its name may be within others: `realm_access.roles`."""
    if name in claims:
        return claims[name]
    first, point, rest = name.partition(".")
    inner = claims.get(first)
    return find_claim(inner, rest) if point and isinstance(inner, Mapping) else None


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
    groups = [value] if isinstance(value, str) else value
    if not isinstance(groups, list) or not all(isinstance(group, str) for group in groups):
        return None
    return frozenset(_names(groups))


def _names(names: list[str]) -> Iterator[str]:
    for group in names:
        yield group
        yield group.removeprefix("/")
