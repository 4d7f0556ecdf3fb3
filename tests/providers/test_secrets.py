"""A key is told nowhere: pages, answers, error texts, logs, exports, all tables and all of Redis are searched."""

import html
import json
import logging
import re
import zipfile
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

from flask import Flask

from tests.files.test_files import _send
from tests.memories.keeping.test_no_trace import cells, in_redis, searchable
from tests.providers.test_connections import KEY, _connect
from tests.spaces.test_nowhere import export_text
from tests.support.buckets import SECRET, bucket_server, stored_in
from tests.tools.conftest import searxng, site  # noqa: F401 - fixtures
from tests.tools.servers import Asked
from tests.tools.test_servers import add
from tests.tools.test_web import ask, calls
from webapp.admin.backups.backup import make_backup
from webapp.extensions import redis
from webapp.tools.web.service import web_of_site

HEADER = "hush-hush-header"
TOKEN = 'mcp-token/0123456789-"abcdef"'
ENGINE = "bsa-engine-key-0123456789"
ALL = (KEY, SECRET, HEADER)


def test_keys_of_connections_and_buckets_are_told_nowhere(
    app, api, login, make_user, model, run_jobs, tmp_path, caplog
):
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
            shown.append(export_text(admin, run_jobs))
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
    assert_told_nowhere(app, told, tmp_path, *ALL)


def assert_told_nowhere(app: Flask, told: str, folder: Path, *secrets: str) -> None:
    """No secret is in what was told, in a table, in Redis or in a backup."""
    with app.app_context():
        make_backup(folder / "everything.zip")
    with zipfile.ZipFile(folder / "everything.zip") as archive:
        told += "\n".join(archive.read(name).decode("utf-8", "replace") for name in archive.namelist())
    for secret in secrets:
        assert not {form for form in _forms(secret) if form in told}
        for form in _forms(secret):
            assert not {table for table, _, value, _ in cells(app) if form in searchable(value)}
            with app.app_context():
                assert not in_redis(redis(), re.escape(form))


def _forms(secret: str) -> set[str]:
    """A secret as it is, in JSON (in JSON), in HTML and in an address."""
    once = json.dumps(secret)[1:-1]
    return {secret, once, json.dumps(once)[1:-1], html.escape(secret), quote(secret), quote_plus(secret)}


def echo(asked: Asked) -> tuple[int, dict[str, str], Any]:
    """A server that tells everybody what it was sent: in errors, in descriptions and in results."""
    heard = " ".join(asked.headers.get(name, "") for name in ("authorization", "x-subscription-token"))
    if asked.method == "GET":
        page = "http://example.org/" + quote(heard)
        return 200, {}, {"web": {"results": [{"title": heard, "url": page, "description": f"You sent {heard}"}]}}
    if asked.method == "DELETE":
        return 500, {}, heard
    method = asked.json["method"]
    answer: dict[str, Any] = {"jsonrpc": "2.0", "id": asked.json.get("id")}
    if method == "tools/list":
        schema = {"type": "object", "properties": {"where": {"type": "string", "description": heard}}}
        hints = {"readOnlyHint": True}
        names = ("tell", "refuse")
        rows = [{"name": n, "description": heard, "inputSchema": schema, "annotations": hints} for n in names]
        return 200, {}, {**answer, "result": {"tools": rows}}
    if asked.json["params"]["name"] == "refuse":
        return 200, {}, {**answer, "error": {"code": -1, "message": f"Not with {heard}"}}
    return 200, {}, {**answer, "result": {"content": [{"type": "text", "text": f"Herons heard {heard}"}]}}


def test_keys_of_tools_are_told_nowhere_even_by_servers_that_echo_them(
    app,
    api,
    login,
    make_user,
    model,
    run_jobs,
    searxng,  # noqa: F811 - the fixture
    tmp_path,
    caplog,
):
    caplog.set_level(logging.DEBUG)
    person = make_user(is_admin=True)
    admin, browser = api(person), login(person)
    searxng.answer = echo
    engine = {"provider": "brave", "address": searxng.url, "api_key": ENGINE, "is_enabled": True}
    shown = [admin.put("/api/web-access", json=engine).text]
    web_of_site.cache_clear()
    server = add(admin, searxng.url, "tell", "refuse", token=TOKEN, for_everyone=True)
    shown += [str(server), admin.post("/api/web-access/test").text]
    calls(
        model,
        ("Garden_tell", {"where": "here"}),
        ("Garden_refuse", {"where": "here"}),
        ("web_search", {"query": "herons"}),
        last="They fish.",
    )
    reply = ask(admin, "What do herons do?")
    used = [call["tool_name"] for call in reply["tool_calls"]]
    assert used == ["Garden_tell", "Garden_refuse", "web_search"]
    sent = {name: value for asked in searxng.asked for name, value in asked.headers.items()}
    assert (sent["authorization"], sent["x-subscription-token"]) == (f"Bearer {TOKEN}", ENGINE)
    searxng.says(f"Wrong: {TOKEN} {ENGINE}", status=401)
    shown += [admin.post("/api/web-access/test").text, admin.post(f"/api/tool-servers/{server['server_id']}/test").text]
    shown += [str(reply), str(model.calls())]
    shown.append(export_text(admin, run_jobs))
    for page in (
        f"/c/{reply['conversation_id']}",
        "/admin/tools",
        "/settings/tools",
        f"/settings/tools/servers/{server['server_id']}",
        "/settings/activity",
    ):
        answer = browser.get(page)
        assert answer.status_code == 200
        shown.append(answer.text)
    shown += [str(record.__dict__) + str(record.getMessage()) for record in caplog.records if record.name != "werkzeug"]
    told = "\n".join(shown)
    assert "Herons heard" in told and "They fish." in told
    assert_told_nowhere(app, told, tmp_path, TOKEN, ENGINE)
