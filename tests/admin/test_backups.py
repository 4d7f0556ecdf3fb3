"""A backup restored elsewhere is equal: on the same kind of database and on the other one, ids and files included."""

import io
import json
import re
import stat
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask_migrate import downgrade, upgrade
from sqlalchemy import create_engine, text

from testkit.people import ApiClient, Person
from testkit.servers import Servers
from tests.memories.conversing import answers, converse, operation
from tests.memories.keeping.test_no_trace import cells
from tests.memories.learning.test_extraction import extract
from tests.support.commands import command_app
from webapp import create_app
from webapp.accounts.site import has_users
from webapp.admin.backups import backup
from webapp.admin.backups.archive import BackupError, open_archive, read_table
from webapp.admin.backups.backup import check_backup, make_backup
from webapp.admin.backups.restore import restore
from webapp.config import Settings
from webapp.db.base import db, write_transaction
from webapp.files.storage import Folder, file_storage

once = pytest.mark.once
"""About restoring on SQLite, whichever database the backup is of: the first test proves that it says the same."""

KEY = "another machine, the same key, and long enough"


@pytest.fixture
def elsewhere(servers: Servers, tmp_path: Path) -> Iterator[Callable[..., Flask]]:
    """`elsewhere(kind, **settings)`: an installation on an empty database of that kind; with routes if `serving`."""
    made: list[tuple[Flask, str]] = []

    def make(kind: str, *, serving: bool = False, **settings: Any) -> Flask:
        url, name = "", ""
        if kind == "mysql":
            assert servers.mariadb is not None
            name = f"elsewhere_{len(made)}"
            url = servers.mariadb.url(name)
            run(servers.mariadb.url("mysql"), f"CREATE DATABASE {name} CHARACTER SET utf8mb4")
        given = {"redis_url": servers.redis_url, "openai_base_url": "http://127.0.0.1:9/v1", "rate_limits": False}
        wanted = Settings(var_dir=tmp_path / f"var{len(made)}", database_url=url, **{**given, **settings})
        app = create_app(wanted) if serving else command_app(wanted)
        made.append((app, name))
        return app

    yield make
    for app, name in made:
        for client in ("completions", "embedder"):
            app.extensions[client].close()
        with app.app_context():
            db.session.remove()
            db.engine.dispose()
        if name and servers.mariadb is not None:
            run(servers.mariadb.url("mysql"), f"DROP DATABASE {name}")


def run(url: str, statement: str) -> None:
    engine = create_engine(Settings(database_url=url).sqlalchemy_url)
    with engine.begin() as connection:
        connection.execute(text(statement))
    engine.dispose()


def content(path: Path) -> dict[str, Any]:
    """Every row of every table, whatever their order, and every attachment."""
    found: dict[str, Any] = {}
    with open_archive(path) as archive:
        for name in archive.namelist():
            if name.startswith("tables/"):
                with read_table(archive, name.removeprefix("tables/").removesuffix(".jsonl")) as (columns, rows):
                    found[name] = sorted(repr(dict(zip(columns, row, strict=True))) for row in rows)
            elif name.startswith("files/"):
                found[name] = archive.read(name)
    return found


@pytest.fixture
def site(app: Flask, client: ApiClient, make_user: Callable[..., Person]) -> Flask:
    """Accounts, words of every kind, a memory, bytes, a file, and a deleted row whose id must not come again."""
    gone = make_user(email="gone@example.org")
    conversation = client.post("/api/conversations", json={"title": "Ünïcode 🎉\n'quoted' \\ %s :c0"}).get_json()
    said = client.post(
        "/api/memories", json={"memory_type": "fact", "content": "Likes the harbour 🎈 at 0°", "importance": 0.7}
    )
    assert said.status_code == 201, said.text
    sent = client.post("/api/files", data={"file": (io.BytesIO(b"plain words"), "note.txt")})
    assert sent.status_code in (200, 201), sent.text
    with app.app_context(), write_transaction():
        statement = text("INSERT INTO messages (conversation_id, role, content) VALUES (:id, 'user', :content)")
        for words in ("", "x" * 100_000, "line\r\nline\t\x01"):
            db.session.execute(statement, {"id": conversation["conversation_id"], "content": words})
        db.session.execute(text("DELETE FROM users WHERE user_id = :id"), {"id": gone.user_id})
    return app


