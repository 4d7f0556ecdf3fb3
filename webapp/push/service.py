"""Browsers of a user that are notified, and the key by which they know this installation (VAPID, RFC 8292)."""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Sequence
from functools import lru_cache

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from flask import current_app
from sqlalchemy import delete, select

from webapp.accounts.models import User
from webapp.db.base import count_rows, db, get_or_raise
from webapp.db.encryption import digest_of
from webapp.errors import Invalid, TooMany
from webapp.extensions import app_settings
from webapp.network import outbound
from webapp.push.models import PushSubscription

MAX_BROWSERS = 30
"""Browsers of a person."""
_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
"""The order of the curve P-256 (FIPS 186-5): private keys are below it."""


def list_subscriptions(user_id: int) -> Sequence[PushSubscription]:
    """Return a user's browsers, the latest first."""
    statement = select(PushSubscription).where(PushSubscription.user_id == user_id)
    return db.session.scalars(statement.order_by(PushSubscription.subscription_id.desc())).all()


def subscribe(user_id: int, session_id: int, endpoint: str, p256dh: str, auth: str) -> PushSubscription:
    """Notify a browser, with these keys, as long as its session lasts. Raises Invalid, TooMany."""
    outbound.check_outside_url("endpoint", endpoint, app_settings().outbound_allowed)
    _check_keys(p256dh, auth)
    get_or_raise(User, user_id, lock=True)
    digest = digest_of(endpoint)
    row = db.session.scalar(select(PushSubscription).where(PushSubscription.digest == digest).with_for_update())
    if row is None:
        if count_rows(PushSubscription.user_id == user_id) >= MAX_BROWSERS:
            raise TooMany("You are notified in too many browsers already.")
        row = PushSubscription(digest=digest, endpoint=endpoint)
        db.session.add(row)
    row.user_id, row.session_id, row.p256dh, row.auth = user_id, session_id, p256dh, auth
    db.session.flush()
    return row


def unsubscribe(user_id: int, endpoint: str) -> None:
    """Notify a browser no more; nothing happens if it is not known."""
    conditions = (PushSubscription.user_id == user_id, PushSubscription.digest == digest_of(endpoint))
    db.session.execute(delete(PushSubscription).where(*conditions))


def public_key() -> str:
    """Return the key that browsers subscribe with, as they take it."""
    point = _key().public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    return base64.urlsafe_b64encode(point).rstrip(b"=").decode()


def key_pair() -> tuple[bytes, bytes]:
    """Return the private and the public key in PEM."""
    private = _key().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return private, _key().public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def _key() -> ec.EllipticCurvePrivateKey:
    return _key_of(current_app.config["SECRET_KEY"])


@lru_cache(maxsize=1)
def _key_of(secret: str) -> ec.EllipticCurvePrivateKey:
    """Derive the private key from the installation's secret: nothing is stored, and every process has the same."""
    number = int.from_bytes(hmac.digest(secret.encode(), b"web push", hashlib.sha512))
    return ec.derive_private_key(number % (_ORDER - 1) + 1, ec.SECP256R1())


def _check_keys(p256dh: str, auth: str) -> None:
    try:
        ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), _decode(p256dh))
    except (ValueError, binascii.Error):
        raise Invalid.field("keys.p256dh", "is not a key of a browser") from None
    try:
        if len(_decode(auth)) != 16:
            raise ValueError
    except (ValueError, binascii.Error):
        raise Invalid.field("keys.auth", "is not a secret of a browser") from None


def _decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
