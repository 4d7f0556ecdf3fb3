"""A database that a newer version has migrated."""

import logging

import pytest
from flask import Flask
from flask_migrate import upgrade
from sqlalchemy import text

from webapp.db.base import db
from webapp.readiness import newest_revision


def test_a_database_of_a_newer_version_is_left_alone_with_the_reason(
    app_context: Flask, caplog: pytest.LogCaptureFixture
) -> None:
    newest = newest_revision()
    _mark("9999")
    try:
        with caplog.at_level(logging.ERROR), pytest.raises(SystemExit):
            upgrade()
    finally:
        _mark(newest)
    assert "of a newer version of Commonplace (migration 9999)" in caplog.text
    if db.engine.dialect.name == "sqlite":  # a migration does without
        with db.engine.connect() as connection:
            assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1


def _mark(revision: str) -> None:
    with db.engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = :revision"), {"revision": revision})
