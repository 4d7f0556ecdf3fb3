"""Signing in for a program: consent, codes, tokens that rotate, limits by access and space, and the end of it."""

import re
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask

from testkit.people import DEACTIVATIONS, Person, browser_client, deactivate, post_form, reactivate
from tests.mcp_server.test_tools import call, post
from tests.memories.conversing import add_memory
from tests.oauth.helpers import CALLBACK, address, came_back, connect, decide, exchange, refresh, register
from tests.support.queries import execute, scalar
from webapp.accounts.models import ApiToken
from webapp.audit.models import AuditEvent
from webapp.db.base import db, now, write_transaction
from webapp.mcp_server.tools import SCHEDULE_TOOLS, TOOLS
from webapp.network import http_client
from webapp.oauth import service
from webapp.oauth.models import OAuthClient, OAuthCode, OAuthGrant, OAuthRefreshToken

GERMAN = {"Accept-Language": "de"}


def counts(app: Flask) -> tuple[int, ...]:
    with app.app_context():
        tables = (OAuthClient, OAuthGrant, OAuthRefreshToken)
        return tuple(db.session.scalar(db.select(db.func.count()).select_from(table)) for table in tables)


def deeds(app: Flask, person: Person) -> list[tuple[str, str]]:
    with app.app_context():
        query = db.select(AuditEvent.action, AuditEvent.what).where(AuditEvent.user_id == person.user_id)
        return [tuple(row) for row in db.session.execute(query.order_by(AuditEvent.event_id))]


@pytest.fixture
def client_id(anonymous):
    """Of a program that has registered."""
    return register(anonymous)["client_id"]


def test_where_to_sign_in_is_said(anonymous):
    refused = anonymous.post("/mcp", json={})
    assert (
        'resource_metadata="http://localhost/.well-known/oauth-protected-resource/mcp"'
        in (refused.headers["WWW-Authenticate"])
    )
    for path in ("", "/mcp"):
        resource = anonymous.get(f"/.well-known/oauth-protected-resource{path}").get_json()
        assert resource["resource"] == "http://localhost/mcp" and resource["bearer_methods_supported"] == ["header"]
        assert resource["authorization_servers"] == ["http://localhost"]
        found = anonymous.get(f"/.well-known/oauth-authorization-server{path}").get_json()
        assert found["issuer"] == "http://localhost"
        assert found["code_challenge_methods_supported"] == ["S256"]
        assert found["client_id_metadata_document_supported"] is True


def test_a_program_is_let_in(app, user, browser, anonymous):
    add_memory(app, user, "Keeps bees on the roof")
    client_id = register(anonymous)["client_id"]
    page = browser.get(address(client_id))
    assert "“Notebook”" in page.text and "this computer" in page.text and user.email in page.text
    assert "form-action 'self' http://127.0.0.1:9999;" in page.headers["Content-Security-Policy"]
    back = came_back(decide(browser, address(client_id)))
    assert (back["state"], back["iss"]) == ("xyz", "http://localhost")
    answer = exchange(anonymous, client_id, back["code"])
    tokens = answer.get_json()
    assert answer.headers["Cache-Control"] == "no-store"
    assert (tokens["token_type"], tokens["scope"], tokens["expires_in"]) == ("Bearer", "mcp", 3_600)
    found = call(anonymous, tokens["access_token"], "search", query="bees")
    assert len(found["structuredContent"]["results"]) == 1
    assert ("program_connected", "Notebook: read memory and propose changes through MCP") in deeds(app, user)
    assert ("memories_read", "1 memory") in deeds(app, user)
    assert "Notebook" in browser.get("/settings/programs").text
    assert "Notebook" not in browser.get("/settings/tokens").text


def test_a_refusal_is_told(browser, app, client_id):
    back = came_back(decide(browser, address(client_id), decision="deny"))
    assert (back["error"], back["state"], back["iss"]) == ("access_denied", "xyz", "http://localhost")
    assert counts(app)[1:] == (0, 0)


