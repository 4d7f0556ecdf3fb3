"""The connection that does the background work: chosen by an admin, tried first, and really asked."""

from collections.abc import Iterator
from typing import Any

import pytest
from flask import Flask
from sqlalchemy.exc import SQLAlchemyError

from fakemodel.testing import ServerHandle, serve_in_thread
from testkit.people import ApiClient, csrf_token, post_form
from webapp.db.base import db
from webapp.extensions import app_settings
from webapp.providers import catalogue as catalogues
from webapp.providers.catalogue import background_target, catalogue

SMALL = "small-and-fast"


@pytest.fixture
def other(app: Flask, monkeypatch: pytest.MonkeyPatch) -> Iterator[ServerHandle]:
    """Another server, and an environment that names no model for background work."""
    named = app_settings.of(app).model_copy(update={"background_model": ""})
    monkeypatch.setitem(app.extensions, "settings", named)
    with serve_in_thread(scripted=True) as server:
        yield server


def connect(admin: ApiClient, server: ServerHandle, **more: Any) -> Any:
    """The answer to a new connection."""
    return admin.post("/api/connections", json={"name": "Helper", "base_url": server.base_url, **more})


def test_titles_and_memories_are_asked_of_the_model_that_was_chosen(app, admin, client, model, other, run_jobs, login):
    made = connect(admin, other, background_model=SMALL).get_json()
    assert made["background_model"] == SMALL
    tried = len(other.calls())
    assert tried  # it was asked whether it can
    talk = client.post("/api/conversations", json={}).get_json()["conversation_id"]
    sent = client.post(f"/api/conversations/{talk}/messages", json={"content": "My name is Ada Quill."}).get_json()
    client.get(f"/api/messages/{sent['message']['message_id']}/response?wait=20")
    run_jobs()
    asked = other.calls()[tried:]
    assert asked and {call["model"] for call in asked} == {SMALL}
    assert {call["stream"] for call in model.calls() if call["path"] == "chat"} == {True}  # only the reply
    assert "Ada Quill" in str(client.get("/api/memories").get_json())
    assert SMALL in str(admin.get("/api/usage?by=model&everyone=true").get_json())
    assert f"<code>{SMALL}</code>" in login(admin.person).get("/admin").text
    # Without it, or with the connection off, the work is done where it was.
    place = f"/api/connections/{made['connection_id']}"
    assert admin.patch(place, json={"is_enabled": False}).status_code == 200
    with app.app_context():
        assert background_target() is None
    second = connect(admin, other, name="Second", background_model="another").get_json()
    with app.app_context():
        assert background_target().model == "another"
    assert admin.get(place).get_json()["background_model"] is None  # one connection does it
    admin.delete(f"/api/connections/{second['connection_id']}")
    with app.app_context():
        assert background_target() is None


def test_a_database_that_fails_leaves_no_transaction_open(app_context, monkeypatch):
    """A worker asks before each job, in a process that lives on: it would read from that transaction ever after."""
    catalogue.forget()
    monkeypatch.setattr(catalogues, "load", lambda: db.session.execute(db.text("SELECT * FROM away")))
    with pytest.raises(SQLAlchemyError):
        catalogue.read()
    assert not db.session().in_transaction()


def test_a_model_that_cannot_work_is_not_taken(app, admin, other, login):
    made = connect(admin, other).get_json()
    place = f"/admin/models/{made['connection_id']}"
    other.script(
        fault={"http_status": 404, "body": {"error": {"message": "no", "code": "model_not_found"}}}, times=None
    )
    refused = admin.patch(f"/api/connections/{made['connection_id']}", json={"background_model": "absent"})
    assert refused.status_code == 422
    assert "background_model" in refused.text and "does not have this model" in refused.text
    browser = login(admin.person)
    page = post_form(browser, f"{place}/background", place, background_model="absent")
    assert page.status_code == 422
    assert "This model cannot do this: The server does not have this model." in page.text
    assert 'value="absent"' in page.text  # what was typed is still there
    other.reset()
    assert post_form(browser, f"{place}/background", place, background_model=SMALL).status_code == 303
    assert f"background work by {SMALL}" in browser.get("/admin/models").text
    assert post_form(browser, f"{place}/background", place, background_model="").status_code == 303
    with app.app_context():
        assert background_target() is None


def test_the_environment_comes_first(app, admin, other):
    connect(admin, other, background_model=SMALL)
    with app.app_context():
        assert background_target().model == SMALL
        app.extensions["settings"] = app_settings().model_copy(update={"background_model": "by-environment"})
        assert background_target() is None


def test_headers_are_replaced_and_removed_on_the_page(admin, other, login):
    made = connect(admin, other, headers={"X-Team": "hush"}, models=[{"model": "m", "icon": "🦉"}]).get_json()
    place, browser = f"/admin/models/{made['connection_id']}", login(admin.person)

    def change(**form: str) -> None:
        given = {"name": "Helper", "base_url": other.base_url, "is_enabled": "1", **form}
        answer = browser.post(place, data={**given, "csrf_token": csrf_token(browser.get(place).text)})
        assert answer.status_code == 303

    def names() -> list[str]:
        found: list[str] = admin.get(f"/api/connections/{made['connection_id']}").get_json()["header_names"]
        return found

    change(headers="")
    assert names() == ["X-Team"]
    change(headers="X-Title: Us\nX-Other: b")
    assert names() == ["X-Other", "X-Title"]
    assert "Currently sent: X-Other, X-Title" in browser.get(place).text
    change(remove_headers="1")
    assert names() == []
    assert "🦉" in browser.get("/models").text
    post_form(browser, f"{place}/offers", place, **{"model": "m", "label:m": "Owl", "icon:m": "🐝"})
    assert admin.get(f"/api/connections/{made['connection_id']}").get_json()["models"][0]["icon"] == "🐝"
