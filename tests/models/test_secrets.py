"""A key is told nowhere: pages, answers, error texts, logs, exports, all tables and all of Redis are searched."""

from __future__ import annotations

import io
import logging
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from tests.files.test_files import _send
from tests.memories.keeping.test_no_trace import cells, in_redis, searchable
from tests.models.test_connections import KEY, _connect
from tests.support.buckets import SECRET, bucket_server, stored_in
from tests.support.people import ApiClient, Person
from webapp.extensions import redis
from webapp.llm.offline.testing import ServerHandle
from webapp.models.catalogue import catalogue

HEADER = "hush-hush-header"
ALL = (KEY, SECRET, HEADER)


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    catalogue.forget()
    yield
    catalogue.forget()


def test_keys_of_connections_and_buckets_are_told_nowhere(
    app: Flask,
    api: Callable[[Person], ApiClient],
    login: Callable[[Person], FlaskClient],
    make_user: Callable[..., Person],
    model: ServerHandle,
    run_jobs: Callable[[], Any],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    person = make_user(is_admin=True)
    admin, browser = api(person), login(person)
    shown: list[str] = []
    with bucket_server() as server:
        for settings in (server.settings, server.settings | {"s3_endpoint": "http://127.0.0.1:9"}):
            with stored_in(app, settings, tmp_path):
                made = _connect(admin, model, headers={"X-Team": HEADER}, name=f"To {settings['s3_endpoint'][-4:]}")
                place = f"/api/connections/{made['connection_id']}"
                shown += [admin.post(f"{place}/test", json={}).text, admin.get(place).text]
                shown.append(_send(admin, b"Bees dance.", "bees.txt").text)
                shown.append(app.test_cli_runner().invoke(args=["doctor"]).output)
                model.script(
                    match="echo",
                    fault={"http_status": 401, "body": {"error": {"message": f"Incorrect key: {KEY}"}}},
                    times=None,
                )
                talk = admin.post("/api/conversations", json={}).get_json()["conversation_id"]
                sent = admin.post(
                    f"/api/conversations/{talk}/messages",
                    json={"content": "echo", "model": f"{made['connection_id']}/other-chat"},
                )
                assert sent.status_code == 202, sent.text
                reply = sent.get_json()["message"]["message_id"]
                answer = admin.get(f"/api/messages/{reply}/response?wait=20")
                assert answer.get_json()["status"] == "failed"
                shown += [sent.text, answer.text, browser.get(f"/c/{talk}").text]
        with stored_in(app, server.settings, tmp_path):
            export = admin.post("/api/exports", json={"what": "account"}).get_json()
            run_jobs()
            with admin.get(f"/api/exports/{export['export_id']}/download") as found:
                archive = zipfile.ZipFile(io.BytesIO(found.data))
            shown += [archive.read(name).decode("utf-8", "replace") for name in archive.namelist()]
    for page in (
        "/admin",
        "/admin/connections",
        "/admin/jobs",
        "/settings",
        "/settings/activity",
        "/files",
        "/metrics",
    ):
        shown.append(browser.get(page, follow_redirects=True).text)
    shown += [str(record.__dict__) + str(record.getMessage()) for record in caplog.records if record.name != "werkzeug"]
    told = "\n".join(shown)
    assert "Bees dance." in told and "other-chat" in told  # there was something to be searched
    for secret in ALL:
        assert secret not in told
        assert not {table for table, _, value, _ in cells(app) if secret in searchable(value)}
        with app.app_context():
            assert not in_redis(redis(), secret)