def test_requests_that_are_sent_back(browser, client_id):
    bad = [{"code_challenge": None}, {"code_challenge_method": None}, {"code_challenge_method": "plain"}]
    for changes, error in (
        *((changes, "invalid_request") for changes in (*bad, {"code_challenge": "short"})),
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"resource": "https://elsewhere.example/mcp"}, "invalid_target"),
    ):
        back = came_back(browser.get(address(client_id, **changes)))
        assert (changes, back["error"], back["state"], back["iss"]) == (changes, error, "xyz", "http://localhost")


def test_requests_that_lead_nowhere(browser, client_id):
    wrong = {"redirect_uri": ["https://evil.example/", None, CALLBACK + "/../x"], "client_id": ["unknown", None]}
    for changes in ({name: value} for name, values in wrong.items() for value in values):
        answer = browser.get(address(client_id, **changes))
        assert answer.status_code in (404, 422), changes
        assert "Location" not in answer.headers


def test_exchanges_that_are_refused(app, browser, anonymous, client_id):
    for changes, error in (
        *((({"code_verifier": wrong}), "invalid_request") for wrong in (None, "short")),
        ({"code_verifier": "w" * 64}, "invalid_grant"),
        ({"redirect_uri": "http://127.0.0.1:9999/other"}, "invalid_grant"),
        ({"code": "unknown"}, "invalid_grant"),
        ({"code": None}, "invalid_request"),
        *(({"client_id": wrong}, "invalid_client") for wrong in ("unknown", None)),
        ({"resource": "https://elsewhere.example/"}, "invalid_target"),
        *(({"grant_type": wrong}, "unsupported_grant_type") for wrong in ("password", None)),
    ):
        code = came_back(decide(browser, address(client_id)))["code"]
        answer = exchange(anonymous, client_id, code, **changes)
        assert answer.status_code in (400, 401), changes
        assert (changes, answer.get_json()["error"], counts(app)[1:]) == (changes, error, (0, 0))


def test_a_code_is_anothers_or_too_old(app, browser, anonymous):
    client_id, other = register(anonymous)["client_id"], register(anonymous)["client_id"]
    code = came_back(decide(browser, address(client_id)))["code"]
    assert exchange(anonymous, other, code).get_json()["error"] == "invalid_grant"
    execute(app, db.update(OAuthCode).values(expires_at=now() - timedelta(seconds=1)))
    assert exchange(anonymous, client_id, code).get_json()["error"] == "invalid_grant"


def test_a_code_used_twice_ends_what_came_of_it(app, user, browser, anonymous, client_id):
    code = came_back(decide(browser, address(client_id)))["code"]
    tokens = exchange(anonymous, client_id, code).get_json()
    assert post(anonymous, tokens["access_token"], "ping").status_code == 200
    assert exchange(anonymous, client_id, code).get_json()["error"] == "invalid_grant"
    assert post(anonymous, tokens["access_token"], "ping").status_code == 401
    assert refresh(anonymous, client_id, tokens["refresh_token"]).status_code == 400
    assert deeds(app, user)[-1] == ("program_disconnected", "Notebook: a code was used twice")


def test_tokens_rotate_and_a_stolen_one_ends_it(app, user, browser, anonymous):
    first = connect(browser, anonymous)
    client_id = first["client_id"]
    second = refresh(anonymous, client_id, first["refresh_token"]).get_json()
    assert second["scope"] == "mcp"
    assert post(anonymous, first["access_token"], "ping").status_code == 401
    assert post(anonymous, second["access_token"], "ping").status_code == 200
    third = refresh(anonymous, client_id, second["refresh_token"], resource="http://localhost/mcp").get_json()
    assert refresh(anonymous, client_id, first["refresh_token"]).get_json()["error"] == "invalid_grant"
    assert post(anonymous, third["access_token"], "ping").status_code == 401
    assert refresh(anonymous, client_id, third["refresh_token"]).get_json()["error"] == "invalid_grant"
    assert deeds(app, user)[-1] == ("program_disconnected", "Notebook: a token was used twice")
    assert counts(app)[1:] == (0, 0)


