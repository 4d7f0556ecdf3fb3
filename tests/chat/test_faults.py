"""What goes wrong around a turn: the model, the database, Redis, the process."""

import errno
import os
import re
import signal
import socket
import time
from dataclasses import replace
from datetime import timedelta
from typing import Any
from unittest.mock import Mock

import httpx2
import pytest
from flask import Flask
from sqlalchemy.exc import DataError, OperationalError

from testkit.people import ApiClient
from testkit.processes import descendants, wait_until
from tests.chat.helpers import Event, deltas, iterate, message, names, parse, wait_for_end
from tests.chat.test_stream import ask, begin, wait_for_text
from webapp.chat import service
from webapp.chat.turns import finish, follow, recovery, turn, turnlog
from webapp.chat.turns.finish import Outcome
from webapp.chat.turns.runner import TurnRunner
from webapp.chat.turns.runtime import runtime
from webapp.conversations.models import Message
from webapp.db.base import db, now, write_transaction
from webapp.errors import Unavailable
from webapp.extensions import app_settings
from webapp.providers.clients import chat_client

FAULTS = [  # which fault of a server is which error: tests/llm/test_chat.py, tests/llm/test_errors.py
    ({"http_status": 401, "body": {"error": {"code": "invalid_api_key"}}}, "failed", "unauthorized", False),
    ({"http_status": 429}, "failed", "rate_limited", True),
    ({"cut_after": 0}, "failed", "interrupted", True),
    ({"error": {"message": "boom"}, "error_after": 6}, "interrupted", "model_unavailable", True),
]


@pytest.mark.parametrize(("fault", "status", "code", "retryable"), FAULTS, ids=range(len(FAULTS)))
def test_each_fault_of_the_model_is_said_and_the_message_kept(app, client, model, fault, status, code, retryable):
    model.script(reply=[f"w{n} " for n in range(20)], token_delay=0.002, fault=fault)
    events = ask(client, "Keep me")
    error = events[-1]
    assert (error.name, error.data["code"], error.data["retryable"]) == ("error", code, retryable)
    turn_id = events[0].data["assistant_message_id"]
    row = message(app, turn_id)
    assert (row["status"], row["error_code"]) == (status, code)
    assert row["error_detail"] == error.data["detail"]
    assert row["error_detail"].endswith((".", "”"))
    assert deltas(events) == row["content"]
    assert bool(row["content"]) == (status == "interrupted")
    assert message(app, row["parent_id"])["content"] == "Keep me"
    # A viewer in the same process has the words before Redis does: what is still to be written there would come after.
    wait_until(lambda: app.extensions["chat"].runner.active == 0, "the turn", seconds=30)
    app.extensions["redis"].flushall()
    stored = parse(client.get(f"/api/chat/turns/{turn_id}/stream").text)
    assert names(stored) == names(events)
    if code != "rate_limited":
        assert stored[-1].data == error.data
    model.script(reply="better")
    retried = client.post(f"/api/chat/turns/{turn_id}/retry").get_json()["response_id"]
    assert wait_for_end(app, retried)["content"] == "better"


def test_a_model_that_falls_silent_is_given_up(app, client, model, monkeypatch):
    runner = app.extensions["chat"].runner
    runner.start()
    home = runner._chat._client(None)
    impatient = replace(home.settings, idle_timeout=0.3, first_token_timeout=0.3)
    monkeypatch.setattr(home, "settings", impatient)
    model.script(reply=[f"w{n} " for n in range(9)], fault={"hang_after": 4})
    events = ask(client)
    assert (events[-1].data["code"], message(app, events[0].data["assistant_message_id"])["status"]) == (
        "interrupted",
        "interrupted",
    )
    assert deltas(events) != ""
    model.script(reply="never", first_delay=20)
    assert ask(client)[-1].data["code"] == "model_unavailable"


def test_a_stop_during_the_last_commit_changes_nothing(app, client, model, monkeypatch):
    model.script(reply="All of it.")
    real, runner, stopped = finish.finish_turn, app.extensions["chat"].runner, []
    stop = runner.stop
    monkeypatch.setattr(runner, "stop", lambda turn_id: (stop(turn_id), stopped.append(turn_id)))

    def slow(turn_id: int, outcome: Outcome) -> Any:
        turnlog.request_stop(app.extensions["redis"], turn_id)
        wait_until(lambda: turn_id in stopped, "the stop")
        return real(turn_id, outcome)

    monkeypatch.setattr(finish, "finish_turn", slow)
    events = ask(client)
    assert names(events) == ["turn", "delta", "done"]
    assert (events[-1].data["message"]["status"], deltas(events)) == ("complete", "All of it.")


