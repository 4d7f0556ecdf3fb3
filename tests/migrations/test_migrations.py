"""Migrations: up from version 1.0 and down, equal to the models, which new databases begin with, and as documented."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from flask import Flask
from flask_migrate import downgrade, stamp, upgrade
from sqlalchemy import create_engine, inspect, text
from sqlalchemy.exc import OperationalError

from testkit.servers import Servers
from tests.support.commands import command_app
from tests.support.queries import listener
from webapp.config import Settings
from webapp.db.base import db
from webapp.db.migrations import connect_with_retry, make_database_file

# From the document: name → (type, nullable, default, extra). JSON is LONGTEXT with a check on MariaDB; TIMESTAMP has
# microseconds here.
NOW = "current_timestamp(6)"
CHANGES = ("CREATE", "ALTER", "DROP", "RENAME")
CONVERSATIONS = {
    "conversation_id": ("int", "NO", None, "auto_increment"),
    "user_id": ("int", "NO", None, ""),
    "title": ("varchar(255)", "YES", None, ""),
    "created_at": ("timestamp(6)", "YES", NOW, ""),
    "updated_at": ("timestamp(6)", "YES", NOW, f"on update {NOW}"),
    "is_archived": ("tinyint(1)", "YES", "0", ""),
    "metadata": ("json", "YES", None, ""),
}
MESSAGES = {
    "message_id": ("int", "NO", None, "auto_increment"),
    "conversation_id": ("int", "NO", None, ""),
    "role": ("enum('user','assistant')", "NO", None, ""),
    # The one documented type that is widened: a pasted log is a real message.
    "content": ("mediumtext", "NO", None, ""),
    "created_at": ("timestamp(6)", "YES", NOW, ""),
    "tool_calls": ("json", "YES", None, ""),
    "suggested_values": ("json", "YES", None, ""),
    "suggested_actions": ("json", "YES", None, ""),
    "custom_payload": ("json", "YES", None, ""),
}
MEMORIES = {
    "memory_id": ("int", "NO", None, "auto_increment"),
    "user_id": ("int", "NO", None, ""),
    "memory_type": ("enum('fact','preference','entity','project','decision','instruction')", "NO", None, ""),
    "category": ("varchar(100)", "YES", None, ""),
    "content": ("text", "NO", None, ""),
    "source_conversation_id": ("int", "YES", None, ""),
    "source_message_id": ("int", "YES", None, ""),
    "created_at": ("timestamp(6)", "YES", NOW, ""),
    "last_accessed_at": ("timestamp(6)", "YES", None, ""),
    "access_count": ("int", "YES", "0", ""),
    "is_pinned": ("tinyint(1)", "YES", "0", ""),
    "is_archived": ("tinyint(1)", "YES", "0", ""),
    "confidence": ("float", "YES", "1", ""),
    "embedding": ("blob", "YES", None, ""),
}
REFERENCES = {
    ("conversations", "user_id", "users", "user_id"),
    ("messages", "conversation_id", "conversations", "conversation_id"),
    ("memories", "user_id", "users", "user_id"),
    ("memories", "source_conversation_id", "conversations", "conversation_id"),
    ("memories", "source_message_id", "messages", "message_id"),
}


@pytest.fixture
def blank(servers: Servers, settings: Settings, tmp_path: Path) -> Iterator[Flask]:
    """The application on a database of its own with nothing in it."""
    servers.start_database()
    if servers.is_sqlite:
        url = f"sqlite:///{tmp_path / 'blank.sqlite3'}"
    else:
        _on_server(settings, "DROP DATABASE IF EXISTS commonplace_blank", "CREATE DATABASE commonplace_blank")
        url = servers.database_url.replace("/commonplace_test", "/commonplace_blank")
    app = command_app(settings.model_copy(update={"database_url": url}))
    with app.app_context():
        yield app
        db.session.remove()
        db.engine.dispose()
    if not servers.is_sqlite:
        _on_server(settings, "DROP DATABASE commonplace_blank")


def _on_server(settings: Settings, *statements: str) -> None:
    engine = create_engine(settings.sqlalchemy_url)
    with engine.begin() as connection:
        for statement in statements:
            connection.execute(text(statement))
    engine.dispose()


def _tables() -> set[str]:
    return set(inspect(db.engine).get_table_names())


def _differences() -> list[object]:
    with db.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        return compare_metadata(context, db.metadata)


def _schema() -> dict[str, list[str]]:
    """What the database says of every table, in no order, and without the names of checks, which only SQLite has."""
    look = inspect(db.engine)
    parts = {
        name: [
            *({**column, "type": str(column["type"])} for column in look.get_columns(name)),
            *look.get_indexes(name),
            *look.get_unique_constraints(name),
            *look.get_foreign_keys(name),
            *({"sqltext": check["sqltext"]} for check in look.get_check_constraints(name)),
        ]
        for name in look.get_table_names()
    }
    return {name: sorted(repr(sorted(part.items())) for part in of_it) for name, of_it in parts.items()}


def _make_first_version() -> None:
    """Make the tables that version 1.0 made, by the statements it sent."""
    kind = "sqlite" if db.engine.dialect.name == "sqlite" else "mysql"
    tables = Path(__file__).with_name(f"first_version.{kind}.sql").read_text(encoding="utf-8")
    make_database_file(db.engine)
    _say(*tables.removesuffix(";\n").split(";\n"))
    stamp(revision="0067")


def _say(*statements: str) -> None:
    for statement in statements:
        db.session.execute(text(statement))
    db.session.commit()


def _rows(statement: str) -> list[tuple[Any, ...]]:
    found = [tuple(row) for row in db.session.execute(text(statement))]
    db.session.remove()
    return found


def test_up_and_down_and_up_again_give_the_tables_of_the_models_and_keep_what_is_there(blank):
    _make_first_version()
    first = _schema()
    _say(
        "INSERT INTO users (email, password_hash, settings) VALUES ('a@example.org', 'x', '{}')",
        "INSERT INTO conversations (user_id, title) VALUES (1, 'Kept')",
        "INSERT INTO messages (conversation_id, role, content) VALUES (1, 'user', 'Kept too')",
    )
    for is_paused in (0, 1):
        _say(
            "INSERT INTO schedules (user_id, title, content, rule, starts_at, zone, is_paused) "
            f"VALUES (1, 'Plants', 'Water', 'FREQ=DAILY', '2036-01-02 10:00:00', 'UTC', {is_paused})"
        )
    kept = "SELECT title, content FROM conversations JOIN messages USING (conversation_id)"
    below = "head"
    while below != "0067":
        upgrade()
        assert set(db.metadata.tables) <= _tables()
        assert _differences() == []
        rows = _rows("SELECT prompt, rrule, timezone, is_active FROM schedules ORDER BY schedule_id")
        assert rows == [("Water", "FREQ=DAILY", "UTC", 1), ("Water", "FREQ=DAILY", "UTC", 0)]
        assert _rows(kept) == [("Kept", "Kept too")]
        schema = _schema()
        if below != "head":
            downgrade(revision=below)
        downgrade(revision="-1")  # each step can be taken up again
        with db.engine.connect() as connection:
            below = MigrationContext.configure(connection).get_current_revision()
    rows = _rows("SELECT content, rule, zone, is_paused FROM schedules ORDER BY schedule_id")
    assert rows == [("Water", "FREQ=DAILY", "UTC", 0), ("Water", "FREQ=DAILY", "UTC", 1)]
    assert _rows(kept) == [("Kept", "Kept too")]
    assert _schema() == first
    upgrade()
    assert _rows(kept) == [("Kept", "Kept too")] and _schema() == schema
    _say("CREATE TABLE of_another_program (id INTEGER)")
    downgrade(revision="base")
    assert _tables() - {"alembic_version"} == {"of_another_program"}
    _say("DROP TABLE of_another_program")
    upgrade()
    upgrade()  # nothing to do
    assert _differences() == []
    assert _schema() == schema, "a new database has the tables of one that comes from version 1.0"


@pytest.mark.mysql_only
@pytest.mark.timeout(600)
@pytest.mark.parametrize("step", [30, pytest.param(1, marks=pytest.mark.slow)], ids=["some", "all"])
def test_migrations_killed_after_any_statement_can_be_taken_up_again(blank, step):
    """Each run makes `step` changes more than the one before and dies: on MySQL they stay made."""

    class Killed(BaseException):
        pass

    made: set[str] = set()

    def die(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        if statement.lstrip().upper().startswith(CHANGES) and statement not in made:
            made.add(statement)
            if len(made) % step == 0:
                raise Killed

    runs = 0
    while True:
        runs += 1
        try:
            with listener(db.engine, "after_cursor_execute", die):
                upgrade()
            break
        except Killed:
            db.engine.dispose()
        assert runs < 400
    assert len(made) >= 200
    assert _differences() == []


def test_a_database_that_is_still_starting_is_waited_for(monkeypatch):
    engine = create_engine("sqlite://")
    away, asked = OperationalError("connect", {}, Exception(2003, "not yet")), []

    def connect() -> Any:
        asked.append(1)
        if len(asked) < 3:
            raise away
        return "a connection"

    monkeypatch.setattr(engine, "connect", connect)
    monkeypatch.setattr("webapp.db.migrations.time.sleep", lambda _seconds: None)
    assert connect_with_retry(engine, 5) == "a connection"
    for code, seconds in ((2003, -1), (1045, 5)):  # nor is one that refuses us
        asked.clear()
        away.orig.args = (code, "no")
        with pytest.raises(OperationalError):
            connect_with_retry(engine, seconds)
        assert len(asked) == 1


@pytest.mark.mysql_only
@pytest.mark.parametrize(
    ("table", "documented"), [("conversations", CONVERSATIONS), ("messages", MESSAGES), ("memories", MEMORIES)]
)
def test_documented_columns_are_as_documented(app, table, documented):
    with app.app_context():
        rows = db.session.execute(
            text(
                "SELECT column_name, column_type, is_nullable, column_default, extra, character_set_name "
                "FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = :table "
                "ORDER BY ordinal_position"
            ),
            {"table": table},
        ).all()
        checks = " ".join(
            db.session.scalars(
                text(
                    "SELECT check_clause FROM information_schema.check_constraints "
                    "WHERE constraint_schema = DATABASE() AND table_name = :table"
                ),
                {"table": table},
            )
        )
    found = {}
    for name, kind, nullable, default, extra, charset in rows:
        kind = kind.replace("int(11)", "int")
        if kind == "longtext" and f"json_valid(`{name}`)" in checks:
            kind = "json"
        elif charset is not None:
            assert charset == "utf8mb4", name
        default = None if default in (None, "NULL") else default.lower()
        found[name] = (kind, nullable, default, extra.lower())
    assert {name: found.get(name) for name in documented} == documented
    in_order = [name for name in found if name in documented]
    assert in_order == list(documented), "documented columns keep their order"


@pytest.mark.mysql_only
def test_documented_references_are_there(app):
    with app.app_context():
        rows = db.session.execute(
            text(
                "SELECT table_name, column_name, referenced_table_name, referenced_column_name "
                "FROM information_schema.key_column_usage "
                "WHERE table_schema = DATABASE() AND referenced_table_name IS NOT NULL"
            )
        ).all()
        rule = db.session.scalar(
            text(
                "SELECT delete_rule FROM information_schema.referential_constraints "
                "WHERE constraint_schema = DATABASE() "
                "AND table_name = 'messages' AND referenced_table_name = 'conversations'"
            )
        )
    assert {tuple(row) for row in rows} >= REFERENCES
    assert rule == "CASCADE"