def test_a_refresh_is_the_programs_own_and_asks_for_no_more(browser, anonymous):
    tokens = connect(browser, anonymous)
    other = register(anonymous)["client_id"]
    assert refresh(anonymous, other, tokens["refresh_token"]).get_json()["error"] == "invalid_grant"
    more = refresh(anonymous, tokens["client_id"], tokens["refresh_token"], scope="mcp mcp_write")
    assert more.get_json()["error"] == "invalid_scope"
    assert refresh(anonymous, tokens["client_id"], tokens["refresh_token"]).status_code == 200


def test_an_access_token_ends_by_itself(app, browser, anonymous):
    tokens = connect(browser, anonymous)
    with app.app_context(), write_transaction():
        late = db.update(ApiToken).where(ApiToken.is_delegated)
        db.session.execute(late.values(expires_at=now() - timedelta(seconds=1)))
    assert post(anonymous, tokens["access_token"], "ping").status_code == 401
    again = refresh(anonymous, tokens["client_id"], tokens["refresh_token"]).get_json()
    assert post(anonymous, again["access_token"], "ping").status_code == 200


@pytest.mark.parametrize("method", ["client_secret_post", "client_secret_basic"])
def test_a_program_with_a_secret_has_to_know_it(browser, anonymous, method):
    made = register(anonymous, token_endpoint_auth_method=method)
    client_id, secret = made["client_id"], made["client_secret"]
    code = came_back(decide(browser, address(client_id)))["code"]
    assert exchange(anonymous, client_id, code).get_json()["error"] == "invalid_client"
    assert exchange(anonymous, client_id, code, client_secret="wrong").get_json()["error"] == "invalid_client"
    if method == "client_secret_post":
        assert exchange(anonymous, client_id, code, client_secret=secret).status_code == 200
    else:
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": CALLBACK, "code_verifier": "v" * 64}
        assert anonymous.post("/oauth/token", data=form, auth=(client_id, secret)).status_code == 200


def test_a_person_lets_a_program_write_without_asking_and_takes_it_back(app, user, browser, anonymous, make_user):
    tokens = connect(browser, anonymous)
    number = scalar(app, db.select(OAuthGrant.grant_id))
    place, page = f"/settings/programs/{number}/trust", "/settings/programs"

    def remember(content: str) -> str:
        answer = call(anonymous, tokens["access_token"], "remember", content=content, quote=content)
        return str(answer["structuredContent"]["status"])

    assert remember("Keeps bees") == "proposed" and "Keep without asking" in browser.get(page).text
    for other in (make_user(), make_user(is_admin=True)):
        assert post_form(browser_client(app, other), place, "/settings", on="1").status_code == 404
    assert post_form(browser, place, page, on="1").status_code == 303
    assert remember("Plays the oboe") == "remembered" and "Ask me first" in browser.get(page).text
    assert deeds(app, user)[-2][0] == "program_connected"
    assert post_form(browser, place, page, on="0").status_code == 303
    assert remember("Sails a boat") == "proposed"


def test_a_person_ends_it(app, user, browser, anonymous):
    tokens = connect(browser, anonymous)
    number = scalar(app, db.select(OAuthGrant.grant_id))
    assert post(anonymous, tokens["access_token"], "ping").status_code == 200
    assert post_form(browser, f"/settings/programs/{number}/disconnect", "/settings/programs").status_code == 303
    assert post(anonymous, tokens["access_token"], "ping").status_code == 401
    assert refresh(anonymous, tokens["client_id"], tokens["refresh_token"]).status_code == 400
    assert deeds(app, user)[-1] == ("program_disconnected", "Notebook")


@pytest.mark.parametrize("which", ["access_token", "refresh_token"])
def test_a_program_gives_it_back(browser, anonymous, which):
    tokens = connect(browser, anonymous)
    other = register(anonymous)["client_id"]
    assert anonymous.post("/oauth/revoke", data={"token": tokens[which], "client_id": other}).status_code == 200
    assert post(anonymous, tokens["access_token"], "ping").status_code == 200
    asked = {"token": tokens[which], "client_id": tokens["client_id"]}
    assert anonymous.post("/oauth/revoke", data=asked).status_code == 200
    assert post(anonymous, tokens["access_token"], "ping").status_code == 401
    assert refresh(anonymous, tokens["client_id"], tokens["refresh_token"]).status_code == 400
    assert anonymous.post("/oauth/revoke", data=asked).status_code == 200
    assert anonymous.post("/oauth/revoke", data={"client_id": other}).get_json()["error"] == "invalid_request"


