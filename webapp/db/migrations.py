"""An application's migrations, resumable on MySQL and MariaDB, where each statement is a transaction of its own.

Workers do without: Alembic takes 9 MB.
"""

import logging
import time
from pathlib import Path
from typing import Any

from alembic.ddl.mysql import MariaDBImpl, MySQLImpl
from flask import Flask
from flask_migrate import Migrate
from sqlalchemy import Connection, CursorResult, Engine, text
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.schema import ExecutableDDLElement

from webapp.db.base import db
from webapp.db.engine import database_file
from webapp.db.failures import database_is_away, database_refuses
from webapp.errors import reason

log = logging.getLogger(__name__)

FOLDER = Path(__file__).resolve().parent.parent.parent / "migrations"

migrate = Migrate(db=db, render_as_batch=True, compare_server_default=False)


def init_migrations(app: Flask) -> None:
    """Let `flask db` and other upgraders find the migrations."""
    migrate.init_app(app, db, directory=str(FOLDER))


# Table exists, unknown table, column exists, key exists, nothing of that name to drop, constraint exists.
_ALREADY_DONE = {1050, 1051, 1060, 1061, 1091, 1826}
# A foreign key of that name exists, as InnoDB reports it.
_DUPLICATE_KEY = "errno: 121"


def _is_done(statement: object, error: DBAPIError) -> bool:
    original = error.orig
    if original is None or not isinstance(statement, ExecutableDDLElement):
        return False
    return (original.args[:1] or (0,))[0] in _ALREADY_DONE or _DUPLICATE_KEY in str(original)


CASCADES = "innodb_native_foreign_keys"


def refuse_weak_cascades(connection: Connection) -> None:
    """Raise RuntimeError on a MySQL (9.6 and newer) that deletes no row of a table that refers to itself."""
    if connection.dialect.name != "sqlite":
        row = connection.execute(text("SHOW VARIABLES LIKE :name"), {"name": CASCADES}).first()
        if row is not None and row[1] != "ON":
            raise RuntimeError(
                "this version of MySQL deletes no conversations. "
                f"Start MySQL with {CASCADES}=ON, which is how earlier versions work."
            )


class RepeatableMySQL(MySQLImpl):
    """Accepts a change that has already been made."""

    __dialect__ = "mysql"

    def _exec(self, construct: Any, *args: Any, **options: Any) -> CursorResult[Any] | None:
        try:
            return super()._exec(construct, *args, **options)
        except DBAPIError as error:
            if not _is_done(construct, error):
                raise
            log.info("made already: %s", type(construct).__name__)
            return None


class RepeatableMariaDB(RepeatableMySQL, MariaDBImpl):
    """The same under its other name."""

    __dialect__ = "mariadb"


def make_database_file(engine: Engine) -> None:
    """Create SQLite's file if it is missing, which nothing but a migration does."""
    if file := database_file(engine):
        file.touch()


def connect_with_retry(engine: Engine, seconds: float) -> Connection:
    """Return a connection to a database that may still be starting.

    Raises OperationalError after a while, or at once if it refuses us.
    """
    end = time.monotonic() + seconds
    is_logged = False
    while True:
        try:
            return engine.connect()
        except OperationalError as error:
            if not database_is_away(error) or database_refuses(error) or time.monotonic() > end:
                raise
            if not is_logged:
                log.warning("the database is away; waiting for it: %s", reason(error))
                is_logged = True
            time.sleep(0.5)
