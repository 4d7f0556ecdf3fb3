"""Webhooks: what they are told and when, whose they are, what is tried again and what ends them."""

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask

from testkit.people import DEACTIVATIONS, ApiClient, deactivate, follow, post_form, reactivate
from tests.support.queries import execute, scalar, scalars
from tests.support.receiver import Receiver, run_receiver
from webapp.accounts import tokens
from webapp.accounts.models import User
from webapp.accounts.schemas import NewToken
from webapp.audit.models import AuditEvent
from webapp.background import events, time_slices
from webapp.background.events import Kind
from webapp.config import Settings
from webapp.db.base import db, now, write_transaction
from webapp.extensions import app_settings
from webapp.webhooks import delivery, service, signatures
from webapp.webhooks.models import Webhook, WebhookDelivery
from webapp.webhooks.schemas import ALL_KINDS, NewWebhook
from webapp.webhooks.signatures import RETRY_SECONDS


@pytest.fixture
def receiver(app: Flask, settings: Settings) -> Iterator[Receiver]:
    with run_receiver(app, settings) as server:
        yield server


def hook(client: ApiClient, url: str, **fields: Any) -> dict[str, Any]:
    answer = client.post("/api/webhooks", json={"url": url, **fields})
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.get_json()
    return found


def deliveries(app: Flask) -> list[tuple[str, str, int]]:
    with app.app_context():
        query = db.select(WebhookDelivery.kind, WebhookDelivery.status, WebhookDelivery.attempts)
        return [tuple(row) for row in db.session.execute(query.order_by(WebhookDelivery.delivery_id))]


def make_due(app: Flask) -> None:
    execute(app, db.update(WebhookDelivery).values(due_at=now() - timedelta(seconds=1)))


def talk(client: ApiClient, words: str = "Hello") -> dict[str, Any]:
    """A finished turn: its conversation and reply."""
    answer = client.post("/api/chat/stream", json={"message": words})
    events = [line.removeprefix("data: ") for line in answer.text.splitlines() if line.startswith("data: ")]
    found: dict[str, Any] = json.loads(events[0])
    return found


def test_what_is_told_is_signed(client, receiver, run_jobs):
    made = hook(client, receiver.url, kinds=["memory.changed"])
    memory = client.post("/api/memories", json={"memory_type": "fact", "content": "Keeps bees"}).get_json()
    run_jobs()
    ((headers, body),) = receiver.got
    key = base64.b64decode(made["secret"].removeprefix("whsec_"))
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{expected}"
    assert abs(int(headers["webhook-timestamp"]) - now().timestamp()) < 300
    told = json.loads(body)
    assert (told["type"], told["data"]["memory_ids"]) == ("memory.changed", [memory["memory_id"]])
    assert "bees" not in body.decode()
    assert made["secret"] not in client.get("/api/webhooks").text


def test_each_kind_is_told(client, receiver, model, run_jobs):
    model.script(match="Hello", reply="Good day.")
    hook(client, receiver.url, with_content=True)
    turn = talk(client)
    memory = client.post("/api/memories", json={"memory_type": "fact", "content": "Keeps bees"}).get_json()["memory_id"]
    run_jobs()
    talk_id, reply_id = turn["conversation_id"], turn["assistant_message_id"]
    told = dict(receiver.events())
    assert told["conversation.started"]["conversation_id"] == talk_id
    assert told["reply.finished"] == {
        "conversation_id": talk_id,
        "message_id": reply_id,
        "status": "complete",
        "content": "Good day.",
    }
    assert told["memory.changed"]["memories"] == [{"memory_id": memory, "content": "Keeps bees"}]
    client.delete(f"/api/memories/{memory}")
    client.delete(f"/api/conversations/{talk_id}")
    run_jobs()
    told = dict(receiver.events())
    assert told["memory.forgotten"]["memory_ids"] == [memory]
    assert told["conversation.deleted"] == {"conversation_id": talk_id}
    assert set(told) == {kind for kind in ALL_KINDS if not kind.startswith(("journey.", "schedule."))}


def test_a_summary_of_a_journey_is_told(client, app, receiver, user):
    hook(client, receiver.url, kinds=[Kind.JOURNEY_SUMMARISED])
    with app.app_context(), write_transaction():
        events.note(user.user_id, Kind.JOURNEY_SUMMARISED, {"conversation_id": 5})
    assert deliveries(app) == [("journey.summarised", "waiting", 0)]


