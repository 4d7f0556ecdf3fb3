"""Turns over the JSON API: the events, stopping, repeating, waiting in line, and what a viewer may miss."""

import threading
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from flask import Flask
from redis.exceptions import ConnectionError as RedisAway

from testkit.people import DEACTIVATIONS, ApiClient, browser_client, deactivate
from testkit.processes import wait_until
from tests.chat.helpers import Event, deltas, iterate, message, names, parse, steps, wait_for_end
from webapp.accounts import sessions, tokens
from webapp.accounts.identity import Identity
from webapp.chat import sse
from webapp.chat.turns import follow as following, turnlog
from webapp.chat.turns.follow import follow
from webapp.chat.turns.stream_hub import Hub
from webapp.db.base import db, expect_writes, write_transaction, writing
from webapp.extensions import make_redis


def ask(client: ApiClient, text: str = "Hello", **fields: Any) -> list[Event]:
    """Send a message and read the whole stream."""
    query = fields.pop("query", "")
    response = client.post(f"/api/chat/stream{query}", json={"message": text, **fields})
    assert response.status_code == 200, response.text
    return parse(response.text)


def begin(client: ApiClient, text: str = "Hello", **fields: Any) -> int:
    """Send a message without watching; the id of the reply."""
    if "conversation_id" not in fields:
        fields["conversation_id"] = client.post("/api/conversations", json={}).get_json()["conversation_id"]
    answer = client.post(f"/api/conversations/{fields['conversation_id']}/messages", json={"content": text})
    assert answer.status_code == 202, answer.text
    return answer.get_json()["response_id"]


def wait_for_text(app: Flask, turn_id: int) -> None:
    wait_until(lambda: bool(turnlog.text_of(turnlog.read(app.extensions["redis"], turn_id))), "some text")


def test_events_in_order_and_deltas_are_the_reply(app, client, model):
    model.script(reply="Ebb and flow 🌊 – twice a day.\n\n```\nx\n```", token_delay=0.005)
    events = ask(client, "What are tides?", context={"page": "tides"})
    assert names(events) == ["turn", "delta", "done"]
    turn, done = events[0].data, events[-1].data["message"]
    assert deltas(events) == done["content"] == "Ebb and flow 🌊 – twice a day.\n\n```\nx\n```"
    assert (done["status"], done["model"]) == ("complete", "test-chat")
    assert done["message_id"] == turn["assistant_message_id"]
    assert all(event.id for event in events)
    asked = message(app, turn["user_message_id"])
    assert (asked["content"], asked["custom_payload"]) == ("What are tides?", {"context": {"page": "tides"}})
    found = client.get(f"/api/conversations/{turn['conversation_id']}").get_json()
    assert found["messages"][-1] == done
    shown = client.get(f"/api/messages/{done['message_id']}/pipeline_steps").get_json()
    assert [step["name"] for step in shown["pipeline_steps"]] == ["retrieval", "context", "model"]
    prompt = shown["pipeline_steps"][1]["prompt"][-1]["content"]
    assert prompt.startswith("<request>") and prompt.endswith("\n\nWhat are tides?")
    sent = next(call for call in model.calls() if call["stream"])["messages"]
    assert [part["content"] for part in shown["pipeline_steps"][1]["prompt"]] == [part["content"] for part in sent]
    assert client.get(f"/api/messages/{asked['message_id']}/response").get_json() == done


def test_following_the_jobs_brings_the_title_and_the_end(app, client, run_jobs):
    response = client.post("/api/chat/stream?follow=jobs", json={"message": "Hello"})
    seen: list[Event] = []
    for event in iterate(response):
        seen.append(event)
        if event.name == "done":
            wait_until(lambda: bool(app.extensions["redis"].llen("rq:queue:turn")), "the job")
            run_jobs()
    assert names(seen)[:3] == ["turn", "delta", "done"]
    assert "title" in names(seen)[3:]
    assert names(seen)[-1] == "settled"
    path = f"/api/chat/turns/{seen[0].data['assistant_message_id']}/stream?follow=jobs"
    assert names(parse(client.get(path).text)) == names(seen)
    for number, event in enumerate(seen, 1):
        assert parse(client.get(path, headers={"Last-Event-ID": event.id}).text) == seen[number:], event.name


