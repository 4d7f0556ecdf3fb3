"""A transaction that lost, or whose server went away, is begun again as a whole; nothing is done twice."""

import io
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest.mock import Mock

import pytest
from flask import Flask
from sqlalchemy import func, select, text
from sqlalchemy.exc import OperationalError

from testkit.people import api_client
from tests.journeys.rows import SMALL
from tests.support.queries import scalar
from webapp.db import conflicts
from webapp.db.base import Base, db
from webapp.db.conflicts import is_conflict, repeat_on_conflict
from webapp.db.engine import SYNC, catch_up
from webapp.db.failures import database_is_away, savepoint_is_gone
from webapp.memories.models import Memory
from webapp.memories.showing.responses import MemoryOut

MEMORY = {"memory_type": "fact", "content": "Keeps bees on the roof"}


class Trouble:
    """What the server is to answer to statements that begin in a way, in this order; counts those."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, app: Flask) -> None:
        with app.app_context():
            self.dialect = db.engine.dialect
        self.codes: list[int] = []
        self.begins = "INSERT INTO memories "
        self.met = 0
        execute, commit = self.dialect.do_execute, self.dialect.do_commit

        def do_execute(cursor: Any, statement: str, parameters: Any, context: Any = None) -> Any:
            if statement.startswith(self.begins):
                self._fail()
            return execute(cursor, statement, parameters, context)

        def do_commit(connection: Any) -> Any:
            if self.begins == "COMMIT":
                if self.codes == [1213]:
                    connection.rollback()  # as the server does: what it locked is free before it is begun again
                self._fail()
            return commit(connection)

        monkeypatch.setattr(self.dialect, "do_execute", do_execute)
        monkeypatch.setattr(self.dialect, "do_commit", do_commit)
        monkeypatch.setattr(conflicts, "PAUSE_SECONDS", 0.001)
        monkeypatch.setattr(conflicts, "WITHIN_SECONDS", 600.0)  # however busy the machine is

    def _fail(self) -> None:
        self.met += 1
        if self.codes:
            code = self.codes.pop(0)
            if code:
                raise self.dialect.loaded_dbapi.OperationalError(code, "as a cluster says it")


@pytest.fixture
def trouble(monkeypatch: pytest.MonkeyPatch, app: Flask) -> Trouble:
    return Trouble(monkeypatch, app)


def memories(app: Flask) -> int:
    return scalar(app, select(func.count()).select_from(Memory)) or 0


@pytest.mark.parametrize("code", [1213, 1205, 1047, 2013, 2006])
def test_a_request_that_came_to_nothing_is_begun_again(app, client, trouble, code):
    trouble.codes = [code, code]
    answer = client.post("/api/memories", json=MEMORY, headers={"Idempotency-Key": "one"})
    assert (answer.status_code, trouble.met, memories(app)) == (201, 3, 1)
    repeated = client.post("/api/memories", json=MEMORY, headers={"Idempotency-Key": "one"})
    assert repeated.get_json() == answer.get_json() and memories(app) == 1


def test_a_commit_that_another_node_was_first_with_is_begun_again(app, client, trouble):
    trouble.begins, trouble.codes = "COMMIT", [1213]
    assert client.post("/api/memories", json=MEMORY).status_code == 201
    trouble.begins = ""
    assert memories(app) == 1


@pytest.mark.parametrize("code", [2013, 1047])
def test_a_commit_without_an_answer_is_not_repeated(app, client, trouble, code):
    client.get("/api/account")  # that the token was used is recorded with the first request
    trouble.begins, trouble.codes = "COMMIT", [code]
    answer = client.post("/api/memories", json=MEMORY)
    assert (answer.status_code, answer.headers["Retry-After"], trouble.met) == (503, "5", 1)


def test_what_goes_on_losing_is_told_to_come_back(app, client, trouble):
    trouble.codes = [1213] * 99
    answer = client.post("/api/memories", json=MEMORY)
    assert (answer.status_code, trouble.met) == (503, conflicts.TRIES)
    trouble.codes = []
    assert client.post("/api/memories", json=MEMORY).status_code == 201 and memories(app) == 1


def test_after_a_commit_of_the_same_request_nothing_is_repeated(app, client, trouble, monkeypatch):
    calls = []

    def lose(answer: Any) -> Any:
        calls.append(answer)
        raise OperationalError("UPDATE", {}, Exception(1213, "too late"))

    monkeypatch.setattr(MemoryOut, "model_dump_json", lose)
    assert client.post("/api/memories", json=MEMORY).status_code == 503
    assert (len(calls), memories(app)) == (1, 1)


def test_a_body_that_is_a_stream_is_not_read_twice(app, client, trouble):
    trouble.begins, trouble.codes = "INSERT INTO ", [1213] * 99
    data = {"file": (io.BytesIO(b"words"), "a.txt")}
    assert client.post("/api/files", data=data, content_type="multipart/form-data").status_code == 503
    assert trouble.met == 1


def test_of_several_requests_at_once_the_later_see_what_the_first_did(client):
    made = client.post("/api/saved_prompts", json={"name": "Tides", "content": "Tell of tides"}).get_json()
    path = f"/api/saved_prompts/{made['saved_prompt_id']}"
    clients = [api_client(client.application, client.person) for _ in range(6)]
    ways: list[tuple[str, Any]] = [("DELETE", None), *[("PATCH", {"name": "Ebb"})] * 5]
    with ThreadPoolExecutor(6) as pool:
        begun = list(pool.map(lambda one: one.post("/api/journeys", json=SMALL).status_code, clients))
        changed = list(pool.map(lambda one, way: one.open(path, method=way[0], json=way[1]).status_code, clients, ways))
    assert sorted(begun) == [201, *[409] * 5] and set(changed) <= {200, 204, 404}


def test_an_error_of_ours_is_not_repeated():
    calls: list[int] = []

    def broken() -> None:
        calls.append(1)
        raise OperationalError("SELECT", {}, Exception(1064, "syntax"))

    with pytest.raises(OperationalError):
        repeat_on_conflict(broken)
    assert calls == [1]


def test_a_job_in_conflict_is_begun_again_at_once(app, client, trouble, run_jobs):
    assert client.post("/api/memories", json=MEMORY).status_code == 201
    trouble.begins, trouble.codes = "COMMIT", [1213]
    assert run_jobs()
    trouble.begins = ""
    assert not scalar(app, text("SELECT COUNT(*) FROM memories WHERE embedding IS NULL"))


@pytest.mark.parametrize(("code", "is_dropped"), [(1047, True), (1290, True), (1836, True), (1213, False)])
def test_a_server_that_does_not_serve_is_left(app, settings, trouble, code, is_dropped):
    if settings.sqlalchemy_url.startswith("sqlite"):
        pytest.skip("about MySQL")
    trouble.begins, trouble.codes = "SELECT 7", [code]
    with app.app_context(), db.engine.connect() as connection:
        with pytest.raises(OperationalError) as caught:
            connection.execute(text("SELECT 7"))
        assert connection.invalidated is is_dropped
    assert database_is_away(caught.value) and is_conflict(caught.value) is (code in (1213, 1047))


class _Cursor:
    def __init__(self, said: list[str], state: str) -> None:
        self.said, self.state = said, state

    def execute(self, statement: str) -> None:
        self.said.append(statement)

    def fetchone(self) -> tuple[str, str] | None:
        return ("wsrep_on", self.state) if self.state else None

    def fetchall(self) -> list[tuple[int]]:
        return [(1,)]

    def close(self) -> None:
        """Nothing is open."""


@pytest.mark.parametrize(("state", "expected"), [("ON", list(SYNC)), ("OFF", []), ("", [])])
def test_a_new_connection_to_a_galera_node_waits_for_what_the_cluster_has(state, expected):
    said: list[str] = []
    catch_up(Mock(cursor=lambda: _Cursor(said, state)))
    assert said[1:] == expected


def test_every_table_has_a_primary_key():
    """Galera replicates rows by their keys, and refuses to delete where there is none."""
    assert not [table.name for table in Base.metadata.tables.values() if not table.primary_key.columns]


@pytest.mark.mysql_only
def test_a_deadlock_within_a_savepoint_is_a_conflict(app):
    """The server takes the savepoint along with the transaction, and what is heard is that it is gone."""
    first, second = 991_001, 991_002
    with app.app_context(), db.engine.begin() as connection:
        connection.execute(text("CREATE TABLE tugs (id INT PRIMARY KEY, n INT) ENGINE=InnoDB"))
        connection.execute(text(f"INSERT INTO tugs VALUES ({first}, 0), ({second}, 0)"))
    met: list[BaseException] = []
    both = threading.Barrier(2)

    def pull(mine: int, theirs: int) -> None:
        with app.app_context():
            try:
                db.session.execute(text("UPDATE tugs SET n = n + 1 WHERE id = :id"), {"id": mine})
                both.wait(20)
                with db.session.begin_nested():
                    db.session.execute(text("UPDATE tugs SET n = n + 1 WHERE id = :id"), {"id": theirs})
                db.session.commit()
            except OperationalError as error:
                met.append(error)
                conflicts.forget_session()

    threads = [threading.Thread(target=pull, args=pair) for pair in ((first, second), (second, first))]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    finally:
        with app.app_context(), db.engine.begin() as connection:
            connection.execute(text("DROP TABLE tugs"))
    (lost,) = met
    assert savepoint_is_gone(lost)
    assert is_conflict(lost) and database_is_away(lost)


def test_a_function_that_is_missing_is_no_savepoint():
    """The server has one number for both; the one is for another try, the other a mistake that must be seen."""
    missing = OperationalError("SELECT later()", {}, Exception(1305, "FUNCTION commonplace.later does not exist"))
    assert not is_conflict(missing) and not database_is_away(missing)