def test_a_new_password_ends_the_access_that_is_ticked(app, user, browser, anonymous):
    tokens = connect(browser, anonymous)
    post_form(
        browser,
        "/settings/password",
        "/settings",
        current_password=user.password,
        new_password="another tide mill heron",
        ended="programs",
    )
    assert post(anonymous, tokens["access_token"], "ping").status_code == 401
    assert refresh(anonymous, tokens["client_id"], tokens["refresh_token"]).status_code == 400


def test_each_access_does_what_it_says(app, user, browser, anonymous):
    """Every tool by every access: read, read and propose, write."""
    known = add_memory(app, user, "Lives in Porto")
    said = {"content": "Plays the cello", "quote": "I play the cello since school"}
    arguments: dict[str, dict[str, Any]] = {
        "search": {"query": "Porto"},
        "fetch": {"id": f"memory-{known}"},
        "get_context": {"task": "Where do I live?"},
        "list_memories": {},
        "remember": said,
        "update_memory": {"memory_id": known, "content": "Lives in Lisbon"},
        "forget": {"memory_id": known},
    }
    assert set(arguments) == set(TOOLS) - set(SCHEDULE_TOOLS)
    reads = {"search", "fetch", "get_context", "list_memories"}
    may = {
        "mcp_read": reads,
        "mcp": reads | {"remember", "update_memory"},
        "mcp_write": set(TOOLS) - set(SCHEDULE_TOOLS),
    }
    statuses = {}
    for access, tools in may.items():
        secret = connect(browser, anonymous, access=access)["access_token"]
        listed = post(anonymous, secret, "tools/list").get_json()["result"]["tools"]
        assert {tool["name"] for tool in listed} == tools
        for name, given in arguments.items():
            answer = call(anonymous, secret, name, **given)
            assert answer["isError"] is (name not in tools), (access, name)
            statuses[access, name] = (answer.get("structuredContent") or {}).get("status")
    assert statuses["mcp", "remember"] == statuses["mcp", "update_memory"] == "proposed"
    assert statuses["mcp_write", "update_memory"] == "changed"
    assert statuses["mcp_write", "forget"] == "forgotten"


def test_a_token_of_a_program_opens_nothing_else(browser, anonymous):
    for access in service.ACCESS:
        secret = connect(browser, anonymous, access=access)["access_token"]
        headers = {"Authorization": f"Bearer {secret}"}
        for path in ("/api/memories", "/api/conversations", "/api/account", "/v1/models", "/settings", "/memory"):
            assert anonymous.get(path, headers=headers).status_code == 403, path
        for path in ("/api/memories", "/api/exports", "/v1/chat/completions", "/oauth/authorize"):
            assert anonymous.post(path, json={}, headers=headers).status_code == 403, path


