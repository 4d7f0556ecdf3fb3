"""Schedules for programs that signed in: asked for, allowed or not by the person, in the places they chose, kept by a
refresh, and over when the program is disconnected.
"""

import re
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask

from testkit.people import post_form
from tests.mcp_server.test_schedule_tools import CHANGING, WATER, list_tools, run
from tests.mcp_server.test_tools import call, post
from tests.oauth.helpers import address, came_back, connect, decide, exchange, refresh, register
from tests.schedules.test_schedules import claim, make, make_due
from tests.support.queries import get_row, scalar
from webapp.accounts.models import ApiToken
from webapp.audit.models import AuditEvent
from webapp.db.base import db, now, write_transaction
from webapp.mcp_server.tools import SCHEDULE_TOOLS
from webapp.oauth.models import OAuthGrant
from webapp.schedules import runs as sending
from webapp.schedules.models import Schedule

RIGHT = "See and change schedules through MCP"
BOX = re.compile(r'<input type="checkbox" name="mcp_schedules"[^>]*>')


def is_ticked(page: str) -> bool:
    boxes = BOX.findall(page)
    assert len(boxes) == 1
    return "checked" in boxes[0]


def list_grants(app: Flask) -> list[tuple[str, list[str] | None]]:
    with app.app_context():
        rows = db.select(OAuthGrant.scope, ApiToken.scopes).join(ApiToken, ApiToken.token_id == OAuthGrant.token_id)
        return [(row[0], row[1]) for row in db.session.execute(rows)]


def test_the_scope_is_advertised_and_not_asked_for_by_default(anonymous):
    for name in ("oauth-protected-resource", "oauth-authorization-server"):
        found = anonymous.get(f"/.well-known/{name}/mcp").get_json()
        assert found["scopes_supported"] == ["mcp_read", "mcp", "mcp_write", "mcp_schedules"]
    assert 'scope="mcp"' in anonymous.post("/mcp", json={}).headers["WWW-Authenticate"]


def test_the_box_is_ticked_only_for_a_program_that_asks(browser, anonymous):
    client_id = register(anonymous)["client_id"]
    asked = {"mcp": False, None: False, "chat schedules mcp_schedulesx": False}
    for scope, ticked in {**asked, "mcp mcp_schedules": True, "mcp_schedules": True}.items():
        page = browser.get(address(client_id, scope=scope)).text
        assert is_ticked(page) is ticked and page.count("(requested)") == ticked, scope
        assert 'value="mcp" checked' in page and "in your name" in page


@pytest.mark.cases("asked", "form", "scope")
def test_the_grant_holds_what_the_person_allowed(app, user, browser, anonymous, asked, form, scope):
    client_id = register(anonymous)["client_id"]
    code = came_back(decide(browser, address(client_id, scope=asked), **form))["code"]
    tokens = exchange(anonymous, client_id, code).get_json()
    assert tokens["scope"] == scope and list_grants(app) == [(scope, scope.split())]
    may = "mcp_schedules" in scope
    assert set(list_tools(anonymous, tokens["access_token"])) == (set(SCHEDULE_TOOLS) if may else set())
    assert call(anonymous, tokens["access_token"], "search", query="bees")["isError"] is False
    assert (RIGHT in browser.get("/settings/programs").text) is may
    with app.app_context():
        said = db.select(AuditEvent.what).where(
            AuditEvent.user_id == user.user_id, AuditEvent.action == "program_connected"
        )
        assert (RIGHT[:1].lower() + RIGHT[1:] in db.session.scalars(said).one()) is may


def test_a_mistake_in_the_form_loses_neither_a_tick_nor_its_absence(browser, anonymous):
    client_id = register(anonymous)["client_id"]
    for scope, form in (("mcp", {"mcp_schedules": "1"}), ("mcp mcp_schedules", {})):
        answer = decide(browser, address(client_id, scope=scope), reach="some", spaces=[], **form)
        assert answer.status_code == 422 and is_ticked(answer.text) is bool(form)


def test_without_it_no_tool_works_and_with_it_only_mcp_does(app, client, browser, anonymous):
    number = make(client, prompt="Private words.")["schedule_id"]
    without = connect(browser, anonymous, access="mcp_write")["access_token"]
    for tool in SCHEDULE_TOOLS:
        arguments = WATER if tool == "create_schedule" else {"schedule_id": number} if tool in CHANGING else {}
        answer = call(anonymous, without, tool, **arguments)
        assert answer["isError"] and "needs the scope mcp_schedules" in answer["content"][0]["text"]
    secret = connect(browser, anonymous, mcp_schedules="1")["access_token"]
    headers = {"Authorization": f"Bearer {secret}"}
    paths = ("/api/schedules", "/api/schedules/feed", f"/api/schedules/{number}", f"/api/schedules/{number}/runs")
    for path in (*paths, "/api/conversations", "/api/memories", "/v1/models"):
        assert anonymous.get(path, headers=headers).status_code == 403, path
    for path in ("/api/schedules", f"/api/schedules/{number}/run", "/api/conversations", "/v1/chat/completions"):
        assert anonymous.post(path, json={}, headers=headers).status_code == 403, path
    assert [row["prompt"] for row in client.get("/api/schedules").json["schedules"]] == ["Private words."]