def kinds() -> list[Any]:
    return ["sqlite", pytest.param("mysql", marks=pytest.mark.mysql_only)]


@pytest.mark.parametrize("kind", kinds())
def test_a_restored_installation_is_equal(site, elsewhere, tmp_path, user, kind):
    first, second = tmp_path / "first.zip", tmp_path / "second.zip"
    with site.app_context():
        manifest = make_backup(first)
        newest = db.session.scalar(text("SELECT MAX(user_id) FROM users"))
    assert manifest.tables["users"] == 1 and manifest.tables["messages"] == 3 and manifest.attachments >= 1
    assert stat.S_IMODE(first.stat().st_mode) == 0o600

    other = elsewhere(kind, serving=True, secret_key=KEY)
    with other.app_context():
        restore(first)
        make_backup(second)
        assert db.session.scalar(text("SELECT is_closed FROM memories")) == 0  # computed there again
        add_user("new@example.org")
        born = db.session.scalar(text("SELECT MAX(user_id) FROM users"))
        assert born == manifest.next_ids["users"] > newest
    assert content(first) == content(second)
    answer = other.test_client().get("/api/memories", headers={"Authorization": f"Bearer {user.token}"})
    assert [memory["content"] for memory in answer.get_json()["memories"]] == ["Likes the harbour 🎈 at 0°"]


def test_it_is_a_snapshot_of_one_moment(site, tmp_path, make_user, monkeypatch):
    write_table, counts = backup.write_table, []

    def write(archive: zipfile.ZipFile, name: str, columns: Any, rows: Any) -> int:
        if not counts:
            with site.app_context():
                make_user(email="meanwhile@example.org")
        counts.append(name)
        return write_table(archive, name, columns, rows)

    monkeypatch.setattr(backup, "write_table", write)
    with site.app_context():
        manifest = make_backup(tmp_path / "b.zip")
    assert manifest.tables["users"] == 1


@once
def test_the_kept_secret_comes_along(elsewhere, tmp_path):
    here, there = elsewhere("sqlite"), elsewhere("sqlite")
    cli = here.test_cli_runner()
    assert cli.invoke(args=["prepare"]).exit_code == 0
    made = ["user", "create", "--email", "a@example.org", "--password", "a heron on the tide mill"]
    assert cli.invoke(args=made).exit_code == 0
    file = str(tmp_path / "b.zip")
    said = cli.invoke(args=["backup", "create", file])
    assert said.exit_code == 0 and "Accounts: 1," in said.output
    assert cli.invoke(args=["backup", "check", file]).exit_code == 0
    restored = there.test_cli_runner().invoke(args=["backup", "restore", file])
    assert restored.exit_code == 0 and "SECRET_KEY is not" not in restored.output
    assert (tmp_path / "var1" / "secret_key").read_text() == (tmp_path / "var0" / "secret_key").read_text()
    again = there.test_cli_runner().invoke(args=["backup", "restore", file])
    assert again.exit_code == 1 and "There are accounts here" in again.output


@once
def test_another_key_is_said(site, elsewhere, tmp_path):
    path, keyed = tmp_path / "b.zip", elsewhere("sqlite", secret_key=KEY)
    for source, target in ((site, keyed), (keyed, elsewhere("sqlite"))):
        with source.app_context():
            make_backup(path)
        restored = target.test_cli_runner().invoke(args=["backup", "restore", str(path)])
        assert "SECRET_KEY is not the one" in restored.output
        path.unlink()


@once
def test_an_older_backup_is_brought_to_this_version(elsewhere, tmp_path, monkeypatch):
    old, here, path = "0067", elsewhere("sqlite"), tmp_path / "b.zip"
    newest = backup.newest_revision()
    with here.app_context():
        upgrade()
        downgrade(revision=old)
        add_user("old@example.org")
        monkeypatch.setattr(backup, "newest_revision", lambda: old)
        assert make_backup(path).revision == old
        monkeypatch.undo()
        with pytest.raises(BackupError, match="not at this version"):
            make_backup(tmp_path / "late.zip")
    there = elsewhere("sqlite")
    with there.app_context():
        restore(path)
        assert backup.current_revision() == newest
        assert db.session.scalar(text("SELECT email FROM users")) == "old@example.org"
    used = elsewhere("sqlite")
    with used.app_context():
        upgrade()
        restore(path)
        assert backup.current_revision() == newest and has_users()


