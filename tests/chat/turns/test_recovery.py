"""What a running reply says outlives Redis, and a process that was away writes no further than was stored."""

import asyncio
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from redis.asyncio import Redis

from testkit.people import ApiClient
from testkit.processes import wait_until
from tests.chat.helpers import deltas, iterate, message, parse, wait_for_end
from tests.chat.test_stream import begin, wait_for_text
from tests.support.queries import count_queries
from webapp.chat import service
from webapp.chat.turns import recovery, runner, turn, turnlog
from webapp.chat.turns.leases import Leases
from webapp.chat.turns.runner import TurnRunner
from webapp.chat.turns.turn_database import TurnDatabase
from webapp.conversations.models import Message
from webapp.db.base import db, now, write_transaction


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replies are stored more often than they need to be."""
    monkeypatch.setattr(turn, "FIRST_SAVE", 0.1)
    monkeypatch.setattr(runner, "SAVE_SECONDS", 0.3)


@pytest.fixture
def own_runner(settings: Any, app: Flask) -> Iterator[TurnRunner]:
    """A runner with short leases."""
    impatient = settings.model_copy(update={"turn_lease_seconds": 1.2})
    made = TurnRunner(app, impatient, app.extensions["chat_client"], app.extensions["chat"].hub)
    made.start()
    yield made
    made.drain(5)


def _start_turns(client: ApiClient, app: Flask, count: int) -> list[int]:
    rows = []
    with app.app_context():
        for number in range(count):
            rows.append(service.start_turn(client.person.user_id, f"Question {number}").reply.message_id)
        db.session.commit()
    return rows


def test_a_reply_is_stored_while_it_is_written_and_outlives_redis(app, client, model, soon, monkeypatch):
    monkeypatch.setattr(recovery, "GRACE_SECONDS", 0.0)
    model.script(reply=[f"w{n} " for n in range(400)], token_delay=0.02)
    turn_id = begin(client)
    wait_until(lambda: len(message(app, turn_id)["content"]) > 40, "the text in the table")
    row = message(app, turn_id)
    assert row["status"] == "streaming"
    whole = "".join(f"w{n} " for n in range(400))
    assert whole.startswith(row["content"])
    app.extensions["redis"].flushall()  # Redis dies, and with it the process
    with app.app_context():
        app.extensions["chat"].runner._tasks[turn_id].get_loop().call_soon_threadsafe(
            app.extensions["chat"].runner._abandon, turn_id
        )
        wait_until(lambda: app.extensions["chat"].runner.active == 0, "the runner")
        app.extensions["redis"].flushall()
        recovery.recover_turn(turn_id)
        recovery.recover_turn(turn_id)
    found = message(app, turn_id)
    assert found["status"] == "interrupted"
    assert found["content"].startswith(row["content"])


def test_a_reply_that_cannot_be_recovered_holds_up_no_other(app, client, monkeypatch):
    looked: list[int] = []

    def look(turn_id: int) -> bool:
        looked.append(turn_id)
        raise ValueError("cannot be stored")

    turn_ids = _start_turns(client, app, 2)
    monkeypatch.setattr(recovery, "recover_turn", look)
    monkeypatch.setattr(recovery, "now", lambda: now() + timedelta(minutes=1))
    with app.app_context(), pytest.raises(ExceptionGroup):
        recovery.recover_all()
    assert looked == turn_ids


def test_what_may_be_lost_is_what_is_promised():
    check = runner.SAVE_SECONDS / runner.SAVE_CHECKS
    assert max(runner.SAVE_SECONDS, turn.FIRST_SAVE) + check + 0.5 <= recovery.LOSS_SECONDS


def test_storing_slowly_does_not_put_off_the_next_time(app, client, model, own_runner, soon, monkeypatch):
    """What is written meanwhile is as old as the beginning of the last save, not as its end."""
    due, save = [], TurnDatabase.save

    async def slowly(tables: TurnDatabase, texts: dict[int, str]) -> recovery.FinishedReplies:
        began = time.monotonic()
        left = await save(tables, texts)
        await asyncio.sleep(0.4)
        running = own_runner._turns.get(turn_id)
        asyncio.get_running_loop().call_soon(lambda: due.append(running.save_at - began if running else 0.0))
        return left

    monkeypatch.setattr(TurnDatabase, "save", slowly)
    model.script(reply=[f"w{n} " for n in range(100)], token_delay=0.02)
    (turn_id,) = _start_turns(client, app, 1)
    own_runner.submit(turn_id, {"conversation_id": 1, "user_message_id": 1, "assistant_message_id": turn_id})
    wait_until(lambda: due, "a save")
    assert due[0] <= runner.SAVE_SECONDS


def test_many_replies_are_stored_by_one_statement(app, client):
    turns = _start_turns(client, app, 5)
    with app.app_context():
        with count_queries() as sent, write_transaction():
            assert (
                recovery.save_texts({turn_id: f"text {turn_id} 🌊" for turn_id in turns}) == recovery.FinishedReplies()
            )
        assert len([statement for statement in sent if "UPDATE" in statement]) == 1
        assert len(sent) <= 2, "nothing but that, and perhaps BEGIN"
    assert [message(app, turn_id)["content"] for turn_id in turns] == [f"text {turn_id} 🌊" for turn_id in turns]


def test_what_has_ended_is_left_alone_and_said(app, client):
    ended, going, gone = _start_turns(client, app, 3)
    with app.app_context():
        with write_transaction():
            db.session.get(Message, ended).status = "interrupted"
            db.session.delete(db.session.get(Message, gone))
        with write_transaction():
            left = recovery.save_texts({ended: "more", going: "more", gone: "more"})
    assert left == recovery.FinishedReplies(ended={ended}, gone={gone})
    assert message(app, ended)["content"] == ""
    assert message(app, going)["content"] == "more"


def test_whoever_watches_a_long_reply_hears_that_it_was_deleted(client, model, soon):
    """What stores the text on its way may be the first to notice."""
    model.hold_reply(after=60, reply=[f"w{n} " for n in range(400)], token_delay=0.02)
    seen = []
    for event in iterate(client.post("/api/chat/stream", json={"message": "Hello"})):
        seen.append(event)
        if len(seen) == 2:
            assert client.delete(f"/api/conversations/{seen[0].data['conversation_id']}").status_code == 204
    assert seen[-1].name == "settled"
    assert len(seen) < 300, "it ended long before the model did"


def test_too_much_text_for_one_statement_takes_several(app, client, monkeypatch):
    monkeypatch.setattr(recovery, "BATCH_BYTES", 100)
    turns = _start_turns(client, app, 4)
    with app.app_context(), write_transaction():
        assert recovery.save_texts(dict.fromkeys(turns, "x" * 60)) == recovery.FinishedReplies()
    assert {message(app, turn_id)["content"] for turn_id in turns} == {"x" * 60}


def test_a_process_that_was_suspended_past_its_lease_writes_no_more(app, client, model, own_runner, monkeypatch, redis):
    """Recovery has stored what the stream held; nobody is to see more than that."""
    monkeypatch.setattr(recovery, "GRACE_SECONDS", 0.0)
    monkeypatch.setattr(runner, "SAVE_SECONDS", 60)
    model.script(reply=[f"w{n} " for n in range(300)], token_delay=0.02)
    (turn_id,) = _start_turns(client, app, 1)
    with app.app_context():
        header = {"conversation_id": 1, "user_message_id": 1, "assistant_message_id": turn_id}
    own_runner.submit(turn_id, header)
    wait_for_text(app, turn_id)
    loop = own_runner.start()
    loop.call_soon_threadsafe(own_runner._upkeep[0].cancel)  # what renews the leases wakes up later than the writer
    loop.call_soon_threadsafe(time.sleep, 2.5)  # as SIGSTOP would
    wait_until(lambda: not turnlog.has_lease(redis, turn_id), "the lease to lapse")
    with app.app_context():
        recovery.recover_turn(turn_id)
        assert recovery.recover_turn(turn_id)
    wait_until(lambda: own_runner.active == 0, "the process to notice")
    stored = wait_for_end(app, turn_id)["content"]
    assert turnlog.text_of(turnlog.read(redis, turn_id)) == stored
    events = parse(client.get(f"/api/chat/turns/{turn_id}/stream").text)
    assert (deltas(events), events[-1].name) == (stored, "error")


def test_a_lease_of_somebody_else_is_not_renewed(settings, redis):
    lost: list[int] = []

    async def work() -> None:
        client = Redis.from_url(settings.redis_url)

        async def still(turn_ids: Any) -> Any:
            return [turn_id for turn_id in turn_ids if turn_id != 3]

        leases = Leases(client, seconds=5, still_ours=still, lost=lost.append)
        for turn_id in (1, 2, 3, 4):
            assert await leases.acquire(turn_id)
            leases.turns.add(turn_id)
        redis.set(turnlog.lease_key(1), b"somebody")
        redis.delete(turnlog.lease_key(2), turnlog.lease_key(3))
        await leases.renew()
        await client.aclose()

    asyncio.run(work())
    assert lost == [1, 3], "another's, and one that has ended meanwhile"
    assert redis.get(turnlog.lease_key(1)) == b"somebody"
    assert turnlog.has_lease(redis, 2), "Redis was emptied: it is still ours"


def test_recovery_that_fails_holds_nothing(app, client, monkeypatch):
    monkeypatch.setattr(recovery, "GRACE_SECONDS", 0.0)
    (turn_id,) = _start_turns(client, app, 1)

    def away(*_args: Any) -> Any:
        raise OSError("away")

    with app.app_context():
        recovery.recover_turn(turn_id)
        with monkeypatch.context() as patched:
            patched.setattr(recovery, "finish_turn", away)
            with pytest.raises(OSError, match="away"):
                recovery.recover_turn(turn_id)
        assert not turnlog.has_lease(app.extensions["redis"], turn_id)
        recovery.recover_turn(turn_id)
        assert recovery.recover_turn(turn_id)
