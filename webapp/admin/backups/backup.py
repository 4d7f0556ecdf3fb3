"""Making a backup while everything runs: one consistent snapshot of the database, then the attachments it names."""

import hashlib
import logging
import os
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from flask import current_app
from sqlalchemy import Connection, Float, inspect
from sqlalchemy.exc import SQLAlchemyError

from webapp.accounts.site import get_setting, has_users, set_setting
from webapp.admin.backups.archive import (
    BackupError,
    Manifest,
    attachments,
    is_attachment,
    open_archive,
    read_manifest,
    read_table,
    write_manifest,
    write_table,
)
from webapp.db.base import db, expect_writes, now, write_transaction
from webapp.db.engine import public_url
from webapp.errors import reason
from webapp.extensions import app_settings
from webapp.files.storage import file_storage
from webapp.readiness import current_revision, newest_revision

log = logging.getLogger(__name__)

ROW_BATCH = 500
LAST = "last_backup"


def make_backup(path: Path, *, may_be_empty: bool = False) -> Manifest:
    """Write a backup of one snapshot to a new, private file, which appears once it is whole. Raises BackupError."""
    revision = _revision(may_be_empty)
    if path.exists():
        raise BackupError(f"{path} exists already: choose another name.")
    part = path.with_name(path.name + ".part")
    try:
        descriptor = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise BackupError(f"{part} is being written, or was left by a backup that broke off: remove it then.") from None
    except OSError as error:
        raise BackupError(f"{part} cannot be written ({error.strerror}).") from None
    try:
        with os.fdopen(descriptor, "w+b") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            manifest = _fill(archive, revision)
        if path.exists():
            raise BackupError(f"{path} has been made meanwhile: choose another name.")
        part.replace(path)
    except (OSError, SQLAlchemyError) as error:
        raise BackupError(f"The backup broke off: {reason(error)}.") from error
    finally:
        part.unlink(missing_ok=True)
    return manifest


def note_backup() -> None:
    """Record that a backup was made, in a transaction of its own; one of a read-only database goes unrecorded."""
    try:
        with write_transaction():
            set_setting(LAST, now().isoformat())
    except SQLAlchemyError:
        log.warning("backup not noted", exc_info=True)


def last_backup() -> datetime | None:
    """Return when a backup was last made with `backup create`, of what is noted here; None if none was."""
    stored = get_setting(LAST)
    return datetime.fromisoformat(stored) if isinstance(stored, str) else None


def check_backup(path: Path) -> Manifest:
    """Read a backup to its end. Raises BackupError if something is missing or damaged."""
    with open_archive(path) as archive:
        manifest = read_manifest(archive)
        for name, count in manifest.tables.items():
            with read_table(archive, name) as (columns, rows):
                if sum(len(row) == len(columns) for row in rows) != count:
                    raise BackupError(f"Rows of {name} are missing from the backup.")
        names = list(attachments(archive))
        if len(names) != manifest.attachments:
            raise BackupError("Attachments are missing from the backup.")
        for name in names:
            with archive.open(name) as data:
                if hashlib.file_digest(data, "sha256").hexdigest() != Path(name).name:  # type: ignore[arg-type]
                    raise BackupError(f"{name} in the backup is damaged.")
        for name in {"secret_key"} & set(archive.namelist()):
            archive.read(name)
    return manifest


def key_mark() -> str:
    """Return a fingerprint of this installation's SECRET_KEY, which does not reveal it."""
    return hashlib.sha256(b"backup:" + str(current_app.config["SECRET_KEY"]).encode()).hexdigest()[:16]


def columns_of(connection: Connection, table: str) -> list[tuple[str, bool]]:
    """Return the columns of a table that are stored rather than computed, and whether each is a float."""
    return [
        (column["name"], isinstance(column["type"], Float))
        for column in inspect(connection).get_columns(table)
        if "computed" not in column
    ]


