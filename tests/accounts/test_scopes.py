"""What a token may do is decided in one place, from the method and the address."""

import pytest

from testkit.people import post_form
from webapp.accounts import tokens
from webapp.accounts.schemas import NewToken
from webapp.accounts.scopes import SCOPES, is_sufficient, required_scopes
from webapp.db.base import write_transaction


def test_what_is_asked_of_mcp_needs_the_same_scopes_however_it_is_sent():
    assert required_scopes("GET", "/mcp", "user") == required_scopes("POST", "/mcp", "user")


def test_a_view_may_say_for_itself():
    assert required_scopes("POST", "/anything", "user", "mcp") == {"mcp_read", "mcp", "mcp_write"}


def test_a_token_without_scopes_may_do_everything():
    assert all(is_sufficient(None, {scope}) for scope in SCOPES)
    assert not any(is_sufficient([], {scope}) for scope in SCOPES)


@pytest.fixture
def with_scopes(app, user, api):
    """A client of `user` with a token of these scopes."""

    def make(*scopes):
        with app.app_context(), write_transaction():
            _, secret = tokens.create_token(user.user_id, NewToken(name="narrow", scopes=list(scopes)))
        client = api(user)
        client.environ_base = {**client.environ_base, "HTTP_AUTHORIZATION": f"Bearer {secret}"}
        return client

    return make


def test_a_reader_changes_nothing(with_scopes):
    reader = with_scopes("read")
    for path in ("/api/account", "/api/memories", "/api/conversations", "/api/spaces", "/api/audit", "/api/sessions"):
        assert reader.get(path).status_code == 200
    refused = reader.post("/api/memories", json={"memory_type": "fact", "content": "Likes tea"})
    assert refused.status_code == 403 and "scope memory" in refused.json["detail"]
    assert reader.post("/api/conversations", json={}).status_code == 403
    assert reader.put("/api/account", json={"name": "X"}).status_code == 403
    assert reader.get("/healthz").status_code == 200


def test_forgetting_with_a_conversation_or_a_space_needs_the_scope_of_memory(with_scopes):
    """A token for conversations had whatever they taught forgotten, for good."""
    for scope, kind, body in (("chat", "conversations", {}), ("write", "spaces", {"kind": "project", "name": "Boat"})):
        narrow = with_scopes(scope)
        made = narrow.post(f"/api/{kind}", json=body).json
        path = f"/api/{kind}/{made.get('conversation_id') or made.get('space_id')}"
        refused = narrow.delete(f"{path}?forget=memories")
        assert refused.status_code == 403 and "scope memory" in refused.json["detail"]
        assert with_scopes(scope, "memory").delete(f"{path}?forget=memories").status_code in (200, 204)
        assert with_scopes(scope).delete(path).status_code == 404


def test_a_token_and_the_password_are_no_session(app, user, with_scopes):
    """Otherwise the second step would be none: a browser signed in that way turned it off, and made any token."""
    body = {"current_password": user.password, "new_password": "nine grey stones at low water"}
    for caller in (with_scopes("write"), with_scopes(*SCOPES)):
        browser = app.test_client()
        browser.environ_base = caller.environ_base
        for path, sent in (("/settings/password", {"data": body}), ("/api/account/password", {"json": body})):
            refused = browser.post(path, **sent)
            assert (refused.status_code, refused.content_type) == (403, "application/problem+json")
            assert "signed-in browser" in refused.json["detail"]
        assert browser.get_cookie("session") is None


def test_a_writer_ends_no_session_and_a_token_without_scopes_does(app, user, client, login, with_scopes):
    login(user)
    (session,) = client.get("/api/sessions").json["sessions"]
    path = f"/api/sessions/{session['session_id']}"
    refused = with_scopes("read", "write", "admin").delete(path)
    assert refused.status_code == 403 and "not limited to scopes" in refused.json["detail"]
    assert client.delete(path).status_code == 204


def test_an_admin_without_the_admin_scope_is_no_admin(app, make_user, api):
    root = make_user(is_admin=True)
    with app.app_context(), write_transaction():
        _, narrow = tokens.create_token(root.user_id, NewToken(name="narrow", scopes=["read", "write"]))
    client = api(root)
    assert client.get("/api/users").status_code == 200
    client.environ_base = {**client.environ_base, "HTTP_AUTHORIZATION": f"Bearer {narrow}"}
    assert client.get("/api/users").status_code == 403
    assert client.get("/api/internal/users/1/memories").status_code == 403
    assert client.get("/api/account").status_code == 200


def test_tokens_are_made_with_scopes_and_an_end(browser):
    form = {"token_name": "Notes", "access": "chosen", "scopes": ["read", "memory"], "expires_in_days": "30"}
    made = post_form(browser, "/settings/tokens", "/settings/tokens", **form)
    assert made.location == "/settings/tokens"
    (token, _) = browser.get("/api/account/tokens").json["tokens"]
    assert (token["name"], token["scopes"]) == ("Notes", ["read", "memory"])
    assert token["expires_at"] is not None
    form = {"token_name": "All", "access": "full", "expires_in_days": ""}
    everything = post_form(browser, "/settings/tokens", "/settings", **form)
    assert everything.location == "/settings/tokens"
    assert browser.get("/api/account/tokens").json["tokens"][0]["scopes"] is None
    assert browser.get("/api/account/tokens").json["tokens"][0]["expires_at"] is None
    wrong = {"token_name": "Odd", "access": "chosen", "scopes": ["everything"]}
    assert post_form(browser, "/settings/tokens", "/settings/tokens", **wrong).status_code == 422


@pytest.mark.parametrize("form", [{"access": "chosen"}, {}])
def test_full_access_is_given_only_where_it_was_chosen(form, browser):
    before = len(browser.get("/api/account/tokens").json["tokens"])
    asked = post_form(browser, "/settings/tokens", "/settings/tokens", token_name="Laptop", expires_in_days="", **form)
    assert asked.status_code == 422 and "Choose full access, or at least one permission." in asked.text
    assert 'value="Laptop"' in asked.text and '<option value="" selected>' in asked.text
    assert len(browser.get("/api/account/tokens").json["tokens"]) == before


def test_where_a_token_was_used_is_told(client, login, user):
    client.get("/api/account")
    (token,) = login(user).get("/api/account/tokens").json["tokens"]
    assert token["last_used_address"] == "127.0.0.1"