def test_a_commit_that_fails_for_a_while_is_tried_again(app, client, model, monkeypatch):
    real, failures = finish.finish_turn, [2013, 1213]

    def flaky(turn_id: int, outcome: Outcome) -> Any:
        if failures:
            raise OperationalError("UPDATE", {}, Exception(failures.pop(), "away"))
        return real(turn_id, outcome)

    monkeypatch.setattr(finish, "finish_turn", flaky)
    events = ask(client)
    assert events[-1].data["message"]["status"] == "complete"
    assert failures == []


def test_what_can_never_be_stored_is_left_to_recovery_at_once(app, client, model, monkeypatch):
    def broken(_turn_id: int, _outcome: Outcome) -> Any:
        raise DataError("UPDATE", {}, Exception(1406, "too long"))

    model.script(reply="Words that stay.")
    with monkeypatch.context() as patched:
        patched.setattr(finish, "finish_turn", broken)
        turn_id = begin(client)
        wait_until(lambda: app.extensions["chat"].runner.active == 0, "the runner")
    monkeypatch.setattr(recovery, "GRACE_SECONDS", 0.0)
    row = _recover(app, turn_id)
    assert (row["status"], row["content"]) == ("interrupted", "Words that stay.")


@pytest.mark.mysql_only
def test_database_away_at_the_end_then_back(app, servers, client, anonymous, model, monkeypatch):
    tries, finish_turn = [], finish.finish_turn
    monkeypatch.setattr(finish, "finish_turn", lambda *told: (tries.append(told), finish_turn(*told))[1])
    hold = model.hold_reply(reply=[f"w{n} " for n in range(15)])
    turn_id = begin(client)
    wait_for_text(app, turn_id)
    servers.stop_database()
    try:
        assert client.get("/api/conversations").status_code == 503
        ready = anonymous.get("/readyz")
        assert (ready.status_code, ready.get_json()["database"], ready.get_json()["redis"]) == (503, "away", "ok")
        hold.release()
        wait_until(lambda: bool(tries), "the first try")
    finally:
        servers.start_database()
    row = wait_for_end(app, turn_id)
    assert (row["status"], row["content"]) == ("complete", "".join(f"w{n} " for n in range(15)))


def _dead_turn(app: Flask, client: ApiClient, text: str) -> int:
    """A turn whose process is gone: a streaming row, what it wrote, no lease."""
    conversation_id = client.post("/api/conversations", json={}).get_json()["conversation_id"]
    with app.app_context():
        started = service.start_turn(client.person.user_id, "Hello", conversation_id=conversation_id)
        turn_id, header = started.reply.message_id, started.header
        db.session.commit()
        redis = app.extensions["redis"]
        redis.xadd(turnlog.log_key(turn_id), turnlog.fields("turn", header))
        if text:
            redis.xadd(turnlog.log_key(turn_id), turnlog.fields("delta", {"text": text}))
    return turn_id


def _recover(app: Flask, turn_id: int) -> dict[str, Any]:
    with app.app_context():
        recovery.recover_turn(turn_id)
        recovery.recover_turn(turn_id)
    return message(app, turn_id)


def test_recovery_takes_two_looks_and_keeps_the_text(app, client, monkeypatch):
    turn_id = _dead_turn(app, client, "What there was")
    with app.app_context():
        assert not recovery.recover_turn(turn_id)
        assert not recovery.recover_turn(turn_id), "the grace time is not over"
        monkeypatch.setattr(recovery, "GRACE_SECONDS", 0.0)
        assert recovery.recover_turn(turn_id)
        assert not recovery.recover_turn(turn_id)
        recovery.recover_turn(turn_id)
        assert not recovery.recover_turn(turn_id)
    row = message(app, turn_id)
    assert (row["status"], row["content"], row["error_code"]) == ("interrupted", "What there was", "interrupted")
    events = parse(client.get(f"/api/chat/turns/{turn_id}/stream?follow=jobs").text)
    assert names(events) == ["turn", "delta", "error", "settled"]