def test_resuming_from_every_event_loses_and_doubles_nothing(app, client, model):
    """By the query or the header, and from the tables once Redis has lost the stream."""
    hold = model.hold_reply(after=4, reply=[f"wörd{n} 🌊 " for n in range(8)], token_delay=0.06)
    events = []
    for event in iterate(client.post("/api/chat/stream", json={"message": "Hello"})):
        events.append(event)
        if event.name == "delta":
            hold.release()
    text = events[-1].data["message"]["content"]
    assert len(events) > 3, "several deltas"
    path = f"/api/chat/turns/{events[0].data['assistant_message_id']}/stream"

    def resume(events: list[Event], kept: bool, where: str) -> None:
        for seen in range(len(events)):
            had = events[: seen + 1]
            rest = parse(client.get(path, **{where: {"after": had[-1].id, "Last-Event-ID": had[-1].id}}).text)
            assert deltas(had) + deltas(rest) == text, (seen, kept, where)
            assert "turn" not in names(rest)
            if had[-1].name != "done":
                assert rest[-1].name == "done"
            elif kept:
                assert rest == []

    resume(events, True, "query_string")
    resume(events, True, "headers")
    app.extensions["redis"].flushall()
    resume(events, False, "headers")
    stored = parse(client.get(path).text)
    assert deltas(stored) == text
    resume(stored, False, "headers")


def test_what_is_no_cursor_is_the_beginning_and_one_from_the_future_the_end(client):
    events = ask(client)
    path = f"/api/chat/turns/{events[0].data['assistant_message_id']}/stream"
    text = events[-1].data["message"]["content"]
    for cursor in ("x", "1", "-", "$", "+", "0", "9" * 40, "1-1-1", "1-1:x", "(1-1", "٣-٣"):
        assert (cursor, deltas(parse(client.get(path, query_string={"after": cursor}).text))) == (cursor, text)
    assert parse(client.get(path, query_string={"after": f"{10**15}-0:3"}).text) == []
    assert deltas(ask(client)) != ""


def test_viewers_of_a_running_turn_see_all_of_it_wherever_they_join(app, client, api, model, settings):
    """Two of them in another process: with a hub of their own."""
    hold = model.hold_reply(after=15, reply=[f"w{n} " for n in range(30)])
    turn_id = begin(client)
    other = Hub(app.extensions["redis"], make_redis(settings.redis_url, tailing=True))
    results: list[str] = []

    def view(hub: Hub | None) -> None:
        entries = follow(app, hub or app.extensions["chat"].hub, turn_id)
        results.append(deltas(parse(b"".join(sse.json_events(entries)).decode())))

    threads = [threading.Thread(target=view, args=(other if number % 4 == 0 else None,)) for number in range(8)]
    for number, thread in enumerate(threads):
        thread.start()
        if number == 2:
            wait_for_text(app, turn_id)
        if number == 5:
            hold.release()
    for thread in threads:
        thread.join(20)
    expected = "".join(f"w{n} " for n in range(30))
    assert results == [expected] * 8
    wait_until(lambda: app.extensions["chat"].hub.viewers == 0 and other.viewers == 0, "viewers gone")


def test_nothing_is_lost_when_redis_is_emptied_in_mid_turn(app, client, model):
    model.script(reply=[f"w{n} " for n in range(50)], token_delay=0.02)
    response = client.post("/api/chat/stream", json={"message": "Hello"})
    seen: list[Event] = []
    for event in iterate(response):
        seen.append(event)
        if len(seen) in (3, 8):
            app.extensions["redis"].flushall()
    text = "".join(f"w{n} " for n in range(50))
    assert deltas(seen) == seen[-1].data["message"]["content"] == text
    assert names(seen) == ["turn", "delta", "done"]
    turn_id = seen[0].data["assistant_message_id"]
    for had in (seen[:2], seen[:5]):  # cursors of a stream that is no more
        rest = parse(client.get(f"/api/chat/turns/{turn_id}/stream", headers={"Last-Event-ID": had[-1].id}).text)
        assert deltas(had) + deltas(rest) == text


def test_stop_keeps_what_has_arrived(app, client, model):
    model.hold_reply(reply=[f"w{n} " for n in range(400)])
    turn_id = begin(client)
    wait_for_text(app, turn_id)
    assert client.post(f"/api/chat/turns/{turn_id}/stop").status_code == 202
    row = wait_for_end(app, turn_id, seconds=5)
    assert row["status"] == "stopped"
    assert "".join(f"w{n} " for n in range(400)).startswith(row["content"])
    assert row["content"]
    events = parse(client.get(f"/api/chat/turns/{turn_id}/stream").text)
    assert deltas(events) == row["content"]
    assert events[-1].name == "done"
    model.wait_for(lambda calls: calls[-1]["outcome"] != "open")
    assert model.calls()[-1]["sent"] < 400, "the model was told, too"
    assert client.post(f"/api/chat/turns/{turn_id}/stop").status_code == 202, "stopping twice does no harm"


