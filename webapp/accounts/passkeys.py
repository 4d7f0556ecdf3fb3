"""Passkeys (WebAuthn): added, recognised, renamed, removed; one replaces password and second step.

The library is loaded on first use: 25 MB that most processes never need.
"""

import hashlib
import json
import secrets
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from webapp.accounts import service, signals
from webapp.accounts.models import Passkey, User
from webapp.db.base import add_row, count_rows, db, delete_row, now, own_row
from webapp.errors import Conflict, Invalid, Unauthenticated, require
from webapp.extensions import redis

SITE = "Commonplace"
CHALLENGE_SECONDS = 300
MAX_PASSKEYS = 20
MAX_CREDENTIAL = 20_000
_FAILED = "The passkey could not be used. Try again, or sign in with your password."


@dataclass(frozen=True, slots=True)
class RelyingParty:
    """This site as passkeys know it: its domain, and its origin as the browser gives it."""

    domain: str
    origin: str


def new_challenge() -> str:
    """Return a challenge that can be answered once, within minutes, as base64url."""
    challenge = secrets.token_urlsafe(32)
    redis().set(f"passkey:{challenge}", b"1", ex=CHALLENGE_SECONDS)
    return challenge


def options_to_add(user: User, site: RelyingParty, challenge: str) -> str:
    """Return what the browser is asked to create, as JSON. Raises Conflict if there are already too many."""
    import webauthn  # noqa: PLC0415  (see above, as in all that follow)
    from webauthn.helpers import structs  # noqa: PLC0415

    existing = list_passkeys(user.user_id)
    if len(existing) >= MAX_PASSKEYS:
        raise Conflict("You already have %(most)s passkeys. Remove one first.", most=MAX_PASSKEYS)
    options = webauthn.generate_registration_options(
        rp_id=site.domain,
        rp_name=SITE,
        user_id=_handle(user.user_id),
        user_name=user.email,
        user_display_name=user.name or user.email,
        challenge=challenge.encode(),
        authenticator_selection=structs.AuthenticatorSelectionCriteria(
            resident_key=structs.ResidentKeyRequirement.REQUIRED,
            user_verification=structs.UserVerificationRequirement.REQUIRED,
        ),
        exclude_credentials=[structs.PublicKeyCredentialDescriptor(id=passkey.credential_id) for passkey in existing],
    )
    return webauthn.options_to_json(options)


def add(user_id: int, name: str, credential: str, site: RelyingParty, challenge: str) -> Passkey:
    """Keep the passkey a browser created. Raises Invalid."""
    import webauthn  # noqa: PLC0415

    _use(challenge)
    try:
        registration = webauthn.verify_registration_response(
            credential=_parse(credential),
            expected_challenge=challenge.encode(),
            expected_rp_id=site.domain,
            expected_origin=site.origin,
            require_user_verification=True,
        )
    except Exception as error:  # the library raises many kinds for what a browser, or somebody else, sends
        raise Invalid("The passkey could not be added. Please try again.") from error
    if db.session.scalar(
        select(Passkey.passkey_id).where(Passkey.credential_hash == _digest(registration.credential_id))
    ):
        raise Invalid("This passkey has already been added.")
    if count(user_id) >= MAX_PASSKEYS:
        raise Conflict("You already have %(most)s passkeys. Remove one first.", most=MAX_PASSKEYS)
    passkey = Passkey(
        user_id=user_id,
        name=_name(name),
        credential_hash=_digest(registration.credential_id),
        credential_id=registration.credential_id,
        public_key=registration.credential_public_key,
        sign_count=registration.sign_count,
    )
    add_row(passkey)
    signals.note(user_id, "passkey_added", passkey.name)
    return passkey


def options_to_sign_in(site: RelyingParty, challenge: str) -> str:
    """Return what the browser is asked to sign, as JSON; it offers whatever passkeys of this site it knows."""
    import webauthn  # noqa: PLC0415
    from webauthn.helpers import structs  # noqa: PLC0415

    options = webauthn.generate_authentication_options(
        rp_id=site.domain,
        challenge=challenge.encode(),
        user_verification=structs.UserVerificationRequirement.REQUIRED,
    )
    return webauthn.options_to_json(options)


def recognise(credential: str, site: RelyingParty, challenge: str) -> User:
    """Return the user whose passkey signed the challenge. Raises Unauthenticated, also for a copied passkey."""
    import webauthn  # noqa: PLC0415
    from webauthn.helpers import base64url_to_bytes  # noqa: PLC0415

    try:
        _use(challenge)
        assertion = _parse(credential)
        digest = _digest(base64url_to_bytes(str(assertion["rawId"])))
        passkey = db.session.scalar(select(Passkey).where(Passkey.credential_hash == digest).with_for_update())
        handle = (assertion.get("response") or {}).get("userHandle")
        if passkey is None or (handle and base64url_to_bytes(str(handle)) != _handle(passkey.user_id)):
            raise Unauthenticated(_FAILED)
        verification = webauthn.verify_authentication_response(
            credential=assertion,
            expected_challenge=challenge.encode(),
            expected_rp_id=site.domain,
            expected_origin=site.origin,
            credential_public_key=passkey.public_key,
            credential_current_sign_count=passkey.sign_count,
            require_user_verification=True,
        )
    except Exception as error:
        raise Unauthenticated(_FAILED) from error
    user = db.session.get(User, passkey.user_id)
    if user is None or not service.may_sign_in(user):
        raise Unauthenticated(_FAILED)
    passkey.sign_count, passkey.last_used_at, user.last_seen_at = verification.new_sign_count, now(), now()
    db.session.flush()
    return user


def list_passkeys(user_id: int) -> list[Passkey]:
    """Return a user's passkeys, oldest first."""
    return list(db.session.scalars(select(Passkey).where(Passkey.user_id == user_id).order_by(Passkey.passkey_id)))


def count(user_id: int) -> int:
    """Return how many passkeys a user has."""
    return count_rows(Passkey.user_id == user_id)


def rename(user_id: int, passkey_id: int, name: str) -> Passkey:
    """Rename a passkey. Raises NotFound."""
    passkey = _get_passkey(user_id, passkey_id)
    passkey.name = _name(name)
    db.session.flush()
    return passkey


def remove(user_id: int, passkey_id: int) -> None:
    """Remove a passkey, which then signs nobody in. Raises NotFound."""
    passkey = _get_passkey(user_id, passkey_id)
    signals.note(user_id, "passkey_removed", passkey.name)
    delete_row(passkey)


def _get_passkey(user_id: int, passkey_id: int) -> Passkey:
    return require(own_row(Passkey, user_id, passkey_id), "There is no such passkey.")


def _use(challenge: str) -> None:
    if not challenge or redis().getdel(f"passkey:{challenge}") is None:
        raise Invalid("That took too long. Please try again.")


def _parse(credential: str) -> dict[str, Any]:
    try:
        data = json.loads(credential[:MAX_CREDENTIAL])
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        raise Invalid("The browser sent no passkey.")
    return data


def _name(text: str) -> str:
    return " ".join(text.split())[:100] or "Passkey"


def _handle(user_id: int) -> bytes:
    """Return what the authenticator knows the account by: nothing that says who it is."""
    return str(user_id).encode()


def _digest(credential_id: bytes) -> str:
    return hashlib.sha256(credential_id).hexdigest()