def test_what_was_forgotten_since_an_older_backup_is_forgotten_again(site, elsewhere, client, user, model, tmp_path):
    first, late = converse(site, user.user_id, "I am allergic to walnuts"), "my boat is called Aurelia"
    answers(model, operation("I am allergic to walnuts", "Allergic to walnuts."))
    extract(client, first)
    second = converse(site, user.user_id, f"By the way, {late} these days")
    old, new = tmp_path / "old.zip", tmp_path / "new.zip"
    with site.app_context():
        add_user("left@example.org")
        make_backup(old)
        with write_transaction():
            db.session.execute(text("DELETE FROM users WHERE email = 'left@example.org'"))
    answers(model, operation(late, "Has a boat named Aurelia."))
    extract(client, second)
    for memory in client.get("/api/memories").get_json()["memories"]:
        if "harbour" not in memory["content"]:
            assert client.delete(f"/api/memories/{memory['memory_id']}").status_code == 200
    with site.app_context():
        make_backup(new)
        key, marks = site.config["SECRET_KEY"], forgotten_marks()
        stones = db.session.scalar(text("SELECT COUNT(*) FROM memory_tombstones"))
    assert len(marks) == 2

    other = elsewhere("sqlite", serving=True, secret_key=key)
    cli = other.test_cli_runner()
    restored = cli.invoke(args=["backup", "restore", str(old)])
    assert "backup forget" in restored.output
    for _ in range(2):
        said = cli.invoke(args=["backup", "forget", str(new)])
        assert said.exit_code == 0, said.output
    assert "Forgotten again: 0" in said.output and "deleted since: left@example.org" in said.output
    answer = other.test_client().get("/api/memories", headers={"Authorization": f"Bearer {user.token}"})
    assert [memory["content"] for memory in answer.get_json()["memories"]] == ["Likes the harbour 🎈 at 0°"]
    with other.app_context():
        assert db.session.scalar(text("SELECT COUNT(*) FROM memory_tombstones")) == stones
        assert forgotten_marks() == marks
        assert not {table for table, _, value, _ in cells(other) if "Allergic to walnuts" in str(value)}


def forgotten_marks() -> list[tuple[int, str]]:
    """The user's words that nothing may rest on."""
    rows = db.session.execute(text("SELECT message_id, spans FROM messages WHERE spans LIKE '%forgotten%'"))
    return sorted((message_id, sorted(set(map(tuple, json.loads(spans))))) for message_id, spans in rows)


@once
def test_what_another_installation_or_key_forgot_is_left_alone(site, elsewhere, client, tmp_path):
    old, new = tmp_path / "old.zip", tmp_path / "new.zip"
    with site.app_context():
        make_backup(old)
    (memory,) = client.get("/api/memories").get_json()["memories"]
    client.delete(f"/api/memories/{memory['memory_id']}")
    with site.app_context():
        make_backup(new)
    other = elsewhere("sqlite", secret_key=KEY).test_cli_runner()
    other.invoke(args=["backup", "restore", str(old)])
    said = other.invoke(args=["backup", "forget", str(new)])
    assert said.exit_code == 1 and "TOMBSTONE_KEYS" in said.output
    stranger = elsewhere("sqlite", secret_key=site.config["SECRET_KEY"])
    with stranger.app_context():
        upgrade()
        add_user("somebody@example.org")
    said = stranger.test_cli_runner().invoke(args=["backup", "forget", str(new)])
    assert said.exit_code == 1 and "nobody" in said.output


@once
def test_a_newer_backup_is_refused(site, elsewhere, tmp_path):
    with site.app_context():
        newest = make_backup(tmp_path / "b.zip").revision
    rewrite(tmp_path / "b.zip", tmp_path / "new.zip", f'"revision": "{newest}"', '"revision": "9999"')
    with elsewhere("sqlite", secret_key=KEY).app_context(), pytest.raises(BackupError, match="newer version"):
        restore(tmp_path / "new.zip")


