"""Readiness of this process: everything requests need is tried, including writes."""

import logging
import shutil
import uuid
from functools import cache

from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from redis.exceptions import (
    AuthenticationError,
    ConnectionError as RedisConnectionError,
    RedisError,
    TimeoutError as RedisTimeoutError,
)
from sqlalchemy import insert, inspect
from sqlalchemy.exc import SQLAlchemyError

from webapp.accounts.models import SiteSetting
from webapp.db.base import db, expect_writes
from webapp.db.conflicts import forget_session
from webapp.db.engine import database_file
from webapp.db.failures import database_is_full, database_is_locked, database_refuses
from webapp.db.migrations import migrate
from webapp.errors import reason
from webapp.extensions import app_settings, redis

log = logging.getLogger(__name__)

BUSY_SECONDS = 4
"""Seconds to wait while somebody else writes to the file of SQLite."""
MIN_FREE = 16 * 1024 * 1024
"""With fewer free bytes on SQLite's disk, there is no guarantee that anything more can be stored."""


def readiness() -> dict[str, str]:
    """Return the state of each part that requests need: `ok`, or what is wrong."""
    parts = {"database": _database(), "redis": _redis()}
    parts["migrations"] = "unknown"
    if parts["database"] == "ok":
        parts["migrations"] = _migrations()
    if parts["migrations"] == "ok" and (missing := missing_tables()):
        parts["tables"] = f"missing: {', '.join(missing)}"
    return parts


def _migrations() -> str:
    if (revision := current_revision()) == newest_revision():
        return "ok"
    with db.engine.connect() as connection:
        return "not current" if revision or inspect(connection).get_table_names() else "no tables"


def missing_tables() -> list[str]:
    """Return the tables of this version that the database lacks."""
    with db.engine.connect() as connection:
        return sorted(db.metadata.tables.keys() - set(inspect(connection).get_table_names()))


def _database() -> str:
    """Write a row and roll it back: a replica, a full disk and a locked file still answer every query."""
    db.session.rollback()
    if (file := database_file(db.engine)) and not file.exists():
        return "missing"
    expect_writes()
    try:
        db.session.connection(execution_options={"busy_seconds": BUSY_SECONDS})
        db.session.execute(insert(SiteSetting).values(key=f"readyz:{uuid.uuid4().hex}", value=True))
        if db.engine.dialect.name == "sqlite" and shutil.disk_usage(app_settings().var_dir).free < MIN_FREE:
            return "full"
        return "ok"
    except SQLAlchemyError as error:
        if "no such table" in str(error) or "doesn't exist" in str(error):
            return "ok"  # the schema is checked separately
        log.warning("database not ready: %s", reason(error))
        states = {"full": database_is_full, "refuses access": database_refuses, "locked": database_is_locked}
        return next((state for state, holds in states.items() if holds(error)), "away")
    finally:
        expect_writes(False)
        forget_session()


def _redis() -> str:
    try:
        redis().set("readyz", b"1", ex=60)
        return "ok"
    except AuthenticationError:
        return "refuses the password"
    except (RedisConnectionError, RedisTimeoutError):
        return "away"
    except RedisError:
        return "cannot be written to"


def current_revision() -> str:
    """Return the migration that the database is at; empty if it has no tables."""
    if (file := database_file(db.engine)) and not file.exists():
        return ""
    with db.engine.connect() as connection:
        return MigrationContext.configure(connection).get_current_revision() or ""


@cache
def newest_revision() -> str:
    """Return the migration that this version needs; the first call reads every migration, 18 MB of code and caches."""
    return _scripts().get_current_head() or ""


def migration_revisions() -> set[str]:
    """Return every migration of this version."""
    return {script.revision for script in _scripts().walk_revisions()}


def _scripts() -> ScriptDirectory:
    config = Config()
    config.set_main_option("script_location", str(migrate.directory))
    return ScriptDirectory.from_config(config)
