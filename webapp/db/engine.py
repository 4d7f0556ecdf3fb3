"""The engine: its options, and what each of its connections and transactions needs."""

import re
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, FromClause, event
from sqlalchemy.dialects.sqlite.base import SQLiteCompiler
from sqlalchemy.engine.interfaces import DBAPIConnection, ExceptionContext
from sqlalchemy.exc import DisconnectionError, InvalidatePoolError, OperationalError
from sqlalchemy.pool import ConnectionPoolEntry, PoolProxiedConnection, PoolResetState

from webapp.db import text_search
from webapp.db.base import writing
from webapp.db.failures import NOT_SERVING
from webapp.telemetry import tracing
from webapp.telemetry.metrics import DATABASE, recorder

BUSY_SECONDS = 30
"""Seconds that a transaction waits for the one writer that SQLite has; its option `busy_seconds` may say less."""
LIVENESS_SECONDS = 1.0
"""How many seconds a connection that was just used is assumed to be alive."""
_TABLE = re.compile(r"\b(?:FROM|INTO|UPDATE)\s+[`\"]?([a-z_]+)\b")
SILENT_SECONDS = 1.0
"""If a ping fails only after so many seconds, the server hangs; a dead connection fails at once."""


def engine_options(url: str, pool: int, patience: int = 60) -> dict[str, Any]:
    """Return options for create_engine: a bounded pool, UTC, read committed; on SQLite WAL and foreign keys.

    A statement may take `patience` seconds. Errors leave out its values, because they are logged and kept with failed
    jobs.
    """
    options: dict[str, Any] = {"hide_parameters": True, "pool_size": pool, "max_overflow": pool}
    if url.startswith("sqlite"):
        # isolation_level None: the driver leaves BEGIN to us (prepare_engine), so that savepoints nest as they should.
        driver = {"timeout": min(BUSY_SECONDS, patience), "isolation_level": None, "check_same_thread": False}
        return options | {"connect_args": driver}
    return options | {
        "pool_recycle": 1_800,
        "pool_reset_on_return": None,  # _reset_open
        "pool_timeout": min(15, patience),
        "isolation_level": "READ COMMITTED",
        "connect_args": {
            "connect_timeout": min(5, max(1, patience // 2)),
            "read_timeout": patience,
            "write_timeout": patience,
            "init_command": "SET time_zone = '+00:00', "
            "sql_mode = 'STRICT_TRANS_TABLES,NO_ZERO_DATE,NO_ENGINE_SUBSTITUTION'",
        },
    }


def _ping_idle(engine: Engine) -> None:
    """Check a connection that was idle for a while; SQLAlchemy's `pool_pre_ping` would check five times a turn.

    Where one does not answer, those that were idle then are not asked any more: a network that has forgotten them
    would keep a request waiting for each.
    """
    silent_at = 0.0

    @event.listens_for(engine, "checkin")
    def _checkin(_connection: DBAPIConnection | None, record: ConnectionPoolEntry) -> None:
        record.info["used_at"] = time.monotonic()

    @event.listens_for(engine, "checkout")
    def _checkout(connection: DBAPIConnection, record: ConnectionPoolEntry, _proxy: PoolProxiedConnection) -> None:
        nonlocal silent_at
        start = time.monotonic()
        used_at = record.info.get("used_at", float("inf"))
        if start - used_at < LIVENESS_SECONDS:
            return
        if used_at < silent_at:
            raise DisconnectionError("idle since before the server fell silent")
        try:
            engine.dialect.do_ping(connection)
        except engine.dialect.loaded_dbapi.Error as error:
            if time.monotonic() - start > SILENT_SECONDS:
                # It did not answer: another attempt to connect would take just as long.
                silent_at = start
                raise OperationalError("ping", {}, error) from error
            raise InvalidatePoolError from error  # older ones are dead as well


def _reset_open(engine: Engine) -> None:
    """Roll back a connection that comes back with an open transaction; `reset_on_return` was every sixth statement."""

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        connection.info["is_open"] = True

    @event.listens_for(engine, "commit")
    @event.listens_for(engine, "rollback")
    def _end(connection: Connection) -> None:
        if not connection.invalidated:
            connection.info["is_open"] = False

    @event.listens_for(engine, "reset")
    def _reset(connection: DBAPIConnection, record: ConnectionPoolEntry, state: PoolResetState) -> None:
        if record.info.get("is_open", True) and not state.terminate_only:
            connection.rollback()
            record.info["is_open"] = False


def _measure(engine: Engine) -> None:
    @event.listens_for(engine, "before_cursor_execute")
    def _note_start(_conn: Connection, _cursor: Any, _statement: str, _values: Any, context: Any, _many: bool) -> None:
        context.measured_from = time.perf_counter()

    @event.listens_for(engine, "after_cursor_execute")
    def _observe(_conn: Connection, _cursor: Any, statement: str, _values: Any, context: Any, _many: bool) -> None:
        seconds = time.perf_counter() - context.measured_from
        recorder.observe(DATABASE, seconds)
        if tracing.is_on():
            verb, table = _verb_and_table(statement)
            attributes = {"db.system.name": engine.dialect.name, "db.operation.name": verb, "db.collection.name": table}
            tracing.record_wait(f"{verb} {table}" if table else verb, seconds, attributes)


def _verb_and_table(statement: str) -> tuple[str, str | None]:
    """Return the verb of a statement and the first table it names; nothing else of it is traced."""
    verb = statement.lstrip("( \n").partition(" ")[0].partition("\n")[0].upper()
    match = _TABLE.search(statement)
    return verb[:20], match[1] if match else None


def _drop_unready(engine: Engine) -> None:
    """Drop connections to a server that does not serve: behind a proxy, the next one may reach another."""

    @event.listens_for(engine, "handle_error")
    def _drop(context: ExceptionContext) -> None:
        original = context.original_exception
        if original.args and original.args[0] in NOT_SERVING:
            context.is_disconnect = True


SYNC = ("SET SESSION wsrep_sync_wait = 1", "SELECT 1", "SET SESSION wsrep_sync_wait = 0")


def catch_up(connection: DBAPIConnection, _record: object = None) -> None:
    """On a Galera node, wait for all that the cluster had committed, once: before each statement is a round trip."""
    cursor = connection.cursor()
    cursor.execute("SHOW VARIABLES LIKE 'wsrep_on'")
    row = cursor.fetchone()
    for statement in SYNC if row and str(row[1]).upper() == "ON" else ():
        cursor.execute(statement)
        if statement.startswith("SELECT"):
            cursor.fetchall()
    cursor.close()


def database_file(engine: Engine) -> Path | None:
    """Return the file that SQLite uses; None for a server's database, or one in memory."""
    path = engine.url.database
    if engine.dialect.name != "sqlite" or not path or path.startswith(("file:", ":memory:")):
        return None
    return Path(path)


def empty_log(engine: Engine) -> None:
    """Move SQLite's log into its file, where what is deleted is overwritten, unless somebody is reading or writing."""
    if file := database_file(engine):
        with closing(sqlite3.connect(file, timeout=0)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def public_url(engine: Engine) -> str:
    """Return which database is used, without its password."""
    query = {name: place for name, place in engine.url.query.items() if name == "unix_socket"}
    return engine.url.set(query=query).render_as_string()


def _stay_with_file(engine: Engine) -> None:
    """Use SQLite's file only while it is there: what is written to one that was deleted or replaced is gone."""
    file = database_file(engine)

    def identity() -> tuple[int, int] | None:
        if file is None:
            return None
        try:
            found = file.stat()
        except OSError:  # SQLite would make one: an installation without accounts
            raise sqlite3.OperationalError("the file doesn't exist") from None
        return found.st_dev, found.st_ino

    @event.listens_for(engine, "do_connect")
    def _find(_dialect: Any, record: ConnectionPoolEntry, *_given: Any) -> None:
        record.info["file"] = identity()

    @event.listens_for(engine, "checkout")
    def _checkout(_connection: DBAPIConnection, record: ConnectionPoolEntry, _proxy: PoolProxiedConnection) -> None:
        with suppress(sqlite3.OperationalError):
            if record.info.get("file") == identity():
                return
        raise DisconnectionError("the file is another one")


@contextmanager
def _patience(connection: Connection, seconds: float) -> Iterator[None]:
    """Have SQLite wait for so many seconds at most, where somebody else has locked the file."""
    cursor = connection.connection.cursor()
    (before,) = cursor.execute("PRAGMA busy_timeout").fetchone()
    cursor.execute(f"PRAGMA busy_timeout = {max(0, int(seconds * 1000))}")
    try:
        yield
    finally:
        cursor.execute(f"PRAGMA busy_timeout = {before}")


class _HintedCompiler(SQLiteCompiler):
    """Writes a hint (INDEXED BY, NOT INDEXED) after its table, as the compiler for MySQL does."""

    def get_from_hint_text(self, _table: FromClause, text: str | None) -> str | None:
        return text


def prepare_engine(engine: Engine) -> None:
    """Attach what each new connection and each transaction needs."""
    _measure(engine)
    if engine.dialect.name != "sqlite":
        _ping_idle(engine)
        _reset_open(engine)
        _drop_unready(engine)
        event.listen(engine, "connect", catch_up)
        return
    engine.dialect.statement_compiler = _HintedCompiler
    _stay_with_file(engine)

    @event.listens_for(engine, "connect")
    def _connect(connection: DBAPIConnection, _record: ConnectionPoolEntry) -> None:
        cursor = connection.cursor()
        for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON"):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.execute("PRAGMA secure_delete=ON")  # not everywhere the default: what is deleted is overwritten
        cursor.close()
        text_search.register(connection)

    turn = threading.Lock()

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        if not writing.get():
            connection.exec_driver_sql("BEGIN")
            return
        seconds = connection.get_execution_options().get("busy_seconds", BUSY_SECONDS)
        end = time.monotonic() + seconds
        # SQLite asks again after up to a tenth of a second, whoever comes meanwhile: writers of a process wait here.
        if not connection.info.get("has_turn"):
            connection.info["has_turn"] = turn.acquire(timeout=seconds)
        with _patience(connection, end - time.monotonic()):
            connection.exec_driver_sql("BEGIN IMMEDIATE")

    @event.listens_for(engine, "checkin")
    def _checkin(_connection: DBAPIConnection | None, record: ConnectionPoolEntry) -> None:
        if record.info.pop("has_turn", False):
            turn.release()