@pytest.mark.parametrize("way", DEACTIVATIONS)
def test_a_reply_stops_when_its_account_goes_out_of_use(app, client, model, way):
    """Whoever still reads the stream gets nothing more of it."""
    model.hold_reply()
    turn_id = begin(client)
    wait_for_text(app, turn_id)
    deactivate(app, client.person, way)
    assert wait_for_end(app, turn_id)["status"] == "stopped"


@pytest.mark.parametrize("address", ["/api/chat/turns/{}/stream", "/turns/{}/events", "/v1/chat/completions"])
def test_a_stream_ends_with_the_right_to_watch_it(app, client, model, monkeypatch, address):
    monkeypatch.setattr("webapp.chat.turns.follow.CHECK_SECONDS", 0.1)
    monkeypatch.setattr("webapp.chat.sse.app_settings", lambda: SimpleNamespace(web_threads=2))
    monkeypatch.setattr("webapp.chat.sse.open_streams", sse.OpenStreams())
    model.hold_reply(after=75, reply=[f"w{n} " for n in range(150)], token_delay=0.02)
    if address.startswith("/v1"):
        body = {"model": "test-chat", "messages": [{"role": "user", "content": "Hello"}], "stream": True}
        answer = client.post(address, json=body, buffered=False)
    else:
        turn_id = begin(client)
        viewer = browser_client(app, client.person) if address.startswith("/turns") else client
        answer = viewer.get(address.format(turn_id), buffered=False)
    chunks = iter(answer.response)
    early = b"".join(next(chunks) for _ in range(4))
    if not address.startswith("/v1"):
        others = (f"/api/messages/{turn_id}/response?wait=1", f"/v1/responses/resp_{turn_id}?stream=true")
        more = [viewer.get(address.format(turn_id)), *map(client.get, others)]
        assert {other.status_code for other in more} == {429}, "one person has five eighths of the threads"
    with app.app_context(), write_transaction():
        tokens.revoke_all(client.person.user_id)
        sessions.end_others(client.person.user_id, None)
    rest = b"".join(chunks)
    assert (answer.status_code, b"w0" in early, b"w149" in rest) == (200, True, False)


def test_stop_before_the_first_text(app, client, model):
    model.script(reply="late", first_delay=30)
    turn_id = begin(client)
    client.post(f"/api/chat/turns/{turn_id}/stop")
    row = wait_for_end(app, turn_id)
    assert (row["status"], row["content"]) == ("stopped", "")
    retried = client.post(f"/api/chat/turns/{turn_id}/retry")
    assert retried.status_code == 202
    assert wait_for_end(app, turn_id)["superseded_by_id"] == retried.get_json()["response_id"]
    client.post(f"/api/chat/turns/{retried.get_json()['response_id']}/stop")


def test_a_second_message_waits_and_reads_the_first_reply(app, client, model):
    hold = model.hold_reply(match="^first$", reply=[f"w{n} " for n in range(15)])
    model.script(match="second", reply="noted")
    first = begin(client, "first")
    second = begin(client, "second", conversation_id=message(app, first)["conversation_id"])
    hold.release()
    assert wait_for_end(app, second)["content"] == "noted"
    text = message(app, first)["content"]
    assert text == "".join(f"w{n} " for n in range(15))
    asked = [call for call in model.calls() if call["stream"] and call["messages"][-1]["content"].endswith("second")]
    assert len(asked) == 1
    assert [part["content"] for part in asked[0]["messages"][-3:-1]] == ["first", text]