def test_what_was_forgotten_meanwhile_is_not_told(client, receiver, model, run_jobs):
    model.script(match="bees", reply="Bees it is.")
    hook(client, receiver.url, with_content=True)
    turn = talk(client, "I keep bees")
    memory = client.post("/api/memories", json={"memory_type": "fact", "content": "Keeps bees"}).get_json()["memory_id"]
    assert client.delete(f"/api/memories/{memory}").status_code == 200
    assert client.delete(f"/api/conversations/{turn['conversation_id']}").status_code == 204
    run_jobs()
    assert len(receiver.got) >= 4
    for _, body in receiver.got:
        assert b"bees" not in body.lower()


def test_a_temporary_conversation_is_nobodys_business(client, app, receiver, model):
    model.script(reply="Yes.")
    hook(client, receiver.url)
    made = client.post("/api/conversations", json={"is_temporary": True}).get_json()["conversation_id"]
    client.post("/api/chat/stream", json={"message": "Hello", "conversation_id": made})
    client.delete(f"/api/conversations/{made}")
    assert deliveries(app) == []


def test_failures_are_tried_again_in_order_and_end_it(app, user, client, receiver, run_jobs):
    made = hook(client, receiver.url, kinds=["memory.changed"])
    receiver.status = 500
    for content in ("Keeps bees", "Plays the cello"):
        client.post("/api/memories", json={"memory_type": "fact", "content": content})
    run_jobs()
    client.post("/api/memories", json={"memory_type": "fact", "content": "Skis"})
    run_jobs()
    assert len(receiver.got) == 1  # the others wait behind the first
    assert deliveries(app) == [("memory.changed", "waiting", 1), *[("memory.changed", "waiting", 0)] * 2]
    make_due(app)
    receiver.status = 200
    with app.app_context():
        assert delivery.due_webhooks() == [made["webhook_id"]]
        assert delivery.deliver(made["webhook_id"]) == 3
        assert delivery.deliver(made["webhook_id"]) == 0
    ids = [headers["webhook-id"] for headers, _ in receiver.got]
    assert ids[0] == ids[1] != ids[2]
    receiver.status = 503
    client.post("/api/memories", json={"memory_type": "fact", "content": "Sails"})
    for _ in range(len(RETRY_SECONDS) + 1):
        make_due(app)
        with app.app_context():
            delivery.deliver(made["webhook_id"])
    found = client.get("/api/webhooks").get_json()["webhooks"][0]
    assert (found["is_active"], "answered 503" in found["disabled_reason"]) == (False, True)
    last = scalar(app, db.select(AuditEvent).order_by(AuditEvent.event_id.desc()))
    assert (last.user_id, last.action, last.actor_kind) == (user.user_id, "webhook_disabled", "system")
    count = len(receiver.got)
    client.post("/api/memories", json={"memory_type": "fact", "content": "Rows"})
    run_jobs()
    assert len(receiver.got) == count
    again = client.patch(f"/api/webhooks/{made['webhook_id']}", json={"is_active": True}).get_json()
    assert (again["is_active"], again["disabled_reason"]) == (True, None)
    receiver.status = 410  # gone
    client.post("/api/memories", json={"memory_type": "fact", "content": "Fishes"})
    run_jobs()
    assert client.get("/api/webhooks").get_json()["webhooks"][0]["is_active"] is False


def test_more_than_one_run_tells_is_told_by_the_next(app, client, receiver, run_jobs, monkeypatch):
    monkeypatch.setattr(time_slices, "SECONDS", 0)
    hook(client, receiver.url, kinds=["memory.changed"])
    for number in range(12):
        client.post("/api/memories", json={"memory_type": "fact", "content": f"Lived at number {number}"})
    run_jobs()
    assert len(receiver.got) == 12
    assert {status for _, status, _ in deliveries(app)} == {"delivered"}


