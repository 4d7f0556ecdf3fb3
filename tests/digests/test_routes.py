"""Every JSON route of digests, tasks, prompts and services: owner, stranger, admin, service, nobody, bad input."""

import json
from pathlib import Path

import pytest
from sqlalchemy import select

from testkit.people import DEACTIVATIONS, deactivate, reactivate
from tests.conversations.rows import add_conversation, add_messages
from webapp.audit.models import AuditEvent
from webapp.db.base import db

CASES = json.loads(Path(__file__).with_name("routes.json").read_text(encoding="utf-8"))

DATA = {"main_topics": ["tides"], "action": ["look them up"], "typical_observation": "Asks why."}
TEXT = {"prompt_text": "Be brief."}
# method, path, body, and what each of owner, stranger, admin, service gets
ROUTES = CASES["who may do what"]
PEOPLE = ("owner", "stranger", "admin", "service")


@pytest.fixture
def world(app, user, client, model, make_user, api):
    """A conversation of `user` with a digest, a job about it, and a client for each kind of caller."""
    model.script(match="conversation_digest", structured=DATA)
    conversation_id = add_conversation(app, user.user_id, title="Tides")
    add_messages(app, conversation_id, 2)
    written = client.post("/api/memories", json={"conversation_id": conversation_id, "memory_data": DATA})
    assert written.status_code == 200, written.text
    job = client.post(f"/api/tasks/generate-memory-for-conversation/{conversation_id}").json["job_id"]
    people = {
        "owner": client,
        "stranger": api(make_user()),
        "admin": api(make_user(is_admin=True)),
        "service": api(make_user(is_service=True)),
    }
    return {"c": conversation_id, "u": user.user_id, "job": job}, people


def fill_ids(value, ids):
    """A body with its ids."""
    return {name: ids["c"] if part == "{c}" else part for name, part in value.items()} if value else None


@pytest.mark.once
def test_who_may_do_what(world, anonymous):
    """On all routes, in one world: whatever is done here can be done again."""
    ids, people = world
    for method, path, body, statuses in ROUTES:
        asked = {"path": path.format(**ids), "method": method, "json": fill_ids(body, ids)}
        answer = anonymous.open(**asked)
        assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, "Bearer"), (method, path)
        for who, status in zip(PEOPLE, statuses, strict=True):
            answer = people[who].open(**asked)
            assert answer.status_code == status, (method, path, who, answer.text)
            if status >= 400:
                assert answer.content_type == "application/problem+json", (method, path, who)
                assert "tides" not in answer.text.lower(), (method, path, who)


def looks(app):
    """What admins were recorded to have read."""
    with app.app_context():
        rows = db.session.scalars(select(AuditEvent).where(AuditEvent.action == "admin_looked"))
        return [(row.actor_id, row.user_id, row.what) for row in rows]


def test_what_an_admin_reads_of_others_is_recorded(app, world, user):
    ids, people = world
    people["service"].get(f"/api/internal/conversations/{ids['c']}/memory")
    people["owner"].post("/api/prompts/render", json={"conversation_id": ids["c"], **TEXT})
    assert looks(app) == []
    admin = people["admin"]
    admin.get(f"/api/internal/conversations/{ids['c']}/memory")
    admin.get(f"/api/internal/users/{ids['u']}/memories")
    admin.post("/api/prompts/render", json={"conversation_id": ids["c"], **TEXT})
    about = (admin.person.user_id, user.user_id)
    assert looks(app) == [
        (*about, f"digest of conversation {ids['c']}"),
        (*about, "digests"),
        (*about, f"prompt on conversation {ids['c']}"),
    ]


def test_a_digest_is_written_read_and_kept(world):
    ids, people = world
    body = {"conversation_id": ids["c"], "memory_data": {**DATA, "main_topics": [" ebb ", "", "ebb", "flow"]}}
    written = people["service"].post("/api/memories", json=body).json
    assert (written["version"], written["memory_data"]["main_topics"]) == (2, ["ebb", "flow"])
    read = people["service"].get(f"/api/internal/conversations/{ids['c']}/memory").json
    assert read == written == people["owner"].get(f"/api/conversations/{ids['c']}/memory").json
    assert set(read) == {"id", "conversation_id", "memory_data", "created_at", "updated_at", "version"}
    versions = people["owner"].get(f"/api/conversations/{ids['c']}/memory/history").json["versions"]
    assert [(row["version"], row["source"]) for row in versions] == [(2, "service"), (1, "user")]
    of_user = people["service"].get(f"/api/internal/users/{ids['u']}/memories").json
    assert of_user == {"user_id": ids["u"], "memories": [read], "next_after": None}


def test_a_digest_of_another_shape_is_refused(world):
    ids, people = world
    for data in (
        {},
        {"main_topics": []},
        {**DATA, "other": 1},
        {**DATA, "main_topics": "tides"},
        {**DATA, "action": [1]},
        {**DATA, "main_topics": ["x"] * 31},
        {**DATA, "action": ["x" * 301]},
        *({**DATA, "typical_observation": said} for said in (None, "x" * 2_001, "\x00")),
    ):
        answer = people["owner"].post("/api/memories", json={"conversation_id": ids["c"], "memory_data": data})
        assert answer.status_code == 422, data
        assert all(error["loc"][0] == "memory_data" for error in answer.json["errors"]), data
    assert people["owner"].get(f"/api/conversations/{ids['c']}/memory").json["version"] == 1