def test_regenerate_edit_versions_and_restore(app, client, model):
    model.script(match="question", reply="one", times=1)
    first = ask(client, "question")[-1].data["message"]
    model.script(match="question", reply="two", times=1)
    again = client.post(f"/api/chat/turns/{first['message_id']}/regenerate").get_json()["response_id"]
    assert wait_for_end(app, again)["content"] == "two"
    versions = client.get(f"/api/messages/{again}/versions").get_json()["versions"]
    assert [(v["content"], v["is_current"]) for v in versions] == [("one", False), ("two", True)]
    asked = message(app, first["message_id"])["parent_id"]
    model.script(match="changed", reply="three", times=1)
    edited = client.post(f"/api/messages/{asked}/edit", json={"content": "changed"}).get_json()
    assert wait_for_end(app, edited["response_id"])["content"] == "three"
    path = f"/api/conversations/{first['conversation_id']}"
    assert [m["content"] for m in client.get(path).get_json()["messages"]] == ["changed", "three"]
    back = client.post(f"/api/messages/{edited['message']['id']}/versions/{asked}/restore")
    assert back.status_code == 200, back.text
    assert [m["content"] for m in client.get(path).get_json()["messages"]] == ["question", "two"]
    assert client.get(path).get_json()["message_count"] == 2
    wrong = client.post(f"/api/messages/{asked}/versions/{again}/restore")
    assert wrong.status_code == 404
    assert client.post(f"/api/messages/{again}/edit", json={"content": "x"}).status_code == 422


def test_no_connection_is_held_while_a_reply_is_written_or_watched(app, client, model):
    hold = model.hold_reply()
    events = iterate(client.post("/api/chat/stream", json={"message": "Hello"}))
    assert [next(events).name for _ in range(2)] == ["turn", "delta"]
    with app.app_context():
        wait_until(lambda: db.engine.pool.checkedout() == 0, "all connections back, but while it is stored")
    hold.release()
    assert names(list(events))[-1] == "done"


def test_waiting_for_a_response(app, client, model):
    hold = model.hold_reply()
    turn_id = begin(client)
    asked = message(app, turn_id)["parent_id"]
    early = client.get(f"/api/messages/{asked}/response")
    assert (early.status_code, early.get_json()) == (202, {"status": "streaming", "response_id": turn_id})
    assert client.get(f"/api/chat/turns/{asked}/stream").status_code == 404, "a question is no turn"
    assert client.get(f"/api/messages/{asked}/response?wait=0.05").status_code == 202
    hold.release()
    late = client.get(f"/api/messages/{asked}/response?wait=20")
    assert (late.status_code, late.get_json()["status"]) == (200, "complete")
    for wait in ("nan", "inf", "-1", "31", "x"):
        assert client.get(f"/api/messages/{asked}/response?wait={wait}").status_code == 422


def test_deleting_a_conversation_ends_what_is_written_and_watched_in_it(app, client, model, redis, monkeypatch):
    model.hold_reply(reply=["word "] * 30, after=20)
    response = client.post("/api/chat/stream", json={"message": "Hello"})
    seen = []
    for event in iterate(response):
        seen.append(event)
        if event.name == "delta" and names(seen).count("delta") == 1:
            assert client.delete(f"/api/conversations/{seen[0].data['conversation_id']}").status_code == 204
    assert names(seen)[-2:] == ["error", "settled"] and seen[-2].data["code"] == "gone"
    turn_id = seen[0].data["assistant_message_id"]
    assert steps(app, turn_id) == 0 and "word" not in str(redis.xrange(f"{{turn:{turn_id}}}"))
    monkeypatch.setattr(Hub, "subscribe", Mock(side_effect=RedisAway))
    assert [item and item.kind for item in follow(app, app.extensions["chat"].hub, turn_id, patience=1)] == ["error"]


def test_a_repeated_key_does_not_bring_back_a_deleted_reply(client, redis):
    asked: dict[str, Any] = {"json": {"message": "Hello"}, "headers": {"Idempotency-Key": "k"}}
    first, again = (client.post("/api/chat/stream", **asked).text for _ in range(2))
    assert first == again
    turn = parse(first)[0].data
    assert client.delete(f"/api/conversations/{turn['conversation_id']}").status_code == 204
    assert not redis.exists(f"{{turn:{turn['assistant_message_id']}}}"), "nor is it still there to be streamed"
    assert client.post("/api/chat/stream", **asked).status_code == 404


def test_the_look_at_a_viewers_right_takes_no_lock_for_writing(app, monkeypatch):
    """A stream that a POST began is still in that request, of which SQLite expects that it writes."""
    looks: list[bool] = []

    def look(_identity: object) -> bool:
        looks.append(writing.get())
        return True

    monkeypatch.setattr(following, "CHECK_SECONDS", 0.0)
    monkeypatch.setattr(following, "is_valid", look)
    with app.test_request_context():
        expect_writes()
        assert list(following.watch(app, Identity(1, is_admin=False, is_service=False, via="session"), [None])) == [
            None
        ]
    assert looks == [False]