def test_only_the_chosen_spaces(app, user, client, browser, anonymous):
    """Every tool and resource, for a program that may look into one of three places."""
    spaces = [
        client.post("/api/spaces", json={"kind": "project", "name": name}).get_json()["space_id"] for name in "AB"
    ]
    places = [None, *spaces]
    rows = {place: add_memory(app, user, f"Zebra number {place}", space_id=place) for place in places}
    pinned = add_memory(app, user, "Zebra pinned", is_pinned=True)
    assert client.put("/api/profile", json={"name": "Zebra Ada"}).status_code == 200
    personal = {row["memory_id"] for row in client.get("/api/memories").get_json()["memories"] if not row["space_id"]}
    assert pinned in personal
    for place in places:
        secret = connect(browser, anonymous, reach="some", spaces=[str(place or 0)], access="mcp_write")["access_token"]
        mine = {f"memory-{number}" for number in (personal if place is None else [rows[place]])}
        found = call(anonymous, secret, "search", query="zebra")["structuredContent"]["results"]
        assert {hit["id"] for hit in found} == mine
        listed = call(anonymous, secret, "list_memories")["structuredContent"]["memories"]
        assert {f"memory-{row['memory_id']}" for row in listed} == mine
        about = call(anonymous, secret, "get_context", task="zebra number")["structuredContent"]
        assert {item["id"] for item in about["found"]} <= mine
        assert {f"memory-{row['memory_id']}" for row in about["known"]} <= mine
        assert about["found"] or about["known"]
        assert bool(about["pinned"]) is bool(about["profile"]) is (place is None)
        named = {item["uri"] for item in post(anonymous, secret, "resources/list").get_json()["result"]["resources"]}
        for other in places:
            is_mine = other == place
            assert call(anonymous, secret, "fetch", id=f"memory-{rows[other]}")["isError"] is not is_mine
            changed = call(anonymous, secret, "update_memory", memory_id=rows[other], content=f"Zebra no {other}")
            assert changed["isError"] is not is_mine
            said = {"content": f"Sees zebra {other}", "quote": f"I see zebra {other}"}
            assert call(anonymous, secret, "remember", **said, space_id=other)["isError"] is not is_mine
            if other is None:
                continue
            assert call(anonymous, secret, "list_memories", space_id=other)["isError"] is not is_mine
            assert call(anonymous, secret, "get_context", task="zebra", space_id=other)["isError"] is not is_mine
            uri = f"commonplace://spaces/{other}"
            assert (uri in named) is is_mine
            assert ("result" in post(anonymous, secret, "resources/read", uri=uri).get_json()) is is_mine
        for other in places:
            if other != place:
                assert call(anonymous, secret, "forget", memory_id=rows[other])["isError"] is True


def test_a_space_of_somebody_else_cannot_be_chosen(app, browser, anonymous, make_user, api):
    theirs = api(make_user()).post("/api/spaces", json={"kind": "project", "name": "Theirs"}).get_json()["space_id"]
    client_id = register(anonymous)["client_id"]
    for spaces in ([], [str(theirs)], ["x"]):
        answer = decide(browser, address(client_id), reach="some", spaces=spaces)
        assert answer.status_code == 422
    assert decide(browser, address(client_id), access="admin").status_code == 422


def test_what_is_wrong_stands_in_the_form_and_nothing_chosen_is_lost(browser, anonymous, client):
    client.post("/api/spaces", json={"kind": "project", "name": "The boat"})
    where = address(register(anonymous)["client_id"])
    answer = decide(browser, where, reach="some", spaces=[], access="mcp_read")
    assert answer.status_code == 422 and "Choose at least one place the program may look in." in answer.text
    assert 'value="mcp_read" checked' in answer.text and 'value="some" checked' in answer.text
    assert 'value="0" checked' not in answer.text
    assert "form-action 'self' http://127.0.0.1:9999;" in answer.headers["Content-Security-Policy"]
    again = decide(browser, where, reach="all", access="everything")
    assert again.status_code == 422 and "Choose what the program may do." in again.text
    assert 'value="all" checked' in again.text and "Notebook" in again.text


def test_a_visitor_without_an_account_comes_to_the_consent_page(app, anonymous, make_user):
    where = address(register(anonymous)["client_id"])
    make_user()
    entrance = anonymous.get(where, follow_redirects=True)
    link = re.search(r'href="(/register[^"]*)"', entrance.text)
    assert link
    form = {"name": "Ada", "email": "ada@example.org", "password": "a heron on the tide mill"}
    page = link[1].replace("&amp;", "&")
    answer = post_form(anonymous, page, page, **form)
    assert answer.status_code == 303 and answer.location == where
    assert "“Notebook”" in anonymous.get(where).text


def test_the_consent_page_is_for_people(app, user, client, anonymous):
    where = address(register(anonymous)["client_id"])
    answer = anonymous.get(where)
    assert (answer.status_code, answer.location.split("?")[0]) == (303, "/login")
    assert client.get(where).status_code == 403
    assert anonymous.post(where, data={"decision": "allow"}).status_code in (303, 403)
    assert browser_client(app, user).post(where, data={"decision": "allow", "access": "mcp"}).status_code == 403  # CSRF


