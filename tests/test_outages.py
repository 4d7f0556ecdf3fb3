"""Away, silent, full: what a request is told, how soon, and that the next one is served."""

import errno
import os
import signal
import socket
import time
from collections.abc import Iterator
from io import BytesIO
from typing import Any
from unittest.mock import AsyncMock, Mock

import pytest
from flask import Flask, request_finished
from redis import Redis
from redis.exceptions import ConnectionError as RedisAway, TimeoutError as RedisTimeout
from sqlalchemy import Column, Integer, Table
from sqlalchemy.exc import OperationalError

from tests.chat.helpers import deltas, iterate, names
from tests.support.queries import listener, scalars
from webapp import create_app
from webapp.accounts.models import SiteSetting
from webapp.chat.turns import follow
from webapp.conversations import lists
from webapp.db.base import db
from webapp.db.engine import engine_options
from webapp.extensions import make_redis
from webapp.files import uploads
from webapp.redis import clients
from webapp.redis.clients import Wire


@pytest.fixture
def silent() -> Iterator[str]:
    """The URL of a Redis that takes connections and never answers."""
    server = socket.create_server(("127.0.0.1", 0), backlog=256)
    yield f"redis://127.0.0.1:{server.getsockname()[1]}/0"
    server.close()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webapp.extensions.ANSWER_SECONDS", 0.5)


def test_a_silent_redis_is_waited_for_once(silent, impatient):
    client = make_redis(silent)
    started = time.monotonic()
    for _ in range(20):
        with pytest.raises(RedisTimeout):
            client.get("x")
    with pytest.raises(RedisTimeout), client.pipeline() as pipe:
        pipe.get("x")
        pipe.execute()
    assert time.monotonic() - started < 10 * 0.5
    client.close()


def test_after_the_pause_it_is_asked_again(app, settings, monkeypatch):
    client = make_redis(settings.redis_url)
    retry = client.connection_pool.connection_kwargs["retry"]
    retry._silent_until = time.monotonic() + 3_600
    with pytest.raises(RedisTimeout):
        client.get("x")
    retry._silent_until = time.monotonic()
    assert client.get("x") is None
    client.close()


def test_a_request_with_a_silent_redis_ends_soon(app, client, anonymous, silent, impatient, monkeypatch):
    monkeypatch.setitem(app.extensions, "redis", make_redis(silent))
    for ask in (
        lambda: client.get("/api/conversations"),
        lambda: client.post("/api/conversations", json={"title": "x"}),
        lambda: anonymous.get("/readyz"),
    ):
        time.sleep(clients.PAUSE_SECONDS)
        started = time.monotonic()
        answer = ask()
        assert time.monotonic() - started < 4
        assert answer.status_code in (200, 201, 503)
    assert anonymous.get("/readyz").get_json()["redis"] == "away"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.ESTALE])
def test_a_disk_that_takes_no_files_is_503(client, monkeypatch, number):
    def refuse(*_args: Any, **_options: Any) -> Any:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(uploads, "store_and_read", refuse)
    answer = client.post("/api/files", data={"file": (BytesIO(b"words"), "words.txt")})
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "60")
    assert "disk is full" in answer.json["detail"]


def test_readyz_writes(app, anonymous, servers, monkeypatch):
    assert anonymous.get("/readyz").status_code == 200
    redis: Redis = app.extensions["redis"]
    before = redis.config_get("maxmemory*")
    redis.config_set("maxmemory-policy", "noeviction")
    redis.config_set("maxmemory", 1)
    try:
        answer = anonymous.get("/readyz")
        assert (answer.status_code, answer.get_json()["redis"]) == (503, "cannot be written to")
    finally:
        for name in ("maxmemory", "maxmemory-policy"):
            redis.config_set(name, before[name])
    assert anonymous.get("/readyz").status_code == 200
    lost = Table("lost", db.metadata, Column("id", Integer))
    try:
        answer = anonymous.get("/readyz")
        assert (answer.status_code, answer.get_json()["tables"]) == (503, "missing: lost")
    finally:
        db.metadata.remove(lost)


