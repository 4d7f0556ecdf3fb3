"""The audit: what is recorded, who may read it, and that nothing in it changes."""

import json
from datetime import timedelta
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import select, update

from testkit.people import PASSWORD, post_form
from tests.support.queries import scalars
from webapp.accounts.models import User
from webapp.audit import service, setup
from webapp.audit.actions import Action, words
from webapp.audit.models import AuditEvent
from webapp.audit.service import Actor
from webapp.conversations.models import Conversation, Message
from webapp.db.base import add_row, db, now, write_transaction
from webapp.memories.models import MemoryChangeSet


def actions(client):
    """The caller's events, oldest first."""
    return [event["action"] for event in reversed(client.get("/api/audit?limit=100").json["events"])]


def test_every_action_has_words():
    assert all(words(action.value) == action.words for action in Action)


def test_what_happens_to_an_account_is_recorded(user, browser):
    post_form(browser, "/settings/tokens", "/settings", access="full", token_name="Notes")
    form = {"current_password": PASSWORD, "new_password": "nine grey stones at low water"}
    post_form(browser, "/settings/password", "/settings", **form)
    events = browser.get("/api/audit").json["events"]
    assert [event["action"] for event in events[:3]] == ["password_changed", "token_created", "signed_in"]
    made = events[1]
    assert made["what"] == "Notes"
    assert made["actor"] == {"kind": "you", "user_id": user.user_id, "name": user.name, "token_id": None}
    assert made["address"] == "127.0.0.1"
    assert PASSWORD not in json.dumps(events)


def test_an_admins_look_is_seen_by_the_person_but_not_from_where(app, login, client, user, make_user):
    admin = make_user(is_admin=True, name="Root")
    browser = login(admin)
    assert browser.get(f"/admin/users/{user.user_id}/memory").status_code == 200
    (event,) = [event for event in client.get("/api/audit").json["events"] if event["action"] == "admin_looked"]
    assert (event["actor"]["kind"], event["actor"]["name"], event["address"]) == ("person", "Root", "")
    post_form(browser, f"/admin/users/{user.user_id}/admin", "/settings", admin="1")
    assert actions(client)[-1] == "role_changed"
    assert "admin_looked" not in actions(browser)


def test_one_reads_only_ones_own(client, login, make_user):
    other = login(make_user())
    assert "signed_in" in actions(other)
    assert "signed_in" not in actions(client)


def test_pages_and_the_download(app, user, make_user, browser, admin_browser):
    page = browser.get("/settings/activity")
    assert page.status_code == 200 and "Signed in" in page.text
    lines = browser.get("/settings/activity/download").text.splitlines()
    assert "signed_in" in [json.loads(line)["action"] for line in lines]
    post_form(browser, "/settings/tokens", "/settings", access="full", token_name="Very private name")
    unnamed = make_user()
    with app.app_context(), write_transaction():
        db.session.get(User, unnamed.user_id).name = ""
        service.record(user.user_id, Action.MEMORIES_READ, actor=Actor("token", unnamed.user_id))
    site = admin_browser.get("/admin/activity").text
    assert f'href="/admin/users/{user.user_id}"><bdi>{user.name}</bdi>' in site and "Created a token" in site
    assert f"by a token of {unnamed.email}" in site
    assert "Very private name" not in site


def test_pages_of_events(app, client, user):
    with app.app_context(), write_transaction():
        for number in range(5):
            service.record(user.user_id, Action.MEMORIES_READ, f"{number} memories", actor=Actor("token", name="Notes"))
    first = client.get("/api/audit?limit=2").json
    second = client.get(f"/api/audit?limit=2&cursor={first['next_cursor']}").json
    assert [event["what"] for event in first["events"] + second["events"]] == [f"{n} memories" for n in (4, 3, 2, 1)]
    assert client.get("/api/audit?cursor=nonsense").status_code == 422


def test_what_repeats_is_recorded_once_in_a_while(app, user):
    with app.app_context(), write_transaction():
        for token_id in (1, 1, 2):
            actor = Actor("token", user.user_id, "Notes", token_id)
            service.record(user.user_id, Action.MEMORIES_READ, actor=actor, once_in=600)
        rows = db.session.scalars(select(AuditEvent.token_id).where(AuditEvent.action == "memories_read")).all()
    assert sorted(rows) == [1, 2]


def test_what_was_rolled_back_is_recorded_the_next_time(app, user):
    """A request that lost against another one is begun again (webapp/db/conflicts.py): its look is still a look."""
    with app.app_context():
        actor = Actor("user", user.user_id, "Ada", None)
        for end in (db.session.rollback, db.session.commit, db.session.commit):
            service.record(user.user_id, Action.MEMORIES_READ, actor=actor, once_in=600)
            end()
        assert len(db.session.scalars(select(AuditEvent).where(AuditEvent.action == "memories_read")).all()) == 1


