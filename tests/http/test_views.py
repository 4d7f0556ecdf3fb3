"""Who is answered how, and how requests are validated."""

import io
from collections.abc import Iterator

import pytest
from flask import Flask

from webapp.config import Settings
from webapp.extensions import app_settings
from webapp.http.views import absolute_url, wants_json, wants_partial


def test_programs_get_json(app):
    for path, accept, expected in (
        *(("/api/x", "text/html", True), ("/memory/conversation/x", "", True), ("/readyz", "", True)),
        *(("/c/1", "text/html", False), ("/c/1", "*/*", False), ("/c/1", "application/json", True)),
        *(("/c/1", "text/html,application/json;q=0.9", False), ("/c/1", "garbage", False)),
    ):
        with app.test_request_context(path, headers={"Accept": accept}):
            assert wants_json() is expected, (path, accept)


def test_who_sends_a_token_is_a_program(app):
    for scheme, expected in (("Bearer", True), ("bearer", True), ("Basic", False)):
        with app.test_request_context("/c/1", headers={"Authorization": f"{scheme} x"}):
            assert wants_json() is expected


SITE = "https://chat.example.org"


@pytest.fixture
def site(app: Flask, settings: Settings) -> Iterator[str]:
    """The address of the site, as SITE_URL names it."""
    app_settings.put(app, settings.model_copy(update={"site_url": f"{SITE}/"}))
    yield SITE
    app_settings.put(app, settings)


def test_every_address_of_the_site_is_the_one_that_is_set(site, client, anonymous, login):
    """Whatever a request says of its host: a shared link, or a program's way to sign in, would lead somewhere else."""
    evil = {"Host": "evil.example"}
    for path in ("oauth-authorization-server", "oauth-protected-resource", "openid-configuration"):
        described = anonymous.get(f"/.well-known/{path}", headers=evil).text
        assert site in described and "evil" not in described
    assert f'"{site}/.well-known/' in anonymous.post("/mcp", json={}, headers=evil).headers["WWW-Authenticate"]
    conversation_id = client.post("/api/conversations", json={}).get_json()["conversation_id"]
    client.post("/api/chat/stream", json={"message": "Hello", "conversation_id": conversation_id})
    shared = client.post(f"/api/conversations/{conversation_id}/shares", json={}, headers=evil)
    assert shared.get_json()["url"].startswith(f"{site}/s/")
    browser = login(client.person)
    for page in ("/settings/programs", "/shares", f"/c/{conversation_id}/share"):
        assert f"{site}/" in browser.get(page).text, page


@pytest.mark.parametrize(
    ("root", "site", "path", "url"),
    [
        ("", "", "/c/1", "http://localhost/c/1"),
        ("/chat", "", "/chat/c/1", "http://localhost/chat/c/1"),
        ("/chat", "https://x.example/chat/", "/chat/c/1", "https://x.example/chat/c/1"),
        ("", "https://x.example", "", "https://x.example"),
    ],
)
def test_an_absolute_url(app, settings, root, site, path, url):
    app_settings.put(app, settings.model_copy(update={"site_url": site}))
    with app.test_request_context("/", environ_overrides={"SCRIPT_NAME": root}):
        assert absolute_url(path) == url
    app_settings.put(app, settings)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, False),
        ({"HX-Request": "true"}, True),
        ({"HX-Request": "true", "HX-Boosted": "true"}, False),
        ({"HX-Request": "true", "HX-History-Restore-Request": "true"}, False),
    ],
)
def test_parts_of_pages(app, headers, expected):
    with app.test_request_context("/", headers=headers):
        assert wants_partial() is expected


def test_no_body_is_an_empty_object(client):
    assert client.post("/api/conversations").status_code == 201
    assert client.post("/api/conversations", content_type="application/json").status_code == 201
    refused = client.post("/api/folders")
    assert (refused.status_code, refused.json["errors"]) == (422, [{"loc": ["name"], "msg": "Field required"}])


@pytest.mark.parametrize("announced", [True, False])
def test_a_body_that_is_too_large_is_refused_as_such_whether_or_not_its_size_is_announced(app, client, announced):
    text = b'{"title": "%s"}' % (b"x" * int(app.config["MAX_CONTENT_LENGTH"]))
    chunked = {"environ_overrides": {"wsgi.input_terminated": True}, "headers": {"Transfer-Encoding": "chunked"}}
    sent = client.post(
        "/api/conversations",
        input_stream=io.BytesIO(text),
        content_type="application/json",
        **({"content_length": len(text)} if announced else chunked),
    )
    assert (sent.status_code, sent.mimetype) == (413, "application/problem+json")
