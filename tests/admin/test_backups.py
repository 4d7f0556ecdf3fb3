"""A backup restored elsewhere is equal: on the same kind of database and on the other one, ids and files included."""

from __future__ import annotations

import io
import stat
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask_migrate import upgrade
from sqlalchemy import create_engine, text

from tests.support.people import ApiClient, Person
from tests.support.servers import Servers
from webapp import create_app
from webapp.accounts.site import has_users
from webapp.admin.backups import making
from webapp.admin.backups.archive import BackupError, open_archive, read_table
from webapp.admin.backups.making import check_backup, make_backup
from webapp.admin.backups.restoring import restore
from webapp.config import Settings
from webapp.database import db, write_transaction
from webapp.files.folder import Folder

KEY = "another machine, the same key, and long enough"


@pytest.fixture
def elsewhere(servers: Servers, tmp_path: Path) -> Iterator[Callable[..., Flask]]:
    """`elsewhere(kind, **settings)`: an installation on an empty database of that kind."""
    made: list[tuple[Flask, str]] = []

    def make(kind: str, **settings: Any) -> Flask:
        url, name = "", ""
        if kind == "mysql":
            assert servers.mariadb is not None
            name = f"elsewhere_{len(made)}"
            url = servers.mariadb.url(name)
            run(servers.mariadb.url(""), f"CREATE DATABASE {name} CHARACTER SET utf8mb4")
        given = {"redis_url": servers.redis_url, "openai_base_url": "http://127.0.0.1:9/v1", "rate_limits": False}
        app = create_app(Settings(var_dir=tmp_path / f"var{len(made)}", database_url=url, **{**given, **settings}))
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
            run(servers.mariadb.url(""), f"DROP DATABASE {name}")


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
                columns, rows = read_table(archive, name.removeprefix("tables/").removesuffix(".jsonl"))
                found[name] = sorted(repr(dict(zip(columns, row, strict=True))) for row in rows)
            elif name.startswith("files/"):
                found[name] = archive.read(name)
    return found


@pytest.fixture
def filled(app: Flask, client: ApiClient, make_user: Callable[..., Person]) -> Flask:
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
def test_a_restored_installation_is_equal(
    filled: Flask, elsewhere: Callable[..., Flask], tmp_path: Path, user: Person, kind: str
) -> None:
    first, second = tmp_path / "first.zip", tmp_path / "second.zip"
    with filled.app_context():
        manifest = make_backup(first)
        newest = db.session.scalar(text("SELECT MAX(user_id) FROM users"))
    assert manifest.tables["users"] == 1 and manifest.tables["messages"] == 3 and manifest.attachments >= 1
    assert stat.S_IMODE(first.stat().st_mode) == 0o600

    other = elsewhere(kind, secret_key=KEY)
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


