"""A person reads which program read or changed what is remembered about them, whichever door it used."""

from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from testkit.people import ApiClient, Person
from webapp.audit import setup
from webapp.db.base import db
from webapp.memories.models import MemoryChangeSet


def events(client: FlaskClient) -> list[dict[str, Any]]:
    """What memory's events say, oldest first."""
    found = client.get("/api/audit?limit=100").json["events"]  # type: ignore[index]
    return [event for event in reversed(found) if event["action"].startswith("memories_")]


def said(client: FlaskClient) -> list[tuple[str, str]]:
    return [(event["action"], event["what"]) for event in events(client)]


def test_what_a_program_reads_is_told_with_its_name_and_once(client: ApiClient) -> None:
    for _ in range(2):
        for path in ("/api/memories", "/api/profile", "/api/search?q=tea"):
            assert client.get(path).status_code == 200
    assert said(client) == [
        ("memories_read", ""),
        ("memories_read", "the profile"),
        ("memories_read", "search results"),
    ]
    (actor,) = {(event["actor"]["kind"], bool(event["actor"]["name"])) for event in events(client)}
    assert actor == ("token", True)


def test_what_a_program_changes_is_told_with_the_change(app: Flask, client: ApiClient) -> None:
    made = client.post("/api/memories", json={"memory_type": "fact", "content": "Likes tea"}).json
    path = f"/api/memories/{made['memory_id']}"
    assert client.put(path, json={"content": "Likes green tea"}).status_code == 200
    assert client.delete(path).status_code == 200
    assert said(client) == [("memories_changed", ""), ("memories_changed", ""), ("memories_changed", "some forgotten")]
    with app.app_context():
        kept = {row.change_set_id for row in db.session.query(MemoryChangeSet)}
    assert {event["detail"]["change_set_id"] for event in events(client)} == kept


def test_what_was_refused_or_is_the_persons_own_doing_is_not(
    client: ApiClient, login: Callable[[Person], FlaskClient], user: Person
) -> None:
    browser = login(user)
    assert browser.get("/memory").status_code == 200 and browser.get("/api/memories").status_code == 200
    assert client.get("/api/memories/4711").status_code == 404
    assert client.post("/api/memories", json={"content": ""}).status_code == 422
    assert said(client) == []


def test_through_mcp_it_is_told_once(client: ApiClient) -> None:
    asked = {"name": "remember", "arguments": {"content": "Likes tea", "quote": "I like tea", "kind": "preference"}}
    client.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": asked})
    assert said(client) == [("memories_changed", "1 memory added")]


def test_a_reading_that_cannot_be_recorded_is_answered(client: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_given: Any, **_more: Any) -> None:
        raise db.exc.OperationalError("", {}, Exception("away"))

    monkeypatch.setattr(setup, "record", away)
    assert client.get("/api/memories").status_code == 200


def test_an_admins_program_is_not_taken_for_ones_own(
    api: Callable[[Person], ApiClient],
    make_user: Callable[..., Person],
    login: Callable[[Person], FlaskClient],
    user: Person,
) -> None:
    assert api(make_user(is_admin=True)).get(f"/api/internal/users/{user.user_id}/memories").status_code == 200
    assert "An admin’s token" in login(user).get("/settings/activity").text
