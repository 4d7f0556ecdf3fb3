"""Letting a program in, in a real browser: the consent page, where it leads, and the end of it."""

import re
from collections.abc import Iterator
from http.server import HTTPServer
from urllib.parse import urlencode

import httpx2
import pytest
from playwright.sync_api import expect

from tests.oauth.helpers import challenge
from tests.support.serving import Handler, run_server

from .conftest import on_every_screen, scrolls_sideways, serious_findings


@pytest.fixture
def callback() -> Iterator[str]:
    """Where a program on the person's machine waits for the code."""

    class Callback(Handler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>Back</title><link rel=icon href=data:,><p>You can close this.")

    with run_server(HTTPServer(("127.0.0.1", 0), Callback)) as server:
        yield f"http://127.0.0.1:{server.server_port}/callback"


@on_every_screen
def test_a_program_is_let_in_and_out(open_tab, live_server, user, client, callback, device, colour):
    client.post("/api/spaces", json={"kind": "project", "name": "The boat"})
    said = {"client_name": "Notebook", "redirect_uris": [callback]}
    client_id = httpx2.post(f"{live_server.url}/oauth/register", json=said).json()["client_id"]
    asked = {"response_type": "code", "client_id": client_id, "redirect_uri": callback, "scope": "mcp", "state": "s"}
    asked |= {"code_challenge": challenge(), "code_challenge_method": "S256"}
    tab = open_tab(user, device, colour=colour)
    page = tab.go(f"/oauth/authorize?{urlencode(asked)}")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Notebook")
    expect(page.get_by_label("propose changes", exact=False)).to_be_checked()
    assert serious_findings(page) == [] and not scrolls_sideways(page)
    page.get_by_label("The boat").check()
    page.get_by_role("button", name="Allow").click()
    expect(page).to_have_url(re.compile(rf"^{re.escape(callback)}\?code=[^&]+&state=s&iss="))
    code = page.evaluate("new URLSearchParams(location.search).get('code')")
    form = {"grant_type": "authorization_code", "client_id": client_id, "code": code, "redirect_uri": callback}
    answer = httpx2.post(f"{live_server.url}/oauth/token", data=form | {"code_verifier": "v" * 64})
    assert answer.status_code == 200, answer.text
    page = tab.go("/settings/programs")
    expect(page.get_by_text("Anything outside spaces, The boat")).to_be_visible()
    assert serious_findings(page) == [] and not scrolls_sideways(page)
    page.get_by_role("button", name="Disconnect “Notebook”").click()
    page.get_by_role("dialog").get_by_role("button", name="Disconnect", exact=True).click()
    expect(page.get_by_text("No program has signed in as you.")).to_be_visible()