def test_a_cookie_is_no_credential_of_a_program(browser, anonymous, client_id):
    assert browser.post("/oauth/register", json={"redirect_uris": [CALLBACK]}).status_code == 201
    assert browser.post("/oauth/token", data={"client_id": client_id}).status_code == 400
    for body in (b"{", b"[]", b'"x"', b"", b'{"redirect_uris": 1}', b'{"redirect_uris": [1]}', b"[" * 50_000):
        answer = anonymous.post("/oauth/register", data=body, content_type="application/json")
        assert answer.status_code == 400
        assert answer.get_json()["error"] in ("invalid_redirect_uri", "invalid_client_metadata")


def test_a_document_that_is_nested_too_deep(browser, monkeypatch):
    monkeypatch.setattr(http_client, "request", lambda *_, **__: http_client.Answer(200, {}, b"[" * 30_000))
    answer = browser.get("/oauth/authorize", query_string={"client_id": "https://a.example/program.json"})
    assert (answer.status_code, "is not JSON" in answer.text) == (422, True)


def test_what_leads_nowhere_is_said_in_the_readers_language(browser, anonymous, monkeypatch):
    said = "Die Beschreibung des Programms kann nicht gelesen werden"
    where = address("https://127.0.0.1/program.json")
    assert f"{said}. Die Adresse liegt im eigenen Netz dieses Servers." in browser.get(where, headers=GERMAN).text
    english = "The program&#39;s description cannot be read. The address is within this server&#39;s own network."
    assert english in browser.get(where).text
    monkeypatch.setattr(http_client, "request", lambda *_, **__: http_client.Answer(404, {}, b""))
    client_id = register(anonymous)["client_id"]
    for changes, german in (
        ({"client_id": "unknown"}, "Dieses Programm ist hier unbekannt."),
        ({"redirect_uri": None}, "Die Anfrage des Programms kann nicht beantwortet werden: "),
        ({"client_id": "https://a.example/program.json"}, f"{said}: Ant"),
    ):
        where = address(client_id, **changes)
        assert german in browser.get(where, headers=GERMAN).text
        assert german not in browser.get(where).text


def test_where_people_are_sent_is_said_in_their_language(browser, anonymous):
    page = browser.get(address(register(anonymous)["client_id"]), headers=GERMAN).text
    assert "Du wirst zu diesem Computer geleitet." in page
    app_of_its_own = register(anonymous, redirect_uris=["com.example.notebook:/back"])["client_id"]
    page = browser.get(address(app_of_its_own, redirect_uri="com.example.notebook:/back"), headers=GERMAN).text
    assert "Du wirst zu einer App (com.example.notebook:) geleitet." in page


def test_what_is_past_goes(app, browser, anonymous):
    tokens = connect(browser, anonymous)
    register(anonymous)
    register(anonymous)
    with app.app_context(), write_transaction():
        service.purge(now() + timedelta(days=2))
    assert counts(app) == (1, 1, 1)
    assert refresh(anonymous, tokens["client_id"], tokens["refresh_token"]).status_code == 200
    with app.app_context(), write_transaction():
        service.purge(now() + service.IDLE + timedelta(days=1))
    with app.app_context(), write_transaction():
        service.purge(now() + service.IDLE + timedelta(days=1))
    assert counts(app) == (0, 0, 0)


@pytest.mark.parametrize("way", DEACTIVATIONS)
def test_a_program_gets_nothing_while_the_account_is_out_of_use(app, user, browser, anonymous, way):
    """Neither by its token, nor for a refresh token, nor for a code that it was given before."""
    got = connect(browser, anonymous)
    code = came_back(decide(browser, address(got["client_id"])))["code"]
    deactivate(app, user, way)
    refused = post(anonymous, got["access_token"], "tools/list")
    assert refused.status_code == 401
    assert refresh(anonymous, got["client_id"], got["refresh_token"]).status_code == 400
    assert exchange(anonymous, got["client_id"], code).status_code == 400
    reactivate(app, user, way)
    assert refresh(anonymous, got["client_id"], got["refresh_token"]).status_code == 200
