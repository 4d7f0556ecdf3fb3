"""Restoring a backup into an installation without any account: on another machine, or on another kind of database."""

import os
import zipfile
from itertools import islice
from pathlib import Path

from flask import current_app
from flask_migrate import downgrade, upgrade
from sqlalchemy import Connection, inspect, text
from sqlalchemy.exc import SQLAlchemyError

from webapp.accounts.site import has_users
from webapp.admin.backups.archive import BackupError, Manifest, attachments, open_archive, read_table
from webapp.admin.backups.backup import ROW_BATCH, check_backup, columns_of, key_mark
from webapp.db.base import db, expect_writes
from webapp.db.engine import public_url
from webapp.errors import reason
from webapp.extensions import app_settings
from webapp.files.storage import file_storage
from webapp.readiness import current_revision, migration_revisions, newest_revision


def restore(path: Path) -> Manifest:
    """Fill the database and VAR_DIR from a backup, wholly or not at all. Raises BackupError."""
    manifest = check_backup(path)
    try:
        had_tables = _prepare(manifest)
        try:
            _restore(path, manifest)
        except Exception:
            if had_tables:
                upgrade()
            else:
                downgrade(revision="base")
            raise
        upgrade()
    except (OSError, SQLAlchemyError) as error:
        raise BackupError(f"{public_url(db.engine)} cannot be filled: {reason(error)}.") from error
    return manifest


def other_key(manifest: Manifest) -> bool:
    """Return whether this installation, once restored, has another SECRET_KEY than the one the backup was made with."""
    return key_mark() != manifest.key


def _restore(path: Path, manifest: Manifest) -> None:
    expect_writes(True)
    try:
        with open_archive(path) as archive:
            # Before the rows, because MySQL commits at each ALTER TABLE. Rows keep their ids, all of them smaller.
            with db.engine.begin() as connection:
                _check_tables(connection, manifest)
                _set_next_ids(connection, manifest.next_ids)
            with db.engine.begin() as connection:
                _fill(connection, archive, manifest)
                _check_references(connection)
                _restore_files(archive)
    finally:
        expect_writes(False)


def _prepare(manifest: Manifest) -> bool:
    """Bring the empty database to the version of the backup; returns whether it had tables."""
    if manifest.revision < min(known := migration_revisions()):
        raise BackupError("This backup was made before version 1.0. Restore it with the version that made it.")
    if manifest.revision not in known:
        raise BackupError("This backup was made by a newer version of Commonplace. Restore it with that version.")
    current = current_revision()
    if current and has_users():
        raise BackupError("There are accounts here. Restore into an empty database and an empty VAR_DIR.")
    db.session.remove()
    upgrade()
    if manifest.revision != newest_revision():
        downgrade(revision=manifest.revision)  # a new database has the tables of this version
    return bool(current)


def _check_tables(connection: Connection, manifest: Manifest) -> None:
    if missing := sorted((set(manifest.tables) | set(manifest.next_ids)) - set(inspect(connection).get_table_names())):
        raise BackupError(f"This version has no table named {', '.join(missing)}.")


def _fill(connection: Connection, archive: zipfile.ZipFile, manifest: Manifest) -> None:
    on_sqlite = connection.dialect.name == "sqlite"
    # Rows come table by table. SQLite checks foreign keys at the commit, when all of them are there.
    connection.execute(text("PRAGMA defer_foreign_keys = ON" if on_sqlite else "SET SESSION foreign_key_checks = 0"))
    quote = connection.dialect.identifier_preparer.quote
    try:
        for table in manifest.tables:
            connection.execute(text(f"DELETE FROM {quote(table)}"))  # what migrations put there
            _insert(connection, archive, table)
    finally:
        if not on_sqlite:
            connection.execute(text("SET SESSION foreign_key_checks = 1"))


def _check_references(connection: Connection) -> None:
    """Raise BackupError for rows that refer to a row which the backup does not have."""
    quote, inspector = connection.dialect.identifier_preparer.quote, inspect(connection)
    for table in inspector.get_table_names():
        for key in inspector.get_foreign_keys(table):
            pairs = list(zip(key["constrained_columns"], key["referred_columns"], strict=True))
            condition = " AND ".join(
                f"here.{quote(own_key)} = other.{quote(other_key)}" for own_key, other_key in pairs
            )
            is_set = " AND ".join(f"here.{quote(own_key)} IS NOT NULL" for own_key, _ in pairs)
            count = connection.scalar(
                text(
                    f"SELECT COUNT(*) FROM {quote(table)} here LEFT JOIN {quote(key['referred_table'])} other"
                    f" ON {condition} WHERE {is_set} AND other.{quote(pairs[0][1])} IS NULL"
                )
            )
            if count:
                name = f"{table}.{', '.join(key['constrained_columns'])}"
                raise BackupError(f"{count} rows are missing from {key['referred_table']} that {name} refers to.")


def _insert(connection: Connection, archive: zipfile.ZipFile, table: str) -> None:
    with read_table(archive, table) as (columns, rows):
        if unknown := set(columns) - {name for name, _ in columns_of(connection, table)}:
            raise BackupError(f"This version has no {table}.{min(unknown)}.")
        quote = connection.dialect.identifier_preparer.quote
        column_list = ", ".join(map(quote, columns))
        values = ", ".join(f":c{number}" for number in range(len(columns)))
        statement = text(f"INSERT INTO {quote(table)} ({column_list}) VALUES ({values})")
        named = ({f"c{number}": value for number, value in enumerate(row)} for row in rows)
        while batch := list(islice(named, ROW_BATCH)):
            connection.execute(statement, batch)


def _set_next_ids(connection: Connection, next_ids: dict[str, int]) -> None:
    quote = connection.dialect.identifier_preparer.quote
    for table, number in next_ids.items():
        if connection.dialect.name != "sqlite":
            connection.execute(text(f"ALTER TABLE {quote(table)} AUTO_INCREMENT = {number:d}"))
            continue
        values = {"name": table, "seq": number - 1}
        connection.execute(text("DELETE FROM sqlite_sequence WHERE name = :name"), values)
        connection.execute(text("INSERT INTO sqlite_sequence (name, seq) VALUES (:name, :seq)"), values)


def _restore_files(archive: zipfile.ZipFile) -> None:
    settings = app_settings()
    folder = settings.var_dir.absolute()
    for name in attachments(archive):
        with archive.open(name) as data, file_storage().store(name.removeprefix("files/"), data):  # type: ignore[arg-type]
            pass
    if not settings.secret_key and "secret_key" in archive.namelist():
        secret = archive.read("secret_key")
        _write(folder / "secret_key", secret)
        current_app.config["SECRET_KEY"] = secret.decode()


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(data)
    part.replace(path)