def test_a_worker_that_died_leaves_it_to_the_next(app, client, receiver):
    made = hook(client, receiver.url, kinds=["memory.changed"])
    client.post("/api/memories", json={"memory_type": "fact", "content": "Keeps bees"})
    with app.app_context():
        with write_transaction():
            assert delivery._claim(made["webhook_id"]) is not None
        assert delivery.deliver(made["webhook_id"]) == 0  # somebody has it
    make_due(app)
    with app.app_context():
        assert delivery.deliver(made["webhook_id"]) == 1
    assert deliveries(app) == [("memory.changed", "delivered", 2)]


def test_addresses_within_are_refused(client):
    names = ("127.0.0.1:1", "localhost", "2130706433", "127.1", "printer.local", "169.254.169.254/latest")
    others = ("ftp://hooks.example/", "hooks.example", "https://u:p@hooks.example/")
    for url in (*(f"http://{name}/" for name in names), "https://10.0.0.1/x", "https://[::1]/", *others):
        answer = client.post("/api/webhooks", json={"url": url})
        assert (url, answer.status_code) == (url, 422)
        assert answer.get_json()["errors"][0]["loc"] == ["url"]


def test_an_address_that_turns_out_to_be_within_is_not_asked(app, client, receiver, settings):
    made = hook(client, receiver.url, kinds=["memory.changed"])
    app_settings.put(app, settings)
    client.post("/api/memories", json={"memory_type": "fact", "content": "Keeps bees"})
    with app.app_context():
        assert delivery.deliver(made["webhook_id"]) == 0
    assert receiver.got == []
    told = client.get(f"/api/webhooks/{made['webhook_id']}/deliveries").get_json()["deliveries"]
    assert "own network" in told[0]["answer"]


def test_what_is_no_webhook(client):
    odd = ({"kinds": []}, {"kinds": ["other"]}, {"with_content": "maybe"}, {"extra": 1})
    for fields in (*odd, {"url": None}, {"url": "x" * 1_001}):
        answer = client.post("/api/webhooks", json={"url": "https://hooks.example/", **fields})
        assert (fields, answer.status_code) == (fields, 422)


def test_one_made_by_a_token_ends_with_it(app, user, anonymous, client, receiver):
    with app.app_context(), write_transaction():
        row, secret = tokens.create_token(user.user_id, NewToken(name="script"))
        token_id = row.token_id
    made = anonymous.post(
        "/api/webhooks", json={"url": receiver.url}, headers={"Authorization": f"Bearer {secret}"}
    ).get_json()
    with app.app_context(), write_transaction():
        tokens.revoke_token(user.user_id, token_id)
    client.post("/api/memories", json={"memory_type": "fact", "content": "Keeps bees"})
    with app.app_context():
        assert delivery.deliver(made["webhook_id"]) == 0
    assert receiver.got == []
    assert "token" in client.get("/api/webhooks").get_json()["webhooks"][0]["disabled_reason"]


def test_a_token_does_not_take_over_anothers_webhook(app, user, anonymous, receiver):
    """Where it goes, and what signs it, would outlive the token."""
    with app.app_context(), write_transaction():
        secrets = [tokens.create_token(user.user_id, NewToken(name=name))[1] for name in ("one", "another")]
    full, other = ({"Authorization": f"Bearer {secret}"} for secret in secrets)
    with app.test_request_context(), write_transaction():
        fields = NewWebhook(url=receiver.url, with_content=True)
        by_hand = service.create_webhook(user.user_id, fields)[0].webhook_id
    elsewhere = {"url": receiver.url + "/elsewhere"}
    made = anonymous.post("/api/webhooks", json={"url": receiver.url}, headers=other).get_json()["webhook_id"]
    for number, headers in ((by_hand, full), (made, full)):
        path = f"/api/webhooks/{number}"
        assert anonymous.patch(path, json=elsewhere, headers=headers).status_code == 403, path
        assert anonymous.post(f"{path}/secret", json={}, headers=headers).status_code == 403, path
        assert anonymous.patch(path, json={"is_active": False}, headers=headers).status_code == 200, path
    assert anonymous.patch(f"/api/webhooks/{made}", json=elsewhere, headers=other).status_code == 200
    assert anonymous.post(f"/api/webhooks/{made}/secret", json={}, headers=other).status_code == 200
    assert set(scalars(app, db.select(Webhook.url))) == {receiver.url, elsewhere["url"]}


