"""A database that another version has migrated."""

import logging

import pytest
from flask_migrate import upgrade
from sqlalchemy import text

from webapp.db.base import db
from webapp.readiness import newest_revision


@pytest.mark.parametrize(
    ("revision", "reason"),
    [("9999", "of a newer version of Commonplace (migration 9999)"), ("0048", "before 1.0 (migration 0048)")],
)
def test_a_database_of_another_version_is_left_alone_with_the_reason(app_context, caplog, revision, reason):
    newest = newest_revision()
    _mark(revision)
    try:
        with caplog.at_level(logging.ERROR), pytest.raises(SystemExit):
            upgrade()
    finally:
        _mark(newest)
    assert reason in caplog.text
    if db.engine.dialect.name == "sqlite":  # a migration does without
        with db.engine.connect() as connection:
            assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1


def _mark(revision: str) -> None:
    with db.engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = :revision"), {"revision": revision})