@pytest.mark.mysql_only
@pytest.mark.parametrize(("code", "state"), [(1290, "away"), (1142, "refuses access")])
def test_readyz_tells_a_read_only_database(app, anonymous, caplog, code, state):
    """It answers every question, and takes nothing; the log says why."""

    def refuse(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        if statement.startswith("INSERT"):
            raise OperationalError(statement, {}, Exception(code, "read-only"))

    with app.app_context(), listener(db.engine, "before_cursor_execute", refuse):
        answer = anonymous.get("/readyz")
        assert (answer.status_code, answer.get_json()["database"]) == (503, state)
    assert "database not ready: read-only" in caplog.text
    assert scalars(app, db.select(SiteSetting.key).where(SiteSetting.key.startswith("readyz"))) == []


def test_the_limiter_leaves_retry_after_alone(settings, app, user, monkeypatch):
    limited = create_app(settings.model_copy(update={"rate_limits": True}))
    with limited.test_client() as client:

        def refuse(*_args: Any, **_options: Any) -> Any:
            raise OperationalError("SELECT", {}, Exception(2013, "lost"))

        fine = client.get("/login")
        assert fine.status_code in (200, 302, 303)
        assert "Retry-After" not in fine.headers
        headers = {"Authorization": f"Bearer {user.token}"}
        unknown = client.post("/api/exports", json={"what": "conversation", "conversation_id": 9}, headers=headers)
        assert (unknown.status_code, unknown.headers.get("Retry-After")) == (404, None)
        monkeypatch.setattr(lists, "list_conversations", refuse)
        answer = client.get("/api/conversations", headers={"Authorization": f"Bearer {user.token}"})
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
    with limited.app_context():
        db.engine.dispose()


def test_a_connection_that_dies_before_the_teardown_harms_nobody(app, client, monkeypatch):
    with app.app_context():
        dialect = db.engine.dialect

    def dead(*_args: Any) -> None:
        raise dialect.loaded_dbapi.OperationalError(2006, "gone away")

    with monkeypatch.context() as patched:

        def die(_sender: Flask, **_extra: Any) -> None:
            patched.setattr(dialect, "do_rollback", dead)

        with request_finished.connected_to(die, app):
            assert client.get("/api/conversations").status_code == 200
    assert client.get("/api/conversations").status_code == 200


def test_a_statement_has_an_end():
    options = engine_options("mysql+mysqldb://x/y", 5, 4)
    arguments = options["connect_args"]
    assert (arguments["read_timeout"], arguments["write_timeout"], arguments["connect_timeout"]) == (4, 4, 2)
    assert options["pool_timeout"] <= 4


@pytest.mark.mysql_only
@pytest.mark.slow
def test_a_database_that_hangs_is_away_within_seconds(settings, app, servers, client):
    hasty = create_app(settings.model_copy(update={"database_seconds": 2}))
    token = {"Authorization": f"Bearer {client.person.token}"}
    with hasty.test_client() as asking:
        assert asking.get("/api/conversations", headers=token).status_code == 200
        time.sleep(1.2)
        process = servers.mariadb._process
        process.send_signal(signal.SIGSTOP)
        try:
            started = time.monotonic()
            answer = asking.get("/api/conversations", headers=token)
            assert answer.status_code == 503
            assert time.monotonic() - started < 6
        finally:
            process.send_signal(signal.SIGCONT)
        assert asking.get("/api/conversations", headers=token).status_code == 200
    with hasty.app_context():
        db.engine.dispose()


def test_while_redis_is_away_a_turn_is_told_from_the_tables(app, client, model, monkeypatch):
    """Its viewers get a `turn` event, and the text as it grows."""
    monkeypatch.setattr(follow, "POLL_SECONDS", 0.1)
    monkeypatch.setattr("webapp.chat.turns.turn.FIRST_SAVE", 0.1)
    monkeypatch.setattr("webapp.chat.turns.runner.SAVE_SECONDS", 0.3)
    runner = app.extensions["chat"].runner
    runner.start()
    nowhere = Mock(get_connection=Mock(side_effect=RedisAway("away")))
    monkeypatch.setattr(app.extensions["redis"], "connection_pool", nowhere)
    monkeypatch.setattr(Wire, "send", AsyncMock(side_effect=RedisAway("away")))
    hold = model.hold_reply(after=30, reply=[f"w{n} " for n in range(60)])
    events = []
    for found in iterate(client.post("/api/chat/stream", json={"message": "Hello"})):
        events.append(found)
        if found.name == "delta":
            hold.release()
    assert names(events) == ["turn", "delta", "done"]
    assert deltas(events) == "".join(f"w{n} " for n in range(60))
    assert len([event for event in events if event.name == "delta"]) > 1, "as it grows"
