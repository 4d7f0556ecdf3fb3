"""Pages of other sites: let in with a token where an admin names their origin, and nowhere else."""

from collections.abc import Iterator

import pytest
from flask import Flask

from webapp.http.security_headers import init_security

FRIEND, STRANGER = "https://app.example.org", "https://evil.example"
ALLOWED = "Access-Control-Allow-Origin"


@pytest.fixture
def open_app() -> Iterator[Flask]:
    """A small application that lets one origin in."""
    app = Flask("open")
    init_security(app, f"{FRIEND}/, http://localhost:5173")
    for path in ("/v1/models", "/api/memories", "/mcp", "/settings"):
        app.add_url_rule(path, path, lambda: "ok", methods=["GET", "POST"])
    yield app


@pytest.mark.parametrize("path", ["/v1/models", "/api/memories", "/mcp"])
def test_a_named_origin_may_read_and_send_with_a_token(open_app, path):
    browser = open_app.test_client()
    answer = browser.get(path, headers={"Origin": FRIEND})
    assert answer.headers[ALLOWED] == FRIEND
    assert "Access-Control-Allow-Credentials" not in answer.headers and "Origin" in answer.headers["Vary"]
    assert {"X-Commonplace-Conversation", "Idempotent-Replayed"} <= set(
        answer.headers["Access-Control-Expose-Headers"].split(", ")
    )
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization, content-type"}
    before = browser.options(path, headers={"Origin": "http://localhost:5173", **asked})
    assert before.headers[ALLOWED] == "http://localhost:5173"
    assert "authorization" in before.headers["Access-Control-Allow-Headers"].lower()


@pytest.mark.parametrize(("path", "origin"), [("/v1/models", STRANGER), ("/settings", FRIEND), ("/v1/models", "null")])
def test_nobody_else_and_nowhere_else(open_app, path, origin):
    assert ALLOWED not in open_app.test_client().get(path, headers={"Origin": origin}).headers


def test_without_the_setting_no_page_is_let_in(app, user):
    for headers in ({}, {"Authorization": f"Bearer {user.token}"}):
        assert ALLOWED not in app.test_client().get("/v1/models", headers={"Origin": FRIEND, **headers}).headers