def test_messages_for_services_come_in_pages(world):
    ids, people = world
    path = f"/api/internal/conversations/{ids['c']}/messages_for_brain"
    whole = people["service"].get(path).json
    said = [(row["role"], row["content"]) for row in whole["messages"]]
    assert said == [("user", "Message 0"), ("assistant", "Message 1")]
    first = people["service"].get(f"{path}?limit=1").json
    second = people["service"].get(f"{path}?limit=1&after={first['next_after']}").json
    assert (first["messages"] + second["messages"], second["next_after"]) == (whole["messages"], None)
    assert people["service"].get(f"{path}?limit=1001").status_code == 422


def test_a_prompt_with_its_versions(world):
    _, people = world
    admin, anybody = people["admin"], people["stranger"]
    before = anybody.get("/api/prompts/simplified_conversation").json
    assert (before["name"], before["active_version"], before["activated_by"]) == ("chat", 1, None)
    body = {**TEXT, "note": "shorter"}
    added = admin.post("/api/prompts/simplified_conversation/versions?set_active=true", json=body)
    assert added.status_code == 201
    made = {"name": "chat", "version": 2, "is_active": True, "origin": "admin", "note": "shorter"}
    assert made | {"created_by": admin.person.user_id} == {name: added.json[name] for name in (*made, "created_by")}
    assert admin.post("/api/prompts/chat/versions", json={"prompt_text": "Other."}).json["is_active"] is False
    now = anybody.get("/api/prompts/chat").json
    assert (now["active_version"], now["activated_by"], now["prompt_text"]) == (2, admin.person.user_id, "Be brief.")
    assert [row["version"] for row in now["versions"]] == [3, 2, 1]
    assert admin.post("/api/prompts/chat/versions/1/activate").json["active_version"] == 1
    names = ["chat", "titles", "summaries", "extraction", "digests", "points", "assistant_initiated"]
    assert [row["name"] for row in anybody.get("/api/prompts").json["prompts"]] == names
    key = {"Idempotency-Key": "once"}
    once, again = (admin.post("/api/prompts/chat/versions", json=TEXT, headers=key) for _ in range(2))
    assert once.json == again.json and len(anybody.get("/api/prompts/chat").json["versions"]) == 4


def test_what_is_no_prompt_is_refused_with_the_reason(world):
    _, people = world
    for path, body, status in (
        ("chat/versions", {"prompt_text": ""}, 422),
        ("chat/versions", {"prompt_text": "  "}, 422),
        ("chat/versions", {"prompt_text": "\ud800"}, 422),
        ("chat/versions", {"prompt_text": "x" * 40_000}, 422),
        ("chat/versions", {"prompt_text": "{{NONSENSE}}"}, 422),
        ("chat/versions", {"prompt_text": "a", "other": 1}, 422),
        ("digests/versions", TEXT, 422),
        ("nonsense/versions", TEXT, 404),
        ("chat/versions/9/activate", None, 404),
        ("Chat/versions/1/activate", None, 404),
    ):
        answer = people["admin"].post(f"/api/prompts/{path}", json=body)
        assert (answer.status_code, bool(answer.json["detail"])) == (status, True), (path, body)
    assert people["admin"].get("/api/prompts/chat").json["active_version"] == 1


def test_rendering_fills_what_the_conversation_knows(world, client):
    ids, people = world
    client.post("/api/memories", json={"memory_type": "fact", "content": "Lives by the sea", "is_pinned": True})
    client.put("/api/profile", json={"name": "Ada"})
    text = "{{CONVERSATION_MEMORY__action}} / {{USER_PROFILE}} / {{MEMORIES|200}} / {{JOURNEY}} / {{OTHER}}"
    body = {"prompt_text": text, "conversation_id": ids["c"]}
    found = people["service"].post("/api/prompts/render", json=body).json
    digest, profile, memories, journey, other = found["text"].split(" / ")
    assert digest == 'These are some details of the conversation till now. `action` is "look them up".'
    assert profile == "- name: Ada"
    assert "- Lives by the sea" in memories.splitlines()
    assert (journey, other) == ("[Not available]", "{{OTHER}}")
    assert found["placeholders"][0] == "{{CONVERSATION_MEMORY__action}}"


@pytest.mark.parametrize("way", DEACTIVATIONS)
def test_services_get_nothing_of_an_account_that_is_out_of_use(app, world, user, way):
    ids, people = world
    about = [route for route in ROUTES if "{c}" in f"{route[1]}{route[2]}" or "{u}" in route[1]]
    deactivate(app, user, way)
    for method, path, body, statuses in about:
        answer = people["service"].open(path.format(**ids), method=method, json=fill_ids(body, ids))
        assert answer.status_code == (404 if statuses[3] < 400 else statuses[3]), path
    reactivate(app, user, way)
    assert people["service"].get(f"/api/internal/users/{ids['u']}/memories").status_code == 200