def test_what_is_kept_is_said_once_and_in_the_readers_language(app, client, login, monkeypatch):
    monkeypatch.setattr(recovery, "GRACE_SECONDS", 0.0)
    dead = _recover(app, _dead_turn(app, client, "What there was"))
    monkeypatch.setattr(turn, "Trailer", None)
    failed = wait_for_end(app, begin(client))
    assert (dead["error_code"], failed["error_code"]) == ("interrupted", "internal")
    browser = login(client.person)
    pages = [browser.get(f"/c/{row['conversation_id']}").text for row in (dead, failed)]
    notices = [re.search(r'class="notice-text">(.*?)</p>', page)[1] for page in pages]
    assert [notice.count("kept") for notice in notices] == [1, 1]
    browser.set_cookie("language", "de")
    assert "Der Server" in browser.get(f"/c/{dead['conversation_id']}").text


def test_recovery_keeps_what_tools_did(app, client):
    """Whoever tries again has to see the note and perhaps the mail; it was suspected before the clock was set back."""
    turn_id = _dead_turn(app, client, "One moment.")
    app.extensions["redis"].set(turnlog.suspect_key(turn_id), repr(time.time() + 86_400))
    note = {"tool_name": "remember", "input": {}, "output": {"status": "known", "memory_id": 0}}
    begun = {"tool_name": "Mail_send", "input": {"to": "Ann"}, "output": {}, "number": 1, "server": "Mail"}
    done = {**begun, "number": 2, "output": {"text": "Sent."}}
    entries = [("tool", note), ("tool_start", {**begun, "asks": True}), ("tool_start", begun)]
    entries += [("tool_start", {**begun, "number": 2}), ("tool", done)]
    for entry in entries:
        app.extensions["redis"].xadd(turnlog.log_key(turn_id), turnlog.fields(*entry))
    calls = _recover(app, turn_id)["tool_calls"]
    assert [call["tool_name"] for call in calls] == ["remember", "Mail_send", "Mail_send"]
    assert calls[1]["output"]["status"] == "stopped" and "not known" in calls[1]["output"]["detail"]
    assert calls[1]["input"] == {"to": "Ann"} and "asks" not in calls[1]
    assert calls[2] == done


def test_a_viewer_hears_the_end_that_somebody_else_wrote(app, client, model, monkeypatch):
    """Its writer lost the lease, goes on, and finds the row finished, while the database is away now and then."""
    monkeypatch.setattr(turn, "FIRST_SAVE", 60.0)  # what stores the text on its way would notice first, and stop it
    away = OperationalError("UPDATE", {}, Exception(2013, "away"))
    monkeypatch.setattr(recovery, "save_texts", Mock(side_effect=[away, recovery.FinishedReplies()]))
    hold = model.hold_reply()
    response = client.post("/api/chat/stream", json={"message": "Hello"})
    seen: list[Event] = []
    for event in iterate(response):
        seen.append(event)
        if len(seen) == 2:
            turn_id = seen[0].data["assistant_message_id"]
            with app.app_context():
                finished = finish.finish_turn(turn_id, Outcome("interrupted", "w0 ", error_code="interrupted"))
                db.session.commit()
                turnlog.report(app.extensions["redis"], turn_id, finished.kind, finished.data)
            hold.release()
    assert names(seen)[-2:] == ["error", "settled"]
    assert seen[-2].data["message"]["status"] == "interrupted"


def test_recovery_leaves_a_turn_with_a_lease_alone(app, client, monkeypatch, redis):
    monkeypatch.setattr(recovery, "GRACE_SECONDS", 0.0)
    turn_id = _dead_turn(app, client, "x")
    with app.app_context():
        assert not recovery.recover_turn(turn_id)
        redis.set(turnlog.lease_key(turn_id), b"somebody", px=60_000)
        assert not recovery.recover_turn(turn_id)
        redis.delete(turnlog.lease_key(turn_id))
        assert not recovery.recover_turn(turn_id), "the suspicion begins anew"
        assert recovery.recover_turn(turn_id)


