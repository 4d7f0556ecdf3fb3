"""`flask doctor`: each fault is found, said with what to do, and told by the exit code."""

import logging
import time
import urllib.request
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from http.server import ThreadingHTTPServer
from typing import Any

import pytest
from flask import Flask
from flask_migrate import upgrade
from redis import Redis
from sqlalchemy import Column, Integer, text
from sqlalchemy.schema import CreateIndex, DropIndex

from tests.support.live import LiveServer
from tests.support.serving import Handler, run_server
from webapp.admin.doctor import checks
from webapp.admin.doctor.checks import run_checks
from webapp.admin.doctor.findings import Finding, clock, in_lines, is_sound
from webapp.admin.doctor.proxy import proxy
from webapp.admin.doctor.tables import tables
from webapp.background.job_specs import JobRequest, Queue, push
from webapp.config import Settings
from webapp.db.base import db
from webapp.extensions import app_settings, make_redis, redis


def look(*looks: Any) -> list[Finding]:
    return run_checks(looks)


def states(findings: list[Finding], part: str) -> set[str]:
    return {finding.state for finding in findings if finding.part == part}


@pytest.fixture
def set_to(app: Flask, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def change(**values: Any) -> None:
        monkeypatch.setitem(app.extensions, "settings", app_settings.of(app).model_copy(update=values))

    return change


def test_a_sound_installation_is_said_to_be_sound(live_server, app):
    live_server.start_scheduler()
    with app.app_context():
        end = datetime.now(UTC) + timedelta(seconds=30)
        while not is_sound(findings := look(checks.queues)):
            assert datetime.now(UTC) < end, "\n".join(in_lines(findings))
            time.sleep(0.1)
        findings = look(*checks.CHECKS)
    assert is_sound(findings), "\n".join(in_lines(findings))
    done = app.test_cli_runner().invoke(args=["doctor", "--url", live_server.url])
    assert done.exit_code == 0, done.output
    assert "arrives as it is sent" in done.output


def test_without_workers_and_scheduler_the_exit_code_tells(app):
    done = app.test_cli_runner().invoke(args=["doctor"])
    assert done.exit_code == 1
    assert f"FAULT    workers: no worker serves {', '.join(Queue)}" in done.output
    assert "→ Start `python -m jobs.worker`" in done.output
    assert "FAULT    scheduler: none is running" in done.output


def test_jobs_that_wait_too_long_and_that_failed(app_context):
    job_id = push(redis(), JobRequest("sweep"))
    late = (datetime.now(UTC) - timedelta(minutes=12)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    redis().hset(f"rq:job:{job_id}", "enqueued_at", late)
    said = "\n".join(in_lines(look(checks.queues)))
    assert "the first job of upkeep has been waiting for 12 minutes" in said and "Add workers" in said


def test_an_index_that_was_never_made(app_context):
    assert states(look(tables), "tables") == {"ok"}
    gone = next(
        index for index in db.metadata.tables["saved_prompts"].indexes if index.name == "ix_saved_prompts_space_id"
    )
    make = str(CreateIndex(gone).compile(dialect=db.engine.dialect))
    is_mysql = db.engine.dialect.name != "sqlite"
    with db.engine.begin() as connection:
        if is_mysql:  # it serves a reference, which another index has to serve meanwhile
            connection.execute(text("CREATE INDEX instead ON saved_prompts (space_id, name)"))
        connection.execute(DropIndex(gone))
    try:
        (finding,) = look(tables)
    finally:
        with db.engine.begin() as connection:
            connection.execute(CreateIndex(gone))
            if is_mysql:
                connection.execute(text("DROP INDEX instead ON saved_prompts"))
    assert finding.state == "warning" and "ix_saved_prompts_space_id" in finding.text
    assert finding.advice == f"Run: {make};"
    assert states(look(tables), "tables") == {"ok"}


def test_a_column_that_is_missing(app_context):
    db.metadata.tables["folders"].append_column(Column("colour", Integer))
    try:
        (finding,) = look(tables)
    finally:
        folders = db.metadata.tables["folders"]
        folders._columns.remove(folders.c.colour)  # type: ignore[attr-defined]
    assert finding.state == "fault" and finding.text == "missing: folders.colour"


@pytest.mark.mysql_only
def test_a_database_that_deletes_no_messages(app_context, monkeypatch, caplog):
    other = "innodb_print_all_deadlocks"  # one that MariaDB has, and has off
    monkeypatch.setattr("webapp.db.migrations.CASCADES", other)
    assert [(finding.state, finding.advice) for finding in look(tables) if finding.state != "ok"] == [
        ("fault", f"Start MySQL with {other}=ON, which is how earlier versions work.")
    ]
    with caplog.at_level(logging.ERROR), pytest.raises(SystemExit):
        upgrade()
    assert f"{other}=ON" in caplog.text


def test_redis_away(app_context, monkeypatch):
    monkeypatch.setitem(app_context.extensions, "redis", Redis.from_url("unix:///nonexistent/redis.sock"))
    findings = look(checks.servers, checks.redis_server, checks.queues)
    assert states(findings, "redis") == {"fault"} and not states(findings, "workers")  # whether they run is not known
    assert not is_sound(findings)


def test_redis_without_channels(app_context, monkeypatch, silent_redis_url):
    assert states(look(checks.redis_server), "redis") == {"ok"}
    with make_redis(silent_redis_url) as silent:
        monkeypatch.setitem(app_context.extensions, "redis", silent)
        (finding,) = [finding for finding in look(checks.redis_server) if finding.state != "ok"]
        advice = finding.advice.split("SETUSER <user> ")[1].split()
        redis().execute_command("ACL", "SETUSER", "silent", *advice)
        assert finding.state == "warning" and states(look(checks.redis_server), "redis") == {"ok"}


@pytest.mark.parametrize(("off", "state"), [(0.2, "ok"), (-3.0, "warning"), (3600.0, "fault")])
def test_clocks(off, state):
    finding = clock("redis", off)
    assert finding.state == state
    assert ("NTP" in finding.advice) == (state != "ok")
    assert ("ahead" in finding.text) == (state == "fault")


def test_the_clock_of_redis_is_read(app_context, monkeypatch):
    monkeypatch.setattr(redis(), "time", lambda: (int(datetime.now(UTC).timestamp()) - 120, 0))
    assert "fault" in states(look(checks.redis_server), "redis")


def test_data_that_others_can_read(app_context, set_to, tmp_path):
    (tmp_path / "commonplace.sqlite3").write_text("x")
    (tmp_path / "commonplace.sqlite3").chmod(0o644)
    set_to(var_dir=tmp_path)
    said = "\n".join(in_lines(look(checks.data)))
    assert "FAULT    data: others on this machine can use" in said and "commonplace.sqlite3" in said


def test_scripts_and_fonts_that_were_never_built(tmp_path):
    (tmp_path / "icons.svg").touch()
    said = "\n".join(in_lines(checks.assets(tmp_path)))
    assert "FAULT    pages: htmx.js, fonts/fonts.css missing" in said and "make assets" in said
    (tmp_path / "htmx.js").touch()
    (tmp_path / "fonts").mkdir()
    (tmp_path / "fonts" / "fonts.css").touch()
    assert is_sound(checks.assets(tmp_path))


def test_little_room(app_context, monkeypatch):
    monkeypatch.setattr(checks, "LITTLE_DISK", 2**62)
    assert states(look(checks.data), "disk") == {"warning"}


def test_a_model_that_is_away_or_lacks_a_model(app_context, set_to, model):
    set_to(chat_model="no such model")
    assert states(look(checks.model), "model") == {"ok", "warning"}
    set_to(openai_base_url="http://127.0.0.1:9/v1", openai_api_key="sk-secret")
    findings = look(checks.model)
    assert states(findings, "model") == {"fault"}
    assert "sk-secret" not in "\n".join(in_lines(findings))


def test_each_machine_with_a_key_of_its_own(app_context, set_to):
    set_to(secret_key="", database_url="mysql://u:p@db/x")
    assert states(look(checks.keys), "keys") == {"warning"}


def test_settings_that_contradict_each_other(app_context):
    wrong = Settings(session_cookie_secure=True, rate_limits=False)
    findings = list(checks.web_settings(wrong))
    assert [finding.state for finding in findings] == ["warning", "warning"] and is_sound(findings)


class Buffering(Handler):
    """A proxy that passes a stream on in one piece, and does not say which address people used."""

    behind = ""

    def do_GET(self) -> None:
        with urllib.request.urlopen(self.behind + self.path) as answer:
            whole = answer.read()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(whole)


@pytest.fixture
def buffering_proxy(live_server: LiveServer) -> Iterator[str]:
    handler = type("Handler", (Buffering,), {"behind": live_server.url})
    with run_server(ThreadingHTTPServer(("127.0.0.1", 0), handler)) as server:
        yield f"http://127.0.0.1:{server.server_port}"


def test_a_proxy_that_buffers_and_hides_the_host(buffering_proxy, app_context):
    said = "\n".join(in_lines(list(proxy(buffering_proxy))))
    assert "FAULT    proxy: a stream arrives in one piece" in said and "proxy_buffering off" in said
    assert "we see the host" in said


def test_an_address_that_leads_nowhere(app_context):
    (finding,) = proxy("http://127.0.0.1:9")
    assert finding.state == "fault" and "Connection refused" in finding.text


def test_the_stream_is_for_the_doctor_only_and_once(app, anonymous):
    assert anonymous.get("/healthz/stream").status_code == 404
    assert anonymous.get("/healthz/stream?key=guess").status_code == 404


def test_that_no_model_is_connected_is_said(app_context, set_to, model):
    set_to(offline_model=True)
    said = [finding for finding in look(checks.model) if finding.state == "warning"]
    assert any("no language model is connected" in finding.text for finding in said)


def test_a_provider_beside_open_registration(app_context, set_to):
    set_to(oidc_issuer="https://id.example", registration_open=True, rate_limits=True)
    (finding,) = look(checks.web)
    assert finding.state == "warning" and "Close registration" in finding.advice
    set_to(oidc_issuer="https://id.example", smtp_host="mail", rate_limits=True)
    assert look(checks.web) == []
