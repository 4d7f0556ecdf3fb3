"""Alembic's entry: migrations run against the application's database, on MySQL, MariaDB and SQLite alike."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from pathlib import Path

from alembic import context
from flask import current_app

from webapp.db.base import db, expect_writes
from webapp.db.migrations import make_database_file, refuse_weak_cascades

ROOT = Path(__file__).resolve().parent.parent


def run() -> None:
    """Run the migrations in one transaction where the database can, with a lock against a second runner."""
    for path in (ROOT / "webapp").rglob("models.py"):  # a process without routes has not loaded them all
        import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    expect_writes()
    with suppress(KeyError):  # it goes nowhere: `flask db current`
        context.get_revision_argument()
        make_database_file(db.engine)
    with db.engine.connect() as connection:
        try:
            _migrate(connection)
        finally:
            connection.invalidate()  # nobody else gets it with the lock, or without foreign keys


def _migrate(connection) -> None:
    if connection.dialect.name == "sqlite":
        # Batch mode drops and remakes tables; with foreign keys on, the drop would cascade into their children.
        # The pragma does nothing inside a transaction, hence the driver's own connection.
        connection.connection.driver_connection.execute("PRAGMA foreign_keys=OFF")
    else:
        _lock(connection)
    context.configure(
        connection=connection,
        target_metadata=db.metadata,
        render_as_batch=True,
        compare_type=True,
        transaction_per_migration=False,
    )
    _refuse_other_versions()
    refuse_weak_cascades(connection)
    with context.begin_transaction():
        context.run_migrations()
    connection.commit()


def _refuse_other_versions() -> None:
    known = {script.revision for script in context.script.walk_revisions()}
    for revision in set(context.get_context().get_current_heads()) - known:
        if revision < min(known):
            raise RuntimeError(
                f"the database is of a version before 1.0 (migration {revision}): see docs/production.md, Upgrading"
            )
        raise RuntimeError(
            f"the database is of a newer version of Commonplace (migration {revision}). Start that version, or restore "
            "a backup that was made with this one"
        )


def _lock(connection) -> None:
    """Keep a second runner out; on SQLite, BEGIN IMMEDIATE does."""
    got = connection.exec_driver_sql("SELECT GET_LOCK('commonplace-migrations', 120)").scalar()
    connection.commit()
    if not got:
        raise RuntimeError("another process has been migrating this database for two minutes")


if context.is_offline_mode():
    url = current_app.config["SQLALCHEMY_DATABASE_URI"]
    context.configure(url=url, target_metadata=db.metadata, literal_binds=True)
    with context.begin_transaction():
        context.run_migrations()
else:
    run()
    expect_writes(False)