def test_a_refresh_and_trust_keep_it_and_a_refresh_adds_it_to_nothing(app, browser, anonymous):
    tokens = connect(browser, anonymous, mcp_schedules="1")
    again = refresh(anonymous, tokens["client_id"], tokens["refresh_token"]).get_json()
    assert again["scope"] == "mcp mcp_schedules"
    assert set(list_tools(anonymous, again["access_token"])) == set(SCHEDULE_TOOLS)
    place = f"/settings/programs/{scalar(app, db.select(OAuthGrant.grant_id))}/trust"
    for on, scope in (("1", "mcp_write mcp_schedules"), ("0", "mcp mcp_schedules")):
        assert post_form(browser, place, "/settings/programs", on=on).status_code == 303
        assert list_grants(app) == [(scope, scope.split())]
        assert set(list_tools(anonymous, again["access_token"])) == set(SCHEDULE_TOOLS)
    plain = connect(browser, anonymous)
    more = refresh(anonymous, plain["client_id"], plain["refresh_token"], scope="mcp mcp_schedules")
    assert more.get_json()["error"] == "invalid_scope"


def test_a_program_that_only_reads_memory_is_not_trusted_with_it_for_having_schedules(app, browser, anonymous):
    connect(browser, anonymous, access="mcp_read", mcp_schedules="1")
    place = f"/settings/programs/{scalar(app, db.select(OAuthGrant.grant_id))}/trust"
    assert place not in browser.get("/settings/programs").text
    assert post_form(browser, place, "/settings/programs", on="1").status_code == 409
    assert list_grants(app) == [("mcp_read mcp_schedules", ["mcp_read", "mcp_schedules"])]


def test_what_it_made_is_sent_while_the_program_sleeps_and_ends_when_it_is_disconnected(
    app, client, browser, anonymous, run_jobs
):
    """Its access token ends after an hour, and the schedule is to run tomorrow."""
    secret = connect(browser, anonymous, mcp_schedules="1")["access_token"]
    number = run(anonymous, secret, "create_schedule", **WATER, repeat="daily")["schedule"]["schedule_id"]
    with app.app_context(), write_transaction():
        late = db.update(ApiToken).where(ApiToken.is_delegated)
        db.session.execute(late.values(expires_at=now() - timedelta(days=1)))
    assert post(anonymous, secret, "ping").status_code == 401
    make_due(app, number)
    assert claim(app) == 1
    run_jobs()
    assert client.get(f"/api/schedules/{number}/runs").json["runs"][0]["status"] == "done"
    grant = scalar(app, db.select(OAuthGrant.grant_id))
    assert post_form(browser, f"/settings/programs/{grant}/disconnect", "/settings/programs").status_code == 303
    make_due(app, number)
    assert claim(app) == 1
    run_jobs(failures=True)
    assert get_row(app, Schedule, number).paused_why == sending.TOKEN_ENDED


def test_only_schedules_in_the_chosen_places(app, client, browser, anonymous):
    """Every tool, for a program that may look into one of three places."""
    places: list[int | None] = [None]
    for name in "AB":
        places.append(client.post("/api/spaces", json={"kind": "project", "name": name}).get_json()["space_id"])
    talks: dict[int | None, int] = {}
    rows: dict[int | None, int] = {}
    for place in places:
        talks[place] = client.post("/api/conversations", json={"space_id": place}).get_json()["conversation_id"]
        rows[place] = make(client, prompt=f"Zebra {place}", conversation=talks[place])["schedule_id"]
    fresh = make(client, prompt="Zebra anew")["schedule_id"]
    for place in places:
        form: dict[str, Any] = {"reach": "some", "spaces": [str(place or 0)], "mcp_schedules": "1"}
        secret = connect(browser, anonymous, **form)["access_token"]
        shown = {row["schedule_id"] for row in run(anonymous, secret, "list_schedules")["schedules"]}
        assert shown == ({rows[None], fresh} if place is None else {rows[place]})
        anew = call(anonymous, secret, "create_schedule", **WATER)
        assert anew["isError"] is (place is not None)
        if place is None:
            run(anonymous, secret, "delete_schedule", schedule_id=anew["structuredContent"]["schedule"]["schedule_id"])
        for other in places:
            made = call(anonymous, secret, "create_schedule", **WATER, conversation=talks[other])
            assert made["isError"] is (other != place)
            if other == place:
                number = made["structuredContent"]["schedule"]["schedule_id"]
                for tool in CHANGING:
                    run(anonymous, secret, tool, schedule_id=number)
                continue
            assert made["content"][0]["text"] == "There is no such conversation."
            for tool in CHANGING:
                answer = call(anonymous, secret, tool, schedule_id=rows[other])
                assert answer["isError"] and answer["content"][0]["text"] == "There is no such schedule."
    left = client.get("/api/schedules").json["schedules"]
    assert {row["schedule_id"] for row in left} == {*rows.values(), fresh} and all(row["is_active"] for row in left)