def test_it_is_a_snapshot_of_one_moment(
    filled: Flask, tmp_path: Path, make_user: Callable[..., Person], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_table, counts = making.write_table, []

    def write(archive: zipfile.ZipFile, name: str, columns: Any, rows: Any) -> int:
        if not counts:
            with filled.app_context():
                make_user(email="meanwhile@example.org")
        counts.append(name)
        return write_table(archive, name, columns, rows)

    monkeypatch.setattr(making, "write_table", write)
    with filled.app_context():
        manifest = make_backup(tmp_path / "b.zip")
    assert manifest.tables["users"] == 1


def test_the_kept_secret_comes_along(elsewhere: Callable[..., Flask], tmp_path: Path) -> None:
    here, there = elsewhere("sqlite"), elsewhere("sqlite")
    cli = here.test_cli_runner()
    assert cli.invoke(args=["prepare"]).exit_code == 0
    made = ["user", "create", "--email", "a@example.org", "--password", "a heron on the tide mill"]
    assert cli.invoke(args=made).exit_code == 0
    file = str(tmp_path / "b.zip")
    said = cli.invoke(args=["backup", "create", file])
    assert said.exit_code == 0 and "1 accounts" in said.output
    assert cli.invoke(args=["backup", "check", file]).exit_code == 0
    restored = there.test_cli_runner().invoke(args=["backup", "restore", file])
    assert restored.exit_code == 0 and "SECRET_KEY is not" not in restored.output
    assert (tmp_path / "var1" / "secret_key").read_text() == (tmp_path / "var0" / "secret_key").read_text()
    again = there.test_cli_runner().invoke(args=["backup", "restore", file])
    assert again.exit_code == 1 and "There are accounts here" in again.output


def test_another_key_is_said(filled: Flask, elsewhere: Callable[..., Flask], tmp_path: Path) -> None:
    with filled.app_context():
        make_backup(tmp_path / "b.zip")
    other = elsewhere("sqlite", secret_key=KEY).test_cli_runner()
    assert "SECRET_KEY is not the one" in other.invoke(args=["backup", "restore", str(tmp_path / "b.zip")]).output


def test_an_older_backup_is_brought_to_this_version(
    elsewhere: Callable[..., Flask], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, here, path = "0021", elsewhere("sqlite"), tmp_path / "b.zip"
    newest = making.newest_revision()
    with here.app_context():
        upgrade(revision=old)
        add_user("old@example.org")
        monkeypatch.setattr(making, "newest_revision", lambda: old)
        assert make_backup(path).revision == old
        monkeypatch.undo()
        with pytest.raises(BackupError, match="not at this version"):
            make_backup(tmp_path / "late.zip")
    there = elsewhere("sqlite")
    with there.app_context():
        restore(path)
        assert making.current_revision() == newest
        assert db.session.scalar(text("SELECT email FROM users")) == "old@example.org"
    used = elsewhere("sqlite")
    with used.app_context():
        upgrade()
        with pytest.raises(BackupError, match="a database without any table"):
            restore(path)


def test_a_newer_backup_is_refused(filled: Flask, elsewhere: Callable[..., Flask], tmp_path: Path) -> None:
    with filled.app_context():
        newest = make_backup(tmp_path / "b.zip").revision
    rewrite(tmp_path / "b.zip", tmp_path / "new.zip", f'"revision": "{newest}"', '"revision": "9999"')
    with elsewhere("sqlite", secret_key=KEY).app_context(), pytest.raises(BackupError, match="newer version"):
        restore(tmp_path / "new.zip")


def add_user(email: str) -> None:
    with write_transaction():
        statement = text("INSERT INTO users (email, password_hash, settings) VALUES (:email, '-', '{}')")
        db.session.execute(statement, {"email": email})


def test_a_damaged_or_foreign_file_is_refused(filled: Flask, tmp_path: Path) -> None:
    whole = tmp_path / "whole.zip"
    with filled.app_context():
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


def test_one_that_breaks_off_while_files_come_leaves_no_account_and_can_be_begun_again(
    filled: Flask, elsewhere: Callable[..., Flask], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with filled.app_context():
        make_backup(tmp_path / "a.zip")
    with elsewhere("sqlite").app_context():
        with monkeypatch.context() as broken:

            def full(*_given: Any) -> None:
                raise OSError("No space left on device")

            broken.setattr(Folder, "take", full)
            with pytest.raises(OSError, match="No space"):
                restore(tmp_path / "a.zip")
        assert not has_users()
        restore(tmp_path / "a.zip")
        assert has_users()


def test_nothing_half_made_is_left(filled: Flask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_given: Any) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(making, "write_table", fail)
    with filled.app_context(), pytest.raises(OSError):
        make_backup(tmp_path / "b.zip")
    assert list(tmp_path.iterdir()) == []


def rewrite(source: Path, target: Path, old: str, new: str) -> None:
    """A copy of a backup with something in its manifest changed."""
    with zipfile.ZipFile(source) as before, zipfile.ZipFile(target, "w") as after:
        for name in before.namelist():
            data = before.read(name)
            if name == "manifest.json":
                assert old.encode() in data
                data = data.replace(old.encode(), new.encode())
            after.writestr(name, data)
