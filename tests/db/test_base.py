"""Columns and transactions: UTC with microseconds, byte-wise keys, one writer that waits its turn."""

import gc
import os
import sqlite3
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone

import pytest
from sqlalchemy import Connection, Engine, create_engine, event, func, select, text
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.orm import Session

from tests.conversations.rows import add_conversation
from tests.support.interleaving import at_once
from tests.support.queries import execute, get_row
from webapp.accounts.models import IdempotencyKey, SiteSetting
from webapp.config import Settings
from webapp.conversations.models import Conversation
from webapp.db import engine as engine_setup
from webapp.db.base import after_commit, db, insert_row, now, write_transaction


def test_instants_come_back_in_utc_to_the_microsecond(app, user):
    local = datetime(2026, 7, 1, 14, 0, 0, 123_456, tzinfo=timezone(timedelta(hours=2)))
    conversation_id = add_conversation(app, user.user_id, at=local)
    found = get_row(app, Conversation, conversation_id).updated_at
    assert (found, found.tzinfo) == (local, UTC)


def test_the_databases_own_clock_is_utc(app, user):
    with app.app_context():
        with write_transaction():
            db.session.execute(text("INSERT INTO conversations (user_id) VALUES (:id)"), {"id": user.user_id})
        row = db.session.scalars(select(Conversation)).one()
        assert abs(row.created_at - now()) < timedelta(seconds=60)
        assert (row.title_source, row.message_count, row.is_archived) == ("none", 0, False)


def test_keys_are_compared_byte_by_byte(app, user):
    with app.app_context():
        with write_transaction():
            for key in ("a", "A", "ä", "🎉", "👍"):
                db.session.add(IdempotencyKey(user_id=user.user_id, key=key, request_hash="", status=200, body={}))
        for key in ("a", "A", "ä", "🎉", "👍"):
            found = db.session.scalars(select(IdempotencyKey.key).where(IdempotencyKey.key == key)).all()
            assert found == [key]


def test_a_write_transaction_commits_or_leaves_nothing(app, user):
    with app.app_context():
        with pytest.raises(ZeroDivisionError), write_transaction():
            undone = insert_row(Conversation, user_id=user.user_id, title="undone")
            raise ZeroDivisionError
        row = insert_row(Conversation, user_id=user.user_id)  # on SQLite with the same id
        assert row.title is None and row is not undone and db.session.scalars(select(Conversation)).all() == [row]


def test_writers_wait_for_each_other_and_lose_nothing(app):
    """On SQLite in a line of their process: who asks the database while it is written sleeps for up to 100 ms."""
    with app.app_context(), write_transaction():
        db.session.add(SiteSetting(key="n", value=0))
    asking, most = set(), []

    def begin(_connection, _cursor, statement, *_rest):
        if statement == "BEGIN IMMEDIATE":
            asking.add(threading.get_ident())
            most.append(len(asking))

    def work() -> None:
        for _ in range(10):
            with app.app_context(), write_transaction():
                row = db.session.get(SiteSetting, "n", with_for_update=True)
                row.value += 1
                db.session.flush()
                asking.discard(threading.get_ident())

    with app.app_context():
        event.listen(db.engine, "before_cursor_execute", begin)
    at_once(*[work] * 4)
    assert get_row(app, SiteSetting, "n").value == 40
    assert set(most) <= {1}


def test_an_id_is_never_given_twice(app, user):
    first = add_conversation(app, user.user_id)
    execute(app, text("DELETE FROM conversations"))
    assert add_conversation(app, user.user_id) > first


@pytest.mark.mysql_only
def test_the_session_of_mysql_is_strict_and_in_utc(app):
    with app.app_context():
        zone, mode = db.session.execute(text("SELECT @@session.time_zone, @@session.sql_mode")).one()
        level = db.session.scalar(text("SELECT @@session.tx_isolation"))
        assert (zone, level) == ("+00:00", "READ-COMMITTED")
        assert "STRICT_TRANS_TABLES" in mode
        assert db.session.scalar(select(func.connection_id())) > 0


def test_errors_of_the_database_do_not_tell_the_values(app, user):
    with app.app_context(), pytest.raises(DBAPIError) as failed:
        db.session.execute(text("SELECT :said FROM no_such_table"), {"said": "The user is allergic to walnuts."})
    assert "walnut" not in str(failed.value) and "no_such_table" in str(failed.value)


@pytest.mark.mysql_only
def test_only_an_idle_connection_is_asked_whether_it_lives(app, monkeypatch):
    with app.app_context():
        engine = db.engine
        dialect, pings = type(engine.dialect), []
        ping = dialect.do_ping
        monkeypatch.setattr(dialect, "do_ping", lambda self, connection: pings.append(1) or ping(self, connection))
        for _ in range(5):
            with engine.connect() as connection:
                connection.execute(text("SELECT 1"))
        assert not pings
        monkeypatch.setattr(engine_setup, "LIVENESS_SECONDS", 0.0)
        with engine.connect() as connection:
            connection.execute(text("SELECT 1"))
        assert pings == [1]