def test_the_next_viewer_finishes_a_dead_turn(app, client, monkeypatch):
    monkeypatch.setattr(recovery, "GRACE_SECONDS", 0.01)
    monkeypatch.setattr(follow, "HEARTBEAT_SECONDS", 0.05)
    turn_id = _dead_turn(app, client, "Half a ")
    events = parse(client.get(f"/api/chat/turns/{turn_id}/stream").text)
    assert names(events) == ["turn", "delta", "error"]
    assert (events[-1].data["code"], deltas(events)) == ("interrupted", "Half a ")
    assert message(app, turn_id)["status"] == "interrupted"


def test_a_viewer_of_a_turn_that_ended_without_a_word_is_told(app, client, monkeypatch):
    monkeypatch.setattr(follow, "HEARTBEAT_SECONDS", 0.05)
    turn_id = _dead_turn(app, client, "Half a ")
    with app.app_context(), write_transaction():
        finish.finish_turn(turn_id, Outcome("complete", "Half a word."))
    events = parse(client.get(f"/api/chat/turns/{turn_id}/stream").text)
    assert names(events) == ["turn", "delta", "done"]
    assert deltas(events) == "Half a word."


def test_the_runner_survives_an_emptied_redis_without_being_taken_for_dead(app, client, model):
    model.hold_reply()
    turn_id = begin(client)
    wait_for_text(app, turn_id)
    app.extensions["redis"].flushall()
    with app.app_context():
        assert not recovery.recover_turn(turn_id), "no lease for the moment: a suspicion"
        leased = app.extensions["redis"].exists
        wait_until(lambda: leased(turnlog.lease_key(turn_id)), "the lease", seconds=recovery.GRACE_SECONDS)
        assert not recovery.recover_turn(turn_id)
    client.post(f"/api/chat/turns/{turn_id}/stop")
    assert wait_for_end(app, turn_id)["status"] == "stopped"


def test_recover_all_looks_at_every_older_turn(app, client, monkeypatch):
    monkeypatch.setattr(recovery, "GRACE_SECONDS", 0.0)
    turns = [_dead_turn(app, client, str(n)) for n in range(3)]
    with app.app_context():
        assert recovery.recover_all() == 0, "too young"
        with write_transaction():
            for turn_id in turns[:2]:
                db.session.get(Message, turn_id).created_at = now() - timedelta(seconds=6)
        assert recovery.recover_all() == 0
        assert recovery.recover_all() == 2
        assert recovery.recover_all() == 0
    assert [message(app, turn_id)["status"] for turn_id in turns] == ["interrupted", "interrupted", "streaming"]


def test_a_process_that_takes_no_more_turns_says_so_before_writing(app, client, monkeypatch):
    chat = runtime.of(app)
    leaving = TurnRunner(app, app_settings.of(app), chat_client.of(app), chat.hub)
    leaving.drain(0)
    monkeypatch.setitem(app.extensions, "chat", replace(chat, runner=leaving))
    response = client.post("/api/chat/stream", json={"message": "Hello"})
    assert (response.status_code, response.content_type) == (503, "application/problem+json")
    assert response.headers["Retry-After"]
    assert client.get("/api/conversations").get_json()["conversations"] == []
    with app.app_context(), pytest.raises(Unavailable):
        service.start_turn(client.person.user_id, "x")


def _is_refused(port: int) -> bool:
    with socket.socket() as visitor:
        return visitor.connect_ex(("127.0.0.1", port)) == errno.ECONNREFUSED


