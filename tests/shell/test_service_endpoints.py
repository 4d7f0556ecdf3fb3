"""/healthz, /readyz, /metrics."""

import os
import sqlite3
from contextlib import closing
from typing import Any

import pytest
from redis import Redis
from sqlalchemy import text

from webapp.admin.doctor import checks
from webapp.admin.doctor.checks import run_checks
from webapp.db.base import db
from webapp.db.engine import database_file


def test_all_is_well(anonymous):
    assert anonymous.get("/healthz").get_json() == {"status": "ok"}
    ready = anonymous.get("/readyz")
    assert (ready.status_code, ready.get_json()) == (
        200,
        {"status": "ready", "database": "ok", "redis": "ok", "migrations": "ok"},
    )


@pytest.mark.parametrize(("url", "state"), [("unix:///nonexistent", "away"), ("", "refuses the password")])
def test_redis_away_is_named(app, servers, anonymous, monkeypatch, url, state):
    monkeypatch.setitem(app.extensions, "redis", Redis.from_url(url or servers.redis_url, username="x", password="x"))
    ready = anonymous.get("/readyz")
    assert ready.status_code == 503
    assert ready.headers["Retry-After"]
    assert ready.get_json() == {"status": "not ready", "database": "ok", "redis": state, "migrations": "ok"}
    assert anonymous.get("/healthz").status_code == 200


@pytest.mark.mysql_only
def test_database_away_is_named(app_context, servers, anonymous):
    servers.stop_database()
    try:
        ready, findings = anonymous.get("/readyz"), run_checks((checks.servers, checks.database))
        assert anonymous.get("/healthz").status_code == 200
    finally:
        servers.start_database()
    states = {"status": "not ready", "database": "away", "redis": "ok", "migrations": "unknown"}
    assert (ready.status_code, ready.get_json()) == (503, states)
    assert {finding.part for finding in findings if finding.state == "fault"} == {"database"}
    assert "cannot be checked: Can't connect" in findings[-1].text


@pytest.mark.skipif(os.environ.get("TEST_DB") != "sqlite", reason="about SQLite's file")
def test_a_file_of_sqlite_that_is_locked_gone_or_empty_is_named(app, anonymous, monkeypatch):
    monkeypatch.setattr("webapp.readiness.BUSY_SECONDS", 0)
    with app.app_context():
        file = database_file(db.engine)

        def is_told(state: str, advice: str) -> bool:
            (finding,) = [finding for finding in checks.servers() if finding.state == "fault"]
            return state in anonymous.get("/readyz").get_json().values() and advice in finding.advice

        with closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            assert is_told("locked", "End the program")
        aside = file.rename(file.with_suffix(".aside"))
        try:
            assert is_told("missing", str(file))
            file.touch()
            assert is_told("no tables", "restore a backup")
        finally:
            aside.rename(file)
        assert anonymous.get("/readyz").status_code == 200


@pytest.mark.parametrize("tables", [["alembic_version"], ["alembic_version", "site_settings"]])
def test_migrations_that_are_not_current_are_named(app, anonymous, tables):
    with app.app_context():
        try:
            for table in tables:
                db.session.execute(text(f"ALTER TABLE {table} RENAME TO {table}_away"))
            db.session.commit()
            ready = anonymous.get("/readyz")
            advice = [finding.advice for finding in checks.servers() if finding.state == "fault"]
        finally:
            for table in tables:
                db.session.execute(text(f"ALTER TABLE {table}_away RENAME TO {table}"))
            db.session.commit()
    states = {"status": "not ready", "database": "ok", "redis": "ok", "migrations": "not current"}
    assert len(advice) == 1 and "flask --app wsgi prepare" in advice[0]
    assert (ready.status_code, ready.get_json()) == (503, states)


def test_metrics_are_for_loopback_services_and_admins(app, make_user, anonymous):
    far = {"REMOTE_ADDR": "203.0.113.5"}

    def get(person: Any = None, **environ: str) -> int:
        headers = {"Authorization": f"Bearer {person.token}"} if person else {}
        return anonymous.get("/metrics", headers=headers, environ_overrides={**far, **environ}).status_code

    assert get() == 403
    assert get(make_user()) == 403
    assert get(make_user(is_service=True)) == 200
    assert get(make_user(is_admin=True)) == 200
    assert get(REMOTE_ADDR="127.0.0.1") == 200
    assert get(REMOTE_ADDR="::1", HTTP_HOST="metrics.example.org") == 200
    for header in ("X_FORWARDED_FOR", "X_REAL_IP"):
        assert get(REMOTE_ADDR="127.0.0.1", **{f"HTTP_{header}": "203.0.113.5"}) == 403
    assert get(REMOTE_ADDR="") == 403


def test_metrics_name_turns_viewers_and_queues_even_without_redis(app, anonymous, monkeypatch):
    text_of = anonymous.get("/metrics").text
    queued = 'commonplace_jobs_queued{queue="turn"} 0.0'
    for line in ("commonplace_turns_running 0.0", "commonplace_viewers 0.0", queued):
        assert line in text_of
    monkeypatch.setitem(app.extensions, "redis", Redis.from_url("unix:///nonexistent/redis.sock"))
    assert "commonplace_turns_running" in anonymous.get("/metrics").text
