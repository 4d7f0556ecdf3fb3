"""`/api/events`: told as it happens, from where one was, to its own person, for as long as they may see it."""

import json
import socket
import threading
from typing import Any

import pytest
from flask.testing import FlaskClient

from testkit.people import DEACTIVATIONS, ApiClient, browser_client, deactivate
from webapp.accounts import sessions, tokens
from webapp.db.base import write_transaction
from webapp.webhooks import events_api

Event = tuple[str, str, Any]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Streams wait shortly, and end when nothing more comes."""
    monkeypatch.setattr(events_api, "LONGEST", 60.0)
    monkeypatch.setattr(events_api, "PAUSE", 0.02)
    monkeypatch.setattr(events_api, "HEARTBEAT", 0.0)


def open_stream(client: FlaskClient, query: str = "", **headers: str) -> Any:
    """An open stream: its chunks, one at a time."""
    answer = client.get(f"/api/events{query}", headers=headers, buffered=False)
    assert answer.status_code == 200, answer.text
    assert answer.content_type.startswith("text/event-stream")
    return answer


def until(answer: Any, count: int) -> list[Event]:
    """So many events of a stream."""
    found: list[Event] = []
    for chunk in answer.iter_encoded():
        fields = dict(
            line.split(": ", 1) for line in chunk.decode().splitlines() if ": " in line and not line.startswith(":")
        )
        if "event" in fields:
            found.append((fields["event"], fields.get("id", ""), json.loads(fields["data"])))
        if len(found) == count:
            break
    return found


def remember(client: ApiClient, content: str) -> None:
    assert client.post("/api/memories", json={"memory_type": "fact", "content": content}).status_code == 201


def test_it_is_told_and_goes_on_where_it_was(client):
    stream = open_stream(client)
    remember(client, "Keeps bees")
    remember(client, "Sails")
    (first,) = until(stream, 1)
    stream.close()
    assert first[0] == "memory.changed" and "Keeps" not in json.dumps(first)
    again = open_stream(client, **{"Last-Event-ID": first[1]})
    remember(client, "Rows")
    rest = until(again, 2)
    again.close()
    assert [event[0] for event in rest] == ["memory.changed"] * 2
    assert rest[0][2]["change_set_id"] == first[2]["change_set_id"] + 1


def test_only_what_was_asked_for(client):
    stream = open_stream(client, "?kinds=conversation.deleted")
    remember(client, "Keeps bees")
    number = client.post("/api/conversations", json={}).get_json()["conversation_id"]
    client.delete(f"/api/conversations/{number}")
    ((kind, _, data),) = until(stream, 1)
    stream.close()
    assert (kind, data) == ("conversation.deleted", {"conversation_id": number})
    assert client.get("/api/events?kinds=nonsense").status_code == 422


def test_what_is_lost_is_said(app, client):
    for wish in ("1-1", "99999999999999-0"):
        stream = open_stream(client, **{"Last-Event-ID": wish})
        assert until(stream, 1)[0][0] == "missed"
        stream.close()
    stream = open_stream(client, **{"Last-Event-ID": "nonsense'"})
    remember(client, "Keeps bees")
    assert until(stream, 1)[0][0] == "memory.changed"
    stream.close()


def test_nothing_is_kept_for_others_or_where_nobody_listens(app, client, make_user, api):
    others = [make_user(), make_user(is_admin=True)]
    streams = [open_stream(api(other)) for other in others]
    remember(client, "Keeps bees")
    with app.app_context():
        for person in (client.person, *others):
            assert list(events_api.read(person.user_id, "0-0")) == []
    for stream in streams:
        stream.close()


def test_it_ends_with_the_token_and_when_its_client_leaves(app, client):
    stream = open_stream(client)
    near, far = socket.socketpair()
    far.close()
    left = client.get("/api/events", environ_overrides={"gunicorn.socket": near}, buffered=False)
    assert list(left.response) == [b"retry: 3000\n: connected\n\n"]
    near.close()
    with app.app_context(), write_transaction():
        tokens.revoke_all(client.person.user_id)
    assert until(stream, 1) == []
    stream.close()


def test_there_are_only_so_many(client):
    streams = [open_stream(client) for _ in range(events_api.MAX_EACH)]
    answer = client.get("/api/events")
    assert (answer.status_code, "Retry-After" in answer.headers) == (429, True)
    for stream in streams:
        stream.close()
    open_stream(client).close()
    assert client.person.user_id not in events_api._open.owners.values()


@pytest.mark.parametrize("way", [*DEACTIVATIONS, "signed out"])
def test_an_open_stream_tells_nothing_once_the_account_is_out_of_use(app, client, monkeypatch, way):
    """Or its session has ended; also before the next heartbeat."""
    monkeypatch.setattr(events_api, "HEARTBEAT", 1_000.0)
    listeners = [browser_client(app, client.person), *([client] if way in DEACTIVATIONS else [])]
    streams = [open_stream(listener) for listener in listeners]
    remember(client, "Keeps bees")
    if way in DEACTIVATIONS:
        deactivate(app, client.person, way)
    else:
        with app.app_context(), write_transaction():
            sessions.end_others(client.person.user_id, None)
    for stream in streams:
        assert until(stream, 1) == []
        stream.close()


def test_they_end_with_their_server(client, monkeypatch):
    monkeypatch.setattr(events_api, "PAUSE", 600.0)
    stream = open_stream(client)
    found: list[list[Event]] = []
    reader = threading.Thread(target=lambda: found.append(until(stream, 1)), daemon=True)
    reader.start()
    events_api.ending.set()
    reader.join(60)
    events_api.ending.clear()
    assert found == [[]]
    stream.close()