@pytest.mark.once
def test_kill_9_sigterm_and_ctrl_c_of_the_web(app, _live, client, model):
    """One live web: killed in the middle of an answer, started again, told to end in the middle of two others."""
    _live.start_web(turn_lease_seconds=2, turn_drain_seconds=60)
    headers = {"Authorization": f"Bearer {client.person.token}"}
    model.hold_reply(match="killed")
    hold = model.hold_reply(match="drained", reply=[f"d{n} " for n in range(40)])
    with httpx2.Client(base_url=_live.url, headers=headers, timeout=30) as http:
        conversation = http.post("/api/conversations", json={}).json()["conversation_id"]
        path = f"/api/conversations/{conversation}/messages"
        turn_id = http.post(path, json={"content": "killed"}).json()["response_id"]
        wait_for_text(app, turn_id)
        _live.kill_web()
        assert message(app, turn_id)["status"] == "streaming"
        _live.start_web(turn_lease_seconds=2, turn_drain_seconds=60)
        events = parse(http.get(f"/api/chat/turns/{turn_id}/stream").text)
        assert (events[-1].name, events[-1].data["code"]) == ("error", "interrupted")
        assert deltas(events) == message(app, turn_id)["content"] != ""
        turn_id = http.post(path, json={"content": "drained"}).json()["response_id"]
        wait_for_text(app, turn_id)
        with http.stream("GET", f"/api/chat/turns/{turn_id}/stream") as viewer:
            os.kill(_live.web_pid, signal.SIGTERM)
            wait_until(lambda: _is_refused(_live.port), "a refusal")  # who waited would wait in vain
            assert message(app, turn_id)["status"] == "streaming"
            hold.release()
            assert "event: done" in viewer.read().decode()
        row = message(app, turn_id)
        assert (row["status"], row["content"]) == ("complete", "".join(f"d{n} " for n in range(40)))
        _live.restart_web(turn_lease_seconds=2, turn_drain_seconds=1800)
        turn_id = http.post(path, json={"content": "killed"}).json()["response_id"]
        wait_for_text(app, turn_id)
        with http.stream("GET", f"/api/chat/turns/{turn_id}/stream") as viewer:
            for pid in (_live.web_pid, *descendants(_live.web_pid)):  # a terminal's Ctrl-C reaches them all
                os.kill(pid, signal.SIGINT)
            assert '"code":"shutdown"' in viewer.read().decode()
    _live.stop_web()
    assert message(app, turn_id)["status"] == "interrupted"


def test_no_request_to_stop_is_lost_behind_one_that_cannot_be_read_or_a_clock_that_is_set_back(app, client, model):
    """Either ended it: nobody could stop a reply until the process was started again, or the clock had caught up."""
    model.hold_reply()
    redis, turns = app.extensions["redis"], [begin(client), begin(client)]
    for turn_id in turns:
        wait_for_text(app, turn_id)
    redis.xadd(turnlog.STOPS, {"none": "of ours"})
    redis.xadd(turnlog.STOPS, {"turn": turns[0]}, id=f"{(int(time.time()) + 3_600) * 1000}-0")
    wait_until(lambda: message(app, turns[0])["status"] == "stopped", "the stop", seconds=10)
    redis.delete(turnlog.STOPS)
    turnlog.request_stop(redis, turns[1])
    wait_until(lambda: message(app, turns[1])["status"] == "stopped", "the other stop", seconds=10)


def test_drain_finishes_what_it_can_and_stores_the_rest(settings, app, client, model):
    model.script(match="short", reply="done", first_delay=0.3)
    model.hold_reply(match="long", reply=[f"w{n} " for n in range(9)])
    runner = TurnRunner(app, settings, app.extensions["chat_client"], app.extensions["chat"].hub)
    with app.app_context():
        started = [service.start_turn(client.person.user_id, text) for text in ("short", "long")]
        db.session.commit()
        headers = {turn.reply.message_id: turn.header for turn in started}
    turns = list(headers)
    for turn_id in turns:  # asked of an earlier turn: SQLite, or who restores a backup, may give its number again
        app.extensions["redis"].xadd(turnlog.STOPS, {"turn": turn_id}, id=f"1-{turn_id}")
    for turn_id, header in headers.items():
        runner.submit(turn_id, header)
    wait_for_text(app, turns[1])
    runner.drain(4)
    short, long = (message(app, turn_id) for turn_id in turns)
    assert (short["status"], short["content"]) == ("complete", "done")
    assert (long["status"], long["error_code"]) == ("interrupted", "shutdown")
    assert long["content"].startswith("w0 w1")
    assert not turnlog.has_lease(app.extensions["redis"], turns[1])
    with pytest.raises(Unavailable):
        runner.require_room()


def test_a_stream_that_is_left_does_not_end_the_turn(app, client, model):
    hold = model.hold_reply(reply=[f"w{n} " for n in range(20)])
    response = client.post("/api/chat/stream", json={"message": "Hello"})
    events = iterate(response)
    turn_id = next(events).data["assistant_message_id"]
    next(events)
    response.close()
    hold.release()
    assert wait_for_end(app, turn_id)["content"] == "".join(f"w{n} " for n in range(20))