def add_user(email: str) -> None:
    with write_transaction():
        statement = text("INSERT INTO users (email, password_hash, settings) VALUES (:email, '-', '{}')")
        db.session.execute(statement, {"email": email})


def test_a_damaged_or_foreign_file_is_refused(site, tmp_path):
    whole = tmp_path / "whole.zip"
    with site.app_context():
        make_backup(whole)
    cut = tmp_path / "cut.zip"
    cut.write_bytes(whole.read_bytes()[:-2_000])
    with pytest.raises(BackupError, match="cut short"):
        check_backup(cut)
    with zipfile.ZipFile(tmp_path / "foreign.zip", "w") as archive:
        archive.writestr("../../etc/passwd", "x")
    with pytest.raises(BackupError, match="never finished"):
        check_backup(tmp_path / "foreign.zip")
    with pytest.raises(BackupError, match="There is no file"):
        check_backup(tmp_path / "none.zip")
    fewer = tmp_path / "fewer.zip"
    rewrite(whole, fewer, '"users": 1', '"users": 2')
    with pytest.raises(BackupError, match="Rows of users are missing"):
        check_backup(fewer)


@once
def test_one_that_breaks_off_while_files_come_leaves_no_account_and_can_be_begun_again(
    site, elsewhere, tmp_path, monkeypatch
):
    with site.app_context():
        make_backup(tmp_path / "a.zip")
    with elsewhere("sqlite").app_context():
        with monkeypatch.context() as broken:

            def full(*_given: Any) -> None:
                raise OSError("No space left on device")

            broken.setattr(Folder, "store", full)
            with pytest.raises(BackupError, match="No space"):
                restore(tmp_path / "a.zip")
        assert backup.current_revision() == ""
        upgrade()
        downgrade(revision="0067")  # as one that was killed among the migrations leaves it
        restore(tmp_path / "a.zip")
        assert has_users()


def test_nothing_half_made_is_left(site, tmp_path, monkeypatch):
    def fail(*_given: Any) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(backup, "write_table", fail)
    with site.app_context(), pytest.raises(BackupError, match="No space"):
        make_backup(tmp_path / "b.zip")
    assert list(tmp_path.iterdir()) == []


@once
def test_one_without_accounts_is_made_only_if_told(elsewhere, tmp_path):
    """Beside a database that was not named, an empty backup was made and called a success."""
    cli, file, data = elsewhere("sqlite").test_cli_runner(), tmp_path / "b.zip", tmp_path / "var0/commonplace.sqlite3"
    for args in (["backup", "create", str(file)], ["backup", "check", str(file)], ["doctor"], ["db", "current"]):
        assert cli.invoke(args=args).exit_code == 1
        assert not data.exists(), "only a migration makes the file of a database"
    said = cli.invoke(args=["doctor"]).output + cli.invoke(args=["backup", "create", str(file)]).output
    assert "FAULT    database: missing" in said and f"There is nothing in sqlite:///{data}" in said
    assert cli.invoke(args=["prepare"]).exit_code == 0
    refused = cli.invoke(args=["backup", "create", str(file)])
    assert refused.exit_code == 1 and not file.exists()
    assert "There are no accounts" in refused.output and str(data) in refused.output
    made = cli.invoke(args=["backup", "create", "--empty", str(file)])
    assert made.exit_code == 0 and f"Read sqlite:///{data}" in made.output


def test_no_file_is_overwritten(site, tmp_path):
    file, part = tmp_path / "b.zip", tmp_path / "b.zip.part"
    file.write_text("an earlier one")
    done = site.test_cli_runner().invoke(args=["backup", "create", str(file)])
    assert done.exit_code == 1 and "exists already" in done.output and file.read_text() == "an earlier one"
    file.rename(part)
    done = site.test_cli_runner().invoke(args=["backup", "create", str(file)])
    assert done.exit_code == 1 and "is being written" in done.output and part.read_text() == "an earlier one"


