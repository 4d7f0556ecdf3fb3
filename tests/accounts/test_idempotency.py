"""Idempotency-Key: one row and one answer however often, and however concurrently, a request arrives."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from testkit.people import ApiClient, session_client
from testkit.processes import wait_until
from tests.chat.helpers import parse, wait_for_end
from tests.chat.test_pages import ids
from tests.support.interleaving import at_once
from tests.support.queries import scalars
from webapp.accounts.models import IdempotencyKey
from webapp.conversations import service
from webapp.conversations.models import Conversation, Message
from webapp.db import encryption
from webapp.db.base import add_row, db, now, write_transaction
from webapp.db.engine import database_file
from webapp.shell import upkeep


def _send(client: ApiClient, key: str, path: str = "/api/conversations", **body: Any) -> Any:
    return client.post(path, json=body, headers={"Idempotency-Key": key})


def _rows(app: Flask, model: Any) -> int:
    return len(scalars(app, db.select(model)))


def test_the_same_key_and_body_give_the_first_answer(app, client):
    first = _send(client, "k", title="One")
    again = _send(client, "k", title="One")
    assert (again.status_code, again.get_json()) == (first.status_code, first.get_json()) == (201, first.get_json())
    assert again.headers["Idempotent-Replayed"] == "true"
    assert "Idempotent-Replayed" not in first.headers
    other = _send(client, "k", title="Two")
    assert (other.status_code, other.content_type) == (409, "application/problem+json")
    assert _rows(app, Conversation) == 1


def test_json_is_the_same_however_it_is_written(app, client):
    written = ('{"title": "é", "metadata": {"a": 1, "b": [1, 2]}}', '{"metadata":{"b":[1,2],"a":1},"title":"\\u00e9"}')
    headers = {"Idempotency-Key": "k", "Content-Type": "application/json"}
    first, again = (client.post("/api/conversations", data=text.encode(), headers=headers) for text in written)
    assert (first.status_code, again.status_code, again.get_json()) == (201, 201, first.get_json())
    other = _send(client, "k", title="é", metadata={"a": 1, "b": [2, 1]})
    assert other.status_code == 409
    assert _rows(app, Conversation) == 1


def test_a_key_belongs_to_its_user_and_to_its_path(client, api, make_user):
    _send(client, "k", title="One")
    assert _send(api(make_user()), "k", title="Two").status_code == 201
    conversation_id = _send(client, "l", title="Three").get_json()["conversation_id"]
    assert _send(client, "k", f"/api/conversations/{conversation_id}/messages", content="x").status_code == 409
    job = f"/api/tasks/generate-memory-for-conversation/{conversation_id}"
    assert _send(client, "m", job).status_code == 202
    assert _send(client, "m", f"{job}?sync=true").status_code == 409
    assert _send(api(make_user(is_service=True)), "m", job).status_code == 202


def test_an_answer_is_stored_encrypted(app, client):
    """It may hold a secret that is shown only in it."""
    first = _send(client, "k", "/api/webhooks", url="https://hooks.example/x")
    assert first.status_code == 201
    with app.app_context():
        (stored,) = db.session.execute(db.text("SELECT body FROM idempotency_keys")).scalars()
    assert first.json["secret"] not in str(stored) and "hooks.example" not in str(stored)
    assert _send(client, "k", "/api/webhooks", url="https://hooks.example/x").json == first.json


def test_an_answer_that_cannot_be_decrypted_is_not_made_again(app, client, monkeypatch):
    _send(client, "k", title="One")
    monkeypatch.setattr(encryption, "unseal", lambda _purpose, _stored: None)
    assert _send(client, "k", title="One").status_code == 409
    assert _rows(app, Conversation) == 1


def test_a_failed_request_stores_nothing(app, client):
    assert _send(client, "k", title="x", space_id=9).status_code == 404
    assert _rows(app, IdempotencyKey) == 0
    assert _send(client, "k", title="x").status_code == 201


@pytest.mark.parametrize("key", ["", "x" * 256, "a\tb"])
def test_keys_that_are_none(client, key):
    assert _send(client, key, title="x").status_code == 422


def test_words_sent_again_from_a_page_that_was_loaded_again_are_the_same(app, model, monkeypatch, browser):
    monkeypatch.setitem(app.config, "WTF_CSRF_ENABLED", False)  # a page's token differs by the second it was made in
    model.script(reply="once")

    def send(words: str, token: str) -> Any:
        form = {"content": words, "csrf_token": token}
        return browser.post("/conversations", data=form, headers={"Idempotency-Key": "k", "HX-Request": "true"})

    first, again = send("Hello", "of the first page"), send("Hello", "of the second page")
    assert (
        first.status_code == again.status_code == 200 and first.headers["HX-Push-Url"] == again.headers["HX-Push-Url"]
    )
    assert ids(first.text) == ids(again.text)
    assert send("Goodbye", "of the second page").status_code == 409
    assert _rows(app, Message) == 2


def test_keys_differ_by_every_byte(app, client):
    for key in ("k", "K", "k ", "ä"):
        assert _send(client, key, title="x").status_code in (200, 201)
    assert _rows(app, Conversation) >= 2


@pytest.mark.parametrize("path", ["/api/chat/stream", "messages"])
def test_two_at_once_are_one_turn(app, client, model, path):
    model.script(reply="once", token_delay=0.02)
    body = {"message": "Hello"}
    if path == "messages":
        conversation_id = client.post("/api/conversations", json={}).get_json()["conversation_id"]
        path, body = f"/api/conversations/{conversation_id}/messages", {"content": "Hello"}

    def send() -> tuple[int, str]:
        response = client.post(path, json=body, headers={"Idempotency-Key": "same"})
        return response.status_code, response.text

    answers = at_once(*[send] * 4)
    assert {status for status, _ in answers} <= {200, 202}
    if path.endswith("stream"):
        streams = [[(e.name, e.data) for e in parse(text) if e.name != "delta"] for _, text in answers]
        assert all(stream == streams[0] for stream in streams)
        assert [name for name, _ in streams[0]] == ["turn", "done"]
    else:
        assert len({text for _, text in answers}) == 1
    assert _rows(app, Message) == 2
    wait_until(lambda: app.extensions["chat"].runner.active == 0, "the turn")
    assert len([call for call in model.calls() if call["stream"]]) == 1


def test_a_repeated_stream_shows_the_same_turn(app, client, model):
    model.script(reply="once")
    first = parse(_send(client, "k", "/api/chat/stream", message="Hello").text)
    again = parse(_send(client, "k", "/api/chat/stream", message="Hello").text)
    assert again == first
    app.extensions["redis"].flushall()
    third = parse(_send(client, "k", "/api/chat/stream", message="Hello").text)
    assert [(e.name, e.data) for e in third] == [(e.name, e.data) for e in first]
    wait_for_end(app, first[0].data["assistant_message_id"])


def test_keys_are_kept_for_a_day(app, client):
    _send(client, "old", title="x")
    _send(client, "new", title="x")
    with app.app_context():
        with write_transaction():
            row = db.session.query(IdempotencyKey).order_by(IdempotencyKey.created_at).first()
            row.created_at = now() - timedelta(hours=25)
        purged = upkeep.purge()
        assert (purged["conversations"], purged["idempotency_keys"]) == (0, 1)
        (left,) = db.session.query(IdempotencyKey)
        assert left.created_at > now() - timedelta(hours=1)


def test_purge_takes_hidden_and_temporary_conversations_after_their_time(app, client, redis):
    made = [client.post("/api/conversations", json={"is_temporary": n < 2}).get_json() for n in range(4)]
    ids = [conversation["conversation_id"] for conversation in made]
    with app.app_context():
        with write_transaction():
            db.session.get(Conversation, ids[0]).updated_at = now() - timedelta(hours=25)
            db.session.get(Conversation, ids[2]).deleted_at = now() - timedelta(seconds=service.UNDO_SECONDS + 1)
            service.hide_conversation(client.person.user_id, ids[3])
            reply = add_row(Message(conversation_id=ids[2], role="assistant", content="Hello", created_at=now()))
            redis.xadd(stream := f"{{turn:{reply.message_id}}}", {"k": "delta"})
        assert upkeep.purge()["conversations"] == 2
        assert not redis.exists(stream)
        file = database_file(db.engine)  # SQLite's log still holds what is deleted from its file
        assert file is None or Path(f"{file}-wal").stat().st_size == 0
        assert upkeep.purge()["conversations"] == 0
        with write_transaction():
            service.unhide_conversation(client.person.user_id, ids[3])
    shown = [row["conversation_id"] for row in client.get("/api/conversations").get_json()["conversations"]]
    assert shown == [ids[3]]  # what is temporary is never listed
    assert client.get(f"/api/conversations/{ids[1]}").status_code == 200  # and there until its time has come
    assert client.get(f"/api/conversations/{ids[0]}").status_code == 404


def test_what_only_a_browser_creates_is_created_once_too(app, make_user):
    browser = session_client(app, make_user(is_admin=True))
    person = {"email": "new@example.com", "password": "a long enough password"}
    for path, body in (("/api/account/tokens", {"name": "Phone"}), ("/api/users", person), ("/api/schedules/feed", {})):
        first, again = (browser.post(path, json=body, headers={"Idempotency-Key": path}) for _ in range(2))
        assert (first.status_code, again.status_code, again.json) == (201, 201, first.json)