def _revision(may_be_empty: bool) -> str:
    """Return the version of a database that is worth a backup. Raises BackupError."""
    place = public_url(db.engine)
    try:
        if not (revision := current_revision()):
            raise BackupError(f"There is nothing in {place}. VAR_DIR or DATABASE_URL names the right database.")
        if revision != newest_revision():
            raise BackupError(f"{place} is not at this version. Run flask --app wsgi prepare first.")
        is_empty = not has_users()
        db.session.rollback()  # nobody waits for what this has read
    except SQLAlchemyError as error:
        raise BackupError(f"{place} cannot be read: {reason(error)}.") from error
    if is_empty and not may_be_empty:
        raise BackupError(f"There are no accounts in {place}. If it is the right database, add --empty.")
    return revision


def _fill(archive: zipfile.ZipFile, revision: str) -> Manifest:
    counts: dict[str, int] = {}
    with _snapshot() as connection:
        tables = set(inspect(connection).get_table_names())
        for table in (table for table in db.metadata.sorted_tables if table.name in tables):
            columns = columns_of(connection, table.name)
            rows = _select(connection, table.name, columns)
            counts[table.name] = write_table(archive, table.name, [name for name, _ in columns], rows)
        next_ids = _next_ids(connection)
    count = sum(_add_file(archive, key) for key, _ in file_storage().entries() if is_attachment(f"files/{key}"))
    if not app_settings().secret_key:
        archive.writestr("secret_key", str(current_app.config["SECRET_KEY"]))
    manifest = Manifest(
        made_at=now().isoformat(timespec="seconds"),
        revision=revision,
        database=db.engine.dialect.name,
        key=key_mark(),
        tables=counts,
        next_ids=next_ids,
        attachments=count,
    )
    write_manifest(archive, manifest)
    return manifest


def _add_file(archive: zipfile.ZipFile, key: str) -> bool:
    """Copy the bytes of a file, piece by piece; returns whether it still existed."""
    try:
        pieces = file_storage().pieces(key)
    except FileNotFoundError:
        return False
    with archive.open(f"files/{key}", "w", force_zip64=True) as out:
        out.writelines(pieces)
    return True


@contextmanager
def _snapshot() -> Iterator[Connection]:
    """Yield a connection that sees the database as it is now, whatever is written meanwhile."""
    expect_writes(False)
    with db.engine.connect() as connection:
        if connection.dialect.name != "sqlite":
            connection = connection.execution_options(isolation_level="REPEATABLE READ")
            connection.exec_driver_sql("START TRANSACTION WITH CONSISTENT SNAPSHOT")
        else:
            connection.exec_driver_sql("SELECT 1 FROM alembic_version").all()  # its snapshot begins with the first read
        yield connection


def _select(connection: Connection, table: str, columns: list[tuple[str, bool]]) -> Iterator[Sequence[Any]]:
    quote = connection.dialect.identifier_preparer.quote
    # MySQL prints a four-byte float with six digits; multiplied by one it becomes a double, with all its digits.
    exact = connection.dialect.name != "sqlite"
    column_list = ", ".join(f"{quote(name)} * 1e0" if exact and is_float else quote(name) for name, is_float in columns)
    streaming = connection.execution_options(stream_results=True, yield_per=ROW_BATCH)
    with streaming.exec_driver_sql(f"SELECT {column_list} FROM {quote(table)}") as result:
        for row in result:
            yield tuple(row)


def _next_ids(connection: Connection) -> dict[str, int]:
    """Return the id that the next row of each table gets: ids of deleted rows must not be used again."""
    if connection.dialect.name == "sqlite":
        rows = connection.exec_driver_sql("SELECT name, seq + 1 FROM sqlite_sequence")
    else:
        if not getattr(connection.dialect, "is_mariadb", False):
            connection.exec_driver_sql("SET SESSION information_schema_stats_expiry = 0")
        rows = connection.exec_driver_sql(
            "SELECT table_name, auto_increment FROM information_schema.tables "
            "WHERE table_schema = DATABASE() AND auto_increment IS NOT NULL"
        )
    own_tables = {table.name for table in db.metadata.sorted_tables}
    return {name: int(number) for name, number in rows if name in own_tables}
