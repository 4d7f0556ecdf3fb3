"""A program that signs somebody in, step by step."""

import base64
import hashlib
import re
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from testkit.people import csrf_token

CALLBACK = "http://127.0.0.1:9999/callback"
VERIFIER = "v" * 64
HOST = "http://localhost"


def challenge(verifier: str = VERIFIER) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")


def register(anonymous: FlaskClient, **fields: Any) -> dict[str, Any]:
    """A registered program."""
    said = {"client_name": "Notebook", "redirect_uris": [CALLBACK], "token_endpoint_auth_method": "none", **fields}
    answer = anonymous.post("/oauth/register", json=said)
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.get_json()
    return found


def address(client_id: str, /, **changes: str | None) -> str:
    """The address of the consent page; None leaves a parameter out."""
    asked: dict[str, str | None] = {
        "response_type": "code",
        "client_id": client_id,
        "redirect_uri": CALLBACK,
        "state": "xyz",
        "scope": "mcp",
        "code_challenge": challenge(),
        "code_challenge_method": "S256",
        "resource": f"{HOST}/mcp",
    }
    return "/oauth/authorize?" + urlencode({k: v for k, v in (asked | changes).items() if v is not None})


def decide(browser: FlaskClient, where: str, **form: Any) -> TestResponse:
    """Open the consent page and send its form."""
    page = browser.get(where)
    assert page.status_code == 200, page.text
    action = re.search(r'<form class="form" method="post" action="([^"]+)"', page.text)
    assert action
    sent = {"decision": "allow", "access": "mcp", "reach": "all", "csrf_token": csrf_token(page.text)} | form
    return browser.post(action[1].replace("&amp;", "&"), data=sent)


def came_back(answer: TestResponse) -> dict[str, str]:
    """What the program is told by the address a person is sent to."""
    assert answer.status_code == 302, answer.text
    assert answer.location.startswith(CALLBACK)
    return {name: values[0] for name, values in parse_qs(urlsplit(answer.location).query).items()}


def exchange(anonymous: FlaskClient, client_id: str, code: str, /, **changes: Any) -> TestResponse:
    """Ask for tokens for a code."""
    form = {
        "grant_type": "authorization_code",
        "client_id": client_id,
        "code": code,
        "redirect_uri": CALLBACK,
        "code_verifier": VERIFIER,
        "resource": f"{HOST}/mcp",
    } | changes
    return anonymous.post("/oauth/token", data={k: v for k, v in form.items() if v is not None})


def refresh(anonymous: FlaskClient, client_id: str, token: str, /, **changes: Any) -> TestResponse:
    """Ask for new tokens."""
    form = {"grant_type": "refresh_token", "client_id": client_id, "refresh_token": token} | changes
    return anonymous.post("/oauth/token", data=form)


def connect(browser: FlaskClient, anonymous: FlaskClient, client_id: str = "", **form: Any) -> dict[str, Any]:
    """Let a program in; its tokens. `mcp_schedules="1"` ticks that box, which nothing else does."""
    client_id = client_id or register(anonymous)["client_id"]
    code = came_back(decide(browser, address(client_id), **form))["code"]
    answer = exchange(anonymous, client_id, code)
    assert answer.status_code == 200, answer.text
    return {"client_id": client_id, **answer.get_json()}