@pytest.mark.mysql_only
def test_an_idle_connection_that_was_ended_is_replaced(app, monkeypatch):
    monkeypatch.setattr(engine_setup, "LIVENESS_SECONDS", 0.0)
    with app.app_context():
        engine = db.engine
        with engine.connect() as connection:
            number = connection.scalar(text("SELECT CONNECTION_ID()"))
            killer = engine.connect()
        with killer:
            assert killer.scalar(text("SELECT CONNECTION_ID()")) != number
            killer.execute(text(f"KILL {number}"))
        for _ in range(engine.pool.size() + 1):
            with engine.connect() as connection:
                assert connection.scalar(text("SELECT CONNECTION_ID()")) != number


@pytest.mark.mysql_only
def test_of_idle_connections_that_do_not_answer_only_the_first_is_waited_for(app, monkeypatch):
    """A network that drops what was idle, and says so to nobody, kept one request waiting for each connection."""
    with app.app_context():
        engine = db.engine
        with engine.connect() as first, engine.connect() as second:
            numbers = {each.scalar(text("SELECT CONNECTION_ID()")) for each in (first, second)}
        pings = []

        def wait(_dialect: object, _connection: object) -> None:
            pings.append(1)
            raise engine.dialect.loaded_dbapi.OperationalError(2013, "Lost connection")

        monkeypatch.setattr(type(engine.dialect), "do_ping", wait)
        monkeypatch.setattr(engine_setup, "LIVENESS_SECONDS", 0.0)
        monkeypatch.setattr(engine_setup, "SILENT_SECONDS", -1.0)
        with pytest.raises(DBAPIError):
            engine.connect()
        later = [engine.connect() for _ in range(3)]
        assert numbers.isdisjoint({each.scalar(text("SELECT CONNECTION_ID()")) for each in later})
        assert pings == [1]
        for each in later:
            each.close()


def test_after_a_commit_everything_asked_for_happens_once_and_in_order_and_a_failure_stops_nothing(app_context):
    done: list[str] = []
    after_commit(lambda: done.append("first"))
    savepoint = db.session.begin_nested()
    after_commit(lambda: done.append("taken back"))
    savepoint.rollback()
    with db.session.begin_nested():
        after_commit(lambda: 1 // 0)
    after_commit(lambda: done.append("last"))
    assert done == []
    db.session.commit()
    assert done == ["first", "last"]
    after_commit(lambda: done.append("never"))
    db.session.execute(text("SELECT 1"))
    db.session.rollback()
    db.session.execute(text("SELECT 1"))
    db.session.commit()
    assert done == ["first", "last"]


on_a_server = pytest.mark.skipif(os.environ.get("TEST_DB") == "sqlite", reason="about MySQL")


@pytest.fixture
def single(settings: Settings) -> Iterator[Engine]:
    """A server's database with a pool of one connection, so that its counters can be asked for."""
    options = {**engine_setup.engine_options(settings.database_url, 1), "max_overflow": 0}
    engine = create_engine(settings.database_url, **options)
    engine_setup.prepare_engine(engine)
    yield engine
    engine.dispose()


def rollbacks(connection: Connection) -> int:
    """How many the connection has been asked for."""
    row = connection.execute(text("SHOW SESSION STATUS LIKE 'Com_rollback'")).one()
    return int(row[1])


@on_a_server
def test_a_transaction_that_has_ended_is_not_rolled_back_again(single):
    with single.connect() as connection:
        before = rollbacks(connection)
        connection.commit()
    for _ in range(3):
        with Session(single) as session:
            session.execute(text("SELECT 1"))
            session.commit()
    with single.connect() as connection:
        assert rollbacks(connection) == before
        connection.rollback()
        assert rollbacks(connection) == before + 1
    with single.connect() as connection:
        assert rollbacks(connection) == before + 2, "the one that ended the read before, once"


@on_a_server
def test_a_connection_that_somebody_lost_comes_back_without_what_was_open_on_it(single, user):
    lost = single.connect()
    lost.execute(text("UPDATE users SET name = 'Lost' WHERE user_id = :id"), {"id": user.user_id})
    del lost
    gc.collect()
    with single.connect() as connection:
        connection.commit()
        found = connection.scalar(text("SELECT name FROM users WHERE user_id = :id"), {"id": user.user_id})
    assert found != "Lost"


def test_a_file_that_is_deleted_or_replaced_is_written_to_no_more(tmp_path):
    """Whoever had it open would go on, and what they were told is stored would be gone with them."""
    path = tmp_path / "one.sqlite3"
    engine = create_engine(f"sqlite:///{path}", **engine_setup.engine_options("sqlite:", 1))
    engine_setup.prepare_engine(engine)

    def store(word: str) -> None:
        with engine.begin() as connection:
            connection.execute(text("INSERT INTO words VALUES (:word)"), {"word": word})

    for name in ("one", "other"):
        with sqlite3.connect(tmp_path / f"{name}.sqlite3") as plain:
            plain.execute("CREATE TABLE words (word TEXT)")
    store("first")
    for file in tmp_path.glob("one.sqlite3*"):  # its log is part of it
        file.unlink()
    with pytest.raises(OperationalError, match="the file doesn't exist"):
        store("lost")
    path.symlink_to(path)
    with pytest.raises(OperationalError, match="the file doesn't exist"):  # what stands there is no file at all
        store("lost")
    (tmp_path / "other.sqlite3").rename(path)
    store("second")
    engine.dispose()
    assert sqlite3.connect(path).execute("SELECT word FROM words").fetchall() == [("second",)]