DAMAGE: dict[str, Callable[[dict[str, bytes]], object]] = {
    "no manifest": lambda parts: parts.pop("manifest.json"),
    "a manifest of something else": lambda parts: parts.update({"manifest.json": b"[]"}),
    "a manifest without tables": lambda parts: parts.update({"manifest.json": b'{"format": 1}'}),
    "another format": lambda parts: edit(parts, "manifest.json", b'"format": 1', b'"format": 2'),
    "an unknown migration": lambda parts: edit(parts, "manifest.json", b'"revision": "', b'"revision": "9'),
    "a table missing": lambda parts: parts.pop("tables/messages.jsonl"),
    "a row missing": lambda parts: parts.update({"tables/users.jsonl": parts["tables/users.jsonl"].split(b"\n")[0]}),
    "a row that is none": lambda parts: parts.update({"tables/users.jsonl": parts["tables/users.jsonl"] + b"{"}),
    "an unknown column": lambda parts: edit(parts, "tables/users.jsonl", b'"email"', b'"mail"'),
    "a value missing": lambda parts: edit(parts, "tables/users.jsonl", b'@example.org"', b'@example.org",null'),
    "an attachment missing": lambda parts: parts.pop(attachment(parts)),
    "another attachment": lambda parts: parts.update({attachment(parts): b"other words"}),
}
FOUND_BY_THE_DATABASE: dict[str, Callable[[dict[str, bytes]], object]] = {
    "a row that refers to none": lambda parts: edit(parts, "tables/messages.jsonl", rb"(\n\[\d+),\d+", rb"\1,987654"),
    "two rows with one id": lambda parts: edit(
        parts, "tables/messages.jsonl", rb"\n\[(\d+)(,.*)\n\[\d+", rb"\n[\1\2\n[\1"
    ),
}


def edit(parts: dict[str, bytes], name: str, old: bytes, new: bytes) -> None:
    """Replace the first match of a pattern in a file of a backup."""
    parts[name], count = re.subn(old, new, parts[name], count=1)
    assert count, parts[name][:300]


def attachment(parts: dict[str, bytes]) -> str:
    return next(name for name in parts if name.startswith("files/"))


@once
@pytest.mark.parametrize("kind", kinds())
def test_a_damaged_backup_is_refused_in_a_sentence_and_changes_nothing(site, elsewhere, tmp_path, kind):
    whole, damaged = tmp_path / "whole.zip", tmp_path / "damaged.zip"
    with site.app_context():
        make_backup(whole)
    other = elsewhere(kind, secret_key=KEY)

    def refuse(why: str, revision: str = "") -> None:
        done = other.test_cli_runner().invoke(args=["backup", "restore", str(damaged)])
        assert done.exit_code == 1 and isinstance(done.exception, SystemExit), (why, done.exception)
        assert "Error: " in done.output and "Traceback" not in done.output, (why, done.output)
        with other.app_context():
            assert backup.current_revision() == revision, why
            assert not (revision and has_users()), why
            assert list(file_storage().entries()) == [], why

    def damage_by(damage: Callable[[dict[str, bytes]], object]) -> None:
        parts = dict(original)
        damage(parts)
        with zipfile.ZipFile(damaged, "w") as archive:
            for name, data in parts.items():
                archive.writestr(name, data)

    for length in (0, 10, 1_000, whole.stat().st_size // 2, whole.stat().st_size - 30):
        damaged.write_bytes(whole.read_bytes()[:length])
        refuse(f"the first {length} bytes")
    flipped = bytearray(whole.read_bytes())
    flipped[300] ^= 0xFF
    damaged.write_bytes(flipped)
    refuse("a byte that is another")
    with zipfile.ZipFile(whole) as archive:
        original = {name: archive.read(name) for name in archive.namelist()}
    for why, damage in DAMAGE.items():
        damage_by(damage)
        refuse(why)
    with other.app_context():
        upgrade()  # which each of the others would do, and undo
    for why, damage in FOUND_BY_THE_DATABASE.items():
        damage_by(damage)
        refuse(why, backup.newest_revision())
    with other.app_context():
        restore(whole)
        assert has_users()


def rewrite(source: Path, target: Path, old: str, new: str) -> None:
    """A copy of a backup with something in its manifest changed."""
    with zipfile.ZipFile(source) as before, zipfile.ZipFile(target, "w") as after:
        for name in before.namelist():
            data = before.read(name)
            if name == "manifest.json":
                assert old.encode() in data
                data = data.replace(old.encode(), new.encode())
            after.writestr(name, data)
