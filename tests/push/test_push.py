"""Notifications: whose browsers get which, encrypted, once, and when they stop."""

import base64
import json
import os
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from flask import Flask
from joserfc import jwt
from joserfc.jwk import ECKey

from testkit.people import ApiClient, Person, page_token
from tests.conversations.rows import add_conversation, add_messages
from tests.conversations.test_api import assert_problem
from tests.webhooks import test_webhooks
from webapp.accounts.models import User, UserSession
from webapp.conversations.models import Conversation
from webapp.db.base import db, now, write_transaction
from webapp.push import delivery, service
from webapp.push.models import PushSubscription

PLACE = "/api/push/subscriptions"


class Browser:
    """A browser's part: its keys, and reading what it is sent (RFC 8291)."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint, self.key, self.secret = endpoint, ec.generate_private_key(ec.SECP256R1()), os.urandom(16)

    @property
    def point(self) -> bytes:
        return self.key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)

    def subscription(self) -> dict[str, Any]:
        keys = {"p256dh": encode(self.point), "auth": encode(self.secret)}
        return {"endpoint": self.endpoint, "expirationTime": None, "keys": keys}

    def read(self, body: bytes) -> dict[str, Any]:
        salt, length = body[:16], body[20]
        theirs, sealed = body[21 : 21 + length], body[21 + length :]
        shared = self.key.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), theirs))
        secret = derive(shared, self.secret, b"WebPush: info\0" + self.point + theirs, 32)
        key = derive(secret, salt, b"Content-Encoding: aes128gcm\0", 16)
        nonce = derive(secret, salt, b"Content-Encoding: nonce\0", 12)
        return json.loads(AESGCM(key).decrypt(nonce, sealed, None).rstrip(b"\x02"))


def encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def derive(secret: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    return HKDF(hashes.SHA256(), length, salt, info).derive(secret)


@pytest.fixture
def page(login: Callable, user: Person) -> Any:
    return login(user)


receiver = test_webhooks.receiver


def subscribe(page: Any, browser: Browser, **changes: Any) -> Any:
    token = page_token(page)
    return page.post(PLACE, json={**browser.subscription(), **changes}, headers={"X-CSRFToken": token})


def scheduled_reply(client: ApiClient, run_jobs: Callable) -> tuple[int, int]:
    """A reply that a schedule brought: its conversation and id."""
    body = {"prompt": "How was my week?", "title": "Review", "at": "2036-12-01T18:00"}
    made = client.post("/api/schedules", json=body).json
    client.post(f"/api/schedules/{made['schedule_id']}/run")
    run_jobs(failures=True)
    (run,) = client.get(f"/api/schedules/{made['schedule_id']}/runs").json["runs"]
    assert run["status"] == "done"
    return run["conversation_id"], run["message_id"]


def test_a_reply_that_nobody_saw_reaches_the_browser_and_tells_nothing(client, page, receiver, run_jobs):
    browser = Browser(receiver.url)
    assert subscribe(page, browser).status_code == 201
    conversation_id, reply_id = scheduled_reply(client, run_jobs)
    ((headers, body),) = receiver.got
    assert browser.read(body) == {
        "title": "Review", "body": "The reply is done.", "tag": f"turn-{reply_id}", "place": f"/c/{conversation_id}",
    }  # fmt: skip
    assert headers["content-encoding"] == "aes128gcm" and int(headers["ttl"]) == 86_400
    token, _, key = headers["authorization"].removeprefix("vapid t=").partition(", k=")
    assert key == client.get("/api/push").json["public_key"]
    claims = jwt.decode(token, ECKey.import_key(point_to_jwk(key)), algorithms=["ES256"]).claims
    assert claims["sub"].startswith("mailto:") and claims["aud"] == receiver.url.removesuffix("/hook")


def point_to_jwk(key: str) -> dict[str, str]:
    point = base64.urlsafe_b64decode(key + "=")
    return {"kty": "EC", "crv": "P-256", "x": encode(point[1:33]), "y": encode(point[33:])}


def unread(app: Flask, user: Person) -> tuple[int, int]:
    """A reply that nobody has looked at: its conversation and id."""
    conversation_id = add_conversation(app, user.user_id, seen_at=now() - timedelta(days=1))
    return conversation_id, add_messages(app, conversation_id, 2)[1]


def test_what_was_seen_or_deleted_is_not_told(app, user, page, receiver):
    conversation_id, reply_id = unread(app, user)
    subscribe(page, Browser(receiver.url))
    with app.app_context():
        assert delivery.notify(reply_id) == 1
        with write_transaction():
            db.session.get_one(Conversation, conversation_id).seen_at = now() + timedelta(seconds=1)
        assert delivery.notify(reply_id) == 0, "it was looked at"
        with write_transaction():
            row = db.session.get_one(Conversation, conversation_id)
            row.seen_at, row.deleted_at = now() - timedelta(days=1), now()
        assert delivery.notify(reply_id) == delivery.notify(999_999) == 0
    assert len(receiver.got) == 1


@pytest.mark.parametrize("ends", ["signed out", "expired", "password changed", "account stopped", "switched off"])
def test_it_ends_with_the_session_in_which_it_was_asked_for(app, user, page, receiver, ends):
    browser = Browser(receiver.url)
    subscribe(page, browser)
    _, reply_id = unread(app, user)
    if ends == "signed out":
        page.post("/logout", data={"csrf_token": page_token(page)})
    elif ends == "switched off":
        token = page_token(page)
        for _ in range(2):
            gone = page.delete(PLACE, json={"endpoint": browser.endpoint}, headers={"X-CSRFToken": token})
            assert gone.status_code == 204
    with app.app_context():
        with write_transaction():
            row = db.session.get_one(User, user.user_id)
            if ends == "expired":
                db.session.query(UserSession).update({"expires_at": now() - timedelta(seconds=1)})
            elif ends == "password changed":
                row.auth_version += 1
            elif ends == "account stopped":
                row.is_active = False
        assert delivery.notify(reply_id) == 0
    assert receiver.got == []


def test_a_browser_that_is_gone_is_not_asked_again_and_one_that_is_away_is(app, user, page, receiver):
    _, reply_id = unread(app, user)
    cases = {201: True, 500: True, 429: True, 410: False, 404: False, 403: False, None: True}
    for status, stays in cases.items():
        answer = subscribe(page, Browser(receiver.url if status else "http://127.0.0.1:9/push"))
        receiver.status = status or 201
        with app.app_context():
            if status in (429, 500, None):
                with pytest.raises(delivery.PushUnavailable):
                    delivery.notify(reply_id)
            else:
                assert delivery.notify(reply_id) == (status == 201), status
            kept = db.session.get(PushSubscription, answer.json["subscription_id"])
            assert (kept is not None) is stays, status
            with write_transaction():
                db.session.query(PushSubscription).delete()


def test_while_one_browser_is_away_the_others_are_notified_once(app, user, page, receiver, run_jobs):
    _, reply_id = unread(app, user)
    subscribe(page, Browser(receiver.url))
    away = subscribe(page, Browser("http://127.0.0.1:9/push")).json["subscription_id"]
    with app.app_context():
        assert delivery.notify(reply_id) == 2
    jobs = run_jobs(failures=True)
    assert {job.kwargs["subscription_id"] for job in jobs if job.retries_left} >= {away}
    with app.app_context(), pytest.raises(delivery.PushUnavailable):
        delivery.notify(reply_id, away)
    assert len(receiver.got) == 1


def test_it_moves_with_the_browser_to_another_account(client, page, login, make_user):
    browser = Browser("https://example.org/push")
    first = subscribe(page, browser).json
    assert [row["subscription_id"] for row in client.get("/api/push").json["subscriptions"]] == [
        first["subscription_id"]
    ]
    other = login(make_user())
    assert subscribe(other, browser).json["subscription_id"] == first["subscription_id"]
    assert client.get("/api/push").json["subscriptions"] == []


def test_what_is_no_subscription_is_refused(page):
    browser, secret = Browser("https://example.org/push"), encode(b"x" * 16)
    points = ("AAAA", encode(b"\4" + b"x" * 64), "é")
    odd: list[dict[str, Any]] = [{"keys": {}}, *({"keys": {"p256dh": point, "auth": secret}} for point in points)]
    odd += [{"keys": {"p256dh": encode(browser.point), "auth": auth}} for auth in ("AAAA", "*", "é")]
    odd += [{"endpoint": "not a url"}, {"endpoint": "http://127.0.0.1:9/push"}]
    odd += [{"endpoint": "https://router.lan/push"}, {"endpoint": "https://user:secret@example.org/push"}]
    for changes in odd:
        assert subscribe(page, browser, **changes).status_code == 422, changes


def test_too_many_are_refused(page, monkeypatch):
    browser = Browser("https://example.org/push")
    monkeypatch.setattr(service, "MAX_BROWSERS", 1)
    assert subscribe(page, browser).status_code == subscribe(page, browser).status_code == 201
    assert_problem(subscribe(page, Browser("https://example.org/another")), 429)


def test_the_key_follows_from_the_secret(app, monkeypatch):
    with app.app_context():
        first = service.public_key()
        assert first == service.public_key() and len(base64.urlsafe_b64decode(first + "=")) == 65
        monkeypatch.setitem(app.config, "SECRET_KEY", "another secret, also long enough")
        assert service.public_key() != first