def test_the_page(app, receiver, run_jobs, browser):
    bad = post_form(browser, "/settings/webhooks", "/settings/webhooks", url="http://10.0.0.1/", kinds=ALL_KINDS)
    assert (bad.status_code, "own network" in bad.text) == (422, True)
    browser.set_cookie("language", "de")
    for url, german in {
        "http://10.0.0.1/": "liegt im eigenen Netz",
        "ftp://x.example/": "mit https:// oder http://",
    }.items():
        told = post_form(browser, "/settings/webhooks", "/settings/webhooks", url=url, kinds=ALL_KINDS)
        assert (told.status_code, german in told.text) == (422, True)
    browser.delete_cookie("language")
    assert post_form(browser, "/settings/webhooks", "/settings/webhooks", url=receiver.url).status_code == 422
    made = post_form(browser, "/settings/webhooks", "/settings/webhooks", url=receiver.url, kinds=ALL_KINDS)
    assert "whsec_" in follow(browser, made).text
    assert "whsec_" not in browser.get("/settings/webhooks").text
    number = scalar(app, db.select(Webhook.webhook_id))
    path = f"/settings/webhooks/{number}"
    assert post_form(browser, path, "/settings/webhooks", do="test").status_code == 303
    run_jobs()
    assert receiver.events() == [("ping", {})]
    assert "delivered" in browser.get(f"/settings/webhooks?show={number}").text
    assert "whsec_" in follow(browser, post_form(browser, path, "/settings/webhooks", do="secret")).text
    post_form(browser, path, "/settings/webhooks", do="off")
    assert "Switch on" in browser.get("/settings/webhooks").text
    post_form(browser, path, "/settings/webhooks", do="delete")
    assert receiver.url not in browser.get("/settings/webhooks").text


def test_a_turn_knows_without_asking(app, client, receiver, model):
    """Whether there are webhooks stands on the account, which the end of a turn reads anyway."""

    def has_webhooks() -> bool:
        return bool(scalar(app, db.select(User.has_webhooks).where(User.user_id == client.person.user_id)))

    model.script(reply="Yes.")
    assert has_webhooks() is False
    number = hook(client, receiver.url)["webhook_id"]
    assert has_webhooks() is True
    client.patch(f"/api/webhooks/{number}", json={"is_active": False})
    assert has_webhooks() is False
    talk(client)
    assert deliveries(app) == []
    client.patch(f"/api/webhooks/{number}", json={"is_active": True})
    client.delete(f"/api/webhooks/{number}")
    assert has_webhooks() is False


def test_what_is_past_goes(app, client, receiver, run_jobs):
    hook(client, receiver.url, kinds=["memory.changed"])
    client.post("/api/memories", json={"memory_type": "fact", "content": "Keeps bees"})
    run_jobs()
    with app.app_context(), write_transaction():
        db.session.execute(db.update(WebhookDelivery).values(created_at=now() - timedelta(days=15)))
        service.purge()
    assert deliveries(app) == []


@pytest.mark.parametrize("way", DEACTIVATIONS)
def test_nothing_is_sent_while_the_account_is_out_of_use_and_the_rest_afterwards(
    app, user, client, receiver, run_jobs, way
):
    made = hook(client, receiver.url, kinds=["memory.changed"])
    client.post("/api/memories", json={"memory_type": "fact", "content": "Keeps bees"})
    deactivate(app, user, way)
    run_jobs()
    with app.app_context():
        assert delivery.due_webhooks() == []
        assert delivery.deliver(made["webhook_id"]) == 0
    assert receiver.got == []
    reactivate(app, user, way)
    with app.app_context():
        assert delivery.due_webhooks() == [made["webhook_id"]]
        assert delivery.deliver(made["webhook_id"]) == 1


def test_the_example_of_the_specification():
    signed = signatures.signature(
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}'
    )
    assert signed == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_secrets_and_ids_differ():
    assert len({signatures.new_secret() for _ in range(50)} | {signatures.new_event_id() for _ in range(50)}) == 100
    assert signatures.signature(signatures.new_secret(), "evt_1", 1, b"{}").startswith("v1,")


def test_tries_end():
    assert [signatures.wait_after(n) for n in (1, len(RETRY_SECONDS), len(RETRY_SECONDS) + 1)] == [5, 72_000, None]