def test_it_is_only_added_to(app, user):
    with app.app_context():
        with write_transaction():
            service.record(user.user_id, Action.EXPORT_MADE)
        with pytest.raises(RuntimeError), write_transaction():
            row = db.session.scalars(select(AuditEvent).where(AuditEvent.action == "export_made")).one()
            row.action = "signed_in"


def test_old_events_are_purged(app, user):
    with app.app_context(), write_transaction():
        service.record(user.user_id, Action.EXPORT_MADE)
        db.session.execute(update(AuditEvent).values(created_at=now() - timedelta(days=400)))
        service.record(user.user_id, Action.EXPORT_DOWNLOADED)
        assert service.purge(365) >= 1
        assert [row.action for row in db.session.scalars(select(AuditEvent))] == ["export_downloaded"]


def test_shared_links_and_spaces_are_recorded(app, client, user, make_user, api):
    with app.app_context(), write_transaction():
        conversation = add_row(Conversation(user_id=user.user_id, title="Trip"))
        talk = conversation.conversation_id
        db.session.add(Message(conversation_id=talk, role="user", content="Where to?", status="complete"))
    share = client.post(f"/api/conversations/{talk}/shares", json={}).json
    assert client.delete(f"/api/shares/{share['share_id']}").status_code == 204
    guest = make_user()
    space = client.post("/api/spaces", json={"kind": "project", "name": "Garden"}).json["space_id"]
    client.post(f"/api/spaces/{space}/members", json={"email": guest.email})
    api(guest).post(f"/api/spaces/{space}/members/accept")
    client.delete(f"/api/spaces/{space}/members/{guest.user_id}")
    assert actions(client)[-2:] == ["share_created", "share_revoked"]
    assert actions(api(guest))[-2:] == ["space_joined", "space_left"]
    left = api(guest).get("/api/audit").json["events"][0]
    assert left["actor"]["user_id"] == user.user_id and left["actor"]["kind"] == "token"


def events(client: FlaskClient) -> list[dict[str, Any]]:
    """What memory's events say, oldest first."""
    found = client.get("/api/audit?limit=100").json["events"]  # type: ignore[index]
    return [event for event in reversed(found) if event["action"].startswith("memories_")]


def lines(client: FlaskClient) -> list[tuple[str, str]]:
    return [(event["action"], event["what"]) for event in events(client)]


def test_what_a_program_reads_is_told_with_its_name_and_once(client):
    for _ in range(2):
        for path in ("/api/memories", "/api/profile", "/api/search?q=tea"):
            assert client.get(path).status_code == 200
    assert lines(client) == [
        ("memories_read", ""),
        ("memories_read", "the profile"),
        ("memories_read", "search results"),
    ]
    (actor,) = {(event["actor"]["kind"], bool(event["actor"]["name"])) for event in events(client)}
    assert actor == ("token", True)


def test_what_a_program_changes_is_told_with_the_change(app, client):
    made = client.post("/api/memories", json={"memory_type": "fact", "content": "Likes tea"}).json
    path = f"/api/memories/{made['memory_id']}"
    assert client.put(path, json={"content": "Likes green tea"}).status_code == 200
    assert client.delete(path).status_code == 200
    assert lines(client) == [("memories_changed", ""), ("memories_changed", ""), ("memories_changed", "some forgotten")]
    kept = {row.change_set_id for row in scalars(app, db.select(MemoryChangeSet))}
    assert {event["detail"]["change_set_id"] for event in events(client)} == kept


def test_what_was_refused_or_is_the_persons_own_doing_is_not(client, browser):
    assert browser.get("/memory").status_code == 200 and browser.get("/api/memories").status_code == 200
    assert client.get("/api/memories/4711").status_code == 404
    assert client.post("/api/memories", json={"content": ""}).status_code == 422
    assert lines(client) == []


def test_through_mcp_it_is_told_once(client):
    asked = {"name": "remember", "arguments": {"content": "Likes tea", "quote": "I like tea", "kind": "preference"}}
    client.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": asked})
    assert lines(client) == [("memories_changed", "1 memory added")]


def test_a_reading_that_cannot_be_recorded_is_answered(client, monkeypatch):
    def away(*_given: Any, **_more: Any) -> None:
        raise db.exc.OperationalError("", {}, Exception("away"))

    monkeypatch.setattr(setup, "record", away)
    assert client.get("/api/memories").status_code == 200


def test_an_admins_program_is_not_taken_for_ones_own(api, make_user, login, user):
    assert api(make_user(is_admin=True)).get(f"/api/internal/users/{user.user_id}/memories").status_code == 200
    assert "An admin’s token" in login(user).get("/settings/activity").text
