"""Memory over MCP: what tools find, propose and change, who may, and the official client in both ages."""

import asyncio
import json
from typing import Any

import httpx2
import pytest
from flask import Flask
from flask.testing import FlaskClient
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from testkit.people import Person, api_client
from tests.memories.conversing import add_memory, converse
from tests.sharing.test_memory_links import replies, use
from webapp.accounts import tokens
from webapp.accounts.schemas import AccountChanges, NewToken, SettingsChanges
from webapp.accounts.scopes import Scope
from webapp.accounts.service import update_account
from webapp.audit.models import AuditEvent
from webapp.db.base import db, write_transaction
from webapp.mcp_server.tools import SCHEDULE_TOOLS, TOOLS
from webapp.mcp_server.write_tools import REWORDING_NOTE
from webapp.memories.models import Memory

MARKER = "zanzibarquokka"


def token(app: Flask, person: Person, *scopes: Scope) -> str:
    with app.app_context(), write_transaction():
        return tokens.create_token(person.user_id, NewToken(name="Claude Code", scopes=list(scopes) or None))[1]


def post(client: FlaskClient, secret: str, method: str, **params: Any) -> Any:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    headers = {"Authorization": f"Bearer {secret}"} if secret else {}
    return client.post("/mcp", json=body, headers=headers)


def call(client: FlaskClient, secret: str, tool: str, **arguments: Any) -> dict[str, Any]:
    answer = post(client, secret, "tools/call", name=tool, arguments=arguments)
    assert answer.status_code == 200, answer.text
    return answer.get_json()["result"]


def contents(app: Flask, person: Person) -> list[tuple[str, bool]]:
    with app.app_context():
        query = db.select(Memory.content, Memory.needs_review).where(Memory.user_id == person.user_id)
        return [tuple(row) for row in db.session.execute(query.order_by(Memory.memory_id))]


def audit(app: Flask, person: Person) -> list[tuple[str, str, str]]:
    with app.app_context():
        query = db.select(AuditEvent.actor_name, AuditEvent.action, AuditEvent.what)
        query = query.where(AuditEvent.user_id == person.user_id, AuditEvent.action.like("memories%"))
        return [tuple(row) for row in db.session.execute(query.order_by(AuditEvent.event_id))]


def test_what_is_known_is_found_fetched_and_listed(app, user, anonymous):
    known = add_memory(app, user, "Keeps bees on the roof")
    secret = token(app, user, "mcp")
    found = call(anonymous, secret, "search", query="bees")
    assert json.loads(found["content"][0]["text"]) == found["structuredContent"]
    (hit,) = found["structuredContent"]["results"]
    assert set(hit) == {"id", "title", "url"} and hit["id"] == f"memory-{known}"
    whole = call(anonymous, secret, "fetch", id=hit["id"])["structuredContent"]
    assert set(whole) == {"id", "title", "text", "url", "metadata"} and whole["text"] == "Keeps bees on the roof"
    listed = call(anonymous, secret, "list_memories")["structuredContent"]["memories"]
    assert [row["memory_id"] for row in listed] == [known]
    about = call(anonymous, secret, "get_context", task="What about the bees on the roof?")["structuredContent"]
    assert [item["text"] for item in about["found"]] == ["Keeps bees on the roof"]
    assert audit(app, user) == [("Claude Code", "memories_read", "1 memory")]


def test_a_context_holds_what_every_prompt_does(app, client, user, anonymous):
    nuts = add_memory(app, user, "Is allergic to nuts")
    terse = add_memory(app, user, "Keep answers short", memory_type="instruction")
    pinned = add_memory(app, user, "Has twins", is_pinned=True)
    space = client.post("/api/spaces", json={"kind": "project", "name": "Kitchen"}).json["space_id"]
    shared = add_memory(app, user, "The oven is broken", space_id=space)
    secret = token(app, user, "mcp")
    about = call(anonymous, secret, "get_context", task="What should I avoid eating?")["structuredContent"]
    assert [row["memory_id"] for row in about["pinned"]] == [pinned]
    ids = [row["memory_id"] for row in about["known"]] + [
        int(item["id"].removeprefix("memory-")) for item in about["found"]
    ]
    assert sorted(ids) == [nuts, terse]
    there = call(anonymous, secret, "get_context", task="What should I avoid?", space_id=space)["structuredContent"]
    assert [row["memory_id"] for row in there["known"] if row["memory_id"] != terse] == [shared]


def test_a_context_is_never_empty_while_something_is_known(app, client, user, anonymous):
    space = client.post("/api/spaces", json={"kind": "project", "name": "Kitchen"}).json["space_id"]
    shared = add_memory(app, user, "The oven is broken", space_id=space)
    secret = token(app, user, "mcp")
    about = call(anonymous, secret, "get_context", task="Plan a trip to Lisbon")["structuredContent"]
    assert [row["memory_id"] for row in about["known"]] == [shared]


def test_resources_with_a_number_have_a_template(app, user, anonymous):
    answer = post(anonymous, token(app, user, "mcp"), "resources/templates/list")
    (template,) = answer.get_json()["result"]["resourceTemplates"]
    assert template["uriTemplate"] == "commonplace://spaces/{space_id}" and template["mimeType"] == "application/json"


def test_writes_are_proposals(app, user, anonymous):
    known = add_memory(app, user, "Lives in Porto")
    secret = token(app, user, "mcp")
    done = call(anonymous, secret, "remember", content="Plays the cello", quote="I play the cello since school")
    assert done["structuredContent"]["status"] == "proposed"
    again = call(anonymous, secret, "remember", content="Plays the cello", quote="I play the cello since school")
    assert again["structuredContent"]["status"] == "known"
    changed = call(anonymous, secret, "update_memory", memory_id=known, content="Lives in Lisbon")
    assert changed["structuredContent"]["status"] == "proposed"
    assert call(anonymous, secret, "forget", memory_id=known)["isError"] is True
    assert contents(app, user) == [("Lives in Porto", False), ("Plays the cello", True), ("Lives in Lisbon", True)]
    assert audit(app, user) == [("Claude Code", "memories_changed", "1 memory proposed")] * 2
    assert "cello" not in call(anonymous, secret, "search", query="cello")["content"][0]["text"]


def test_a_token_that_may_write_writes(app, user, anonymous):
    secret = token(app, user, "mcp", "write")
    done = call(anonymous, secret, "remember", content="Plays the cello", quote="I play the cello since school")
    number = done["structuredContent"]["memory"]["memory_id"]
    call(anonymous, secret, "update_memory", memory_id=number, content="Plays the viola")
    again = call(anonymous, secret, "remember", content="plays the viola.", quote="I play the viola.")
    assert again["structuredContent"]["status"] == "known"
    assert contents(app, user) == [("Plays the viola", False)]
    talk = converse(app, user.user_id, "What do I play?")
    (reply,) = replies(app, talk)
    use(app, number, reply)
    done = call(anonymous, secret, "forget", memory_id=f"memory-{number}")  # as search gives it
    assert done["isError"] is False
    assert done["structuredContent"] == {
        "status": "forgotten",
        "memory_ids": [number],
        "used_in": [{"message_id": reply, "conversation_id": talk, "is_shared": False}],
        "used_in_count": 1,
        "used_by_others": 0,
        "detail": REWORDING_NOTE,
    }
    assert contents(app, user) == []
    assert len(audit(app, user)) == 3
    limited = {"memory_type": "instruction", "content": "Answer briefly", "only_conversation_id": talk}
    api_client(app, user).post("/api/memories", json=limited)
    done = call(anonymous, secret, "remember", content="Answer briefly", quote="Answer briefly", kind="instruction")
    assert done["structuredContent"]["status"] != "known", "elsewhere it is not"


@pytest.mark.parametrize("is_whole_key", [False, True], ids=["value", "key"])
def test_a_program_brings_back_no_fact_that_was_forgotten_in_other_words(app, user, client, anonymous, is_whole_key):
    def home(content: str, value: str) -> int:
        fields = {"memory_type": "fact", "content": content, "fact_key": "home", "fact_value": value}
        return client.post("/api/memories", json=fields).json["memory_id"]

    gone = home("My home is Oslo", "Oslo")
    assert client.delete(f"/api/memories/{gone}?whole_key={str(is_whole_key).lower()}").status_code == 200
    known = home("Lives in Rome", "Rome")
    secret = token(app, user, "mcp", "write")
    assert call(anonymous, secret, "update_memory", memory_id=known, content="Lives in Oslo")["isError"] is True
    assert contents(app, user) == [("Lives in Rome", False)]


@pytest.mark.parametrize("scopes", [("mcp",), ("mcp", "write")])
def test_forgotten_stays_forgotten(app, user, client, anonymous, scopes):
    known = add_memory(app, user, f"Has a {MARKER}")
    secret = token(app, user, *scopes)
    assert client.delete(f"/api/memories/{known}").status_code == 200
    said = f"I have a {MARKER}"
    done = call(anonymous, secret, "remember", content=f"Has a {MARKER}", quote=said)
    assert done["isError"] or done["structuredContent"]["status"] == "forgotten"
    assert contents(app, user) == []
    for answer in (
        call(anonymous, secret, "search", query=MARKER),
        call(anonymous, secret, "fetch", id=f"memory-{known}"),
        call(anonymous, secret, "list_memories"),
        call(anonymous, secret, "get_context", task=f"About the {MARKER}"),
    ):
        assert MARKER not in json.dumps(answer)


KEY = "AKIAIOSFODNN7EXAMPLE"


@pytest.mark.parametrize("tool", ["remember", "update_memory"])
@pytest.mark.parametrize(
    ("scopes", "said"),
    [
        (("mcp",), "It looks like a secret. Secrets are never kept."),
        (("mcp", "write"), "content: looks like a secret (api key); secrets are never kept"),
    ],
)
def test_a_secret_is_refused_as_a_secret(app, user, anonymous, tool, scopes, said):
    number = add_memory(app, user, "Lives in Lisbon")
    where = {"quote": f"My key is {KEY}"} if tool == "remember" else {"memory_id": number}
    done = call(anonymous, token(app, user, *scopes), tool, content=f"The key is {KEY}", **where)
    assert said in done["content"][0]["text"]
    assert "forgotten" not in done["content"][0]["text"] and KEY not in json.dumps(done)
    assert contents(app, user) == [("Lives in Lisbon", False)]


@pytest.mark.parametrize("tool", ["remember", "update_memory"])
@pytest.mark.parametrize("scopes", [("mcp",), ("mcp", "write")])
def test_what_was_forgotten_is_refused_as_forgotten(app, user, client, anonymous, tool, scopes):
    known = add_memory(app, user, f"Has a {MARKER}")
    number = add_memory(app, user, "Lives in Lisbon")
    assert client.delete(f"/api/memories/{known}").status_code == 200
    where = {"quote": f"I have a {MARKER}"} if tool == "remember" else {"memory_id": number}
    done = call(anonymous, token(app, user, *scopes), tool, content=f"Has a {MARKER}", **where)
    assert "The user has forgotten this; only they can bring it back." in done["content"][0]["text"]
    assert "secret" not in done["content"][0]["text"]
    assert contents(app, user) == [("Lives in Lisbon", False)]


def test_only_what_the_user_said_is_kept_and_an_error_says_which_argument_it_is_about(app, user, anonymous):
    secret = token(app, user, "mcp", "write")
    unsaid = call(anonymous, secret, "remember", content="Lives in Vienna", quote="What a day!")
    assert unsaid["isError"] is True
    assert unsaid["content"][0]["text"].startswith("quote: lacks a name or number of this.")
    assert call(anonymous, secret, "remember", content="Lives in Vienna")["isError"] is True
    assert contents(app, user) == []
    foreign = call(anonymous, secret, "list_memories", cursor="W10")
    assert foreign["isError"] and foreign["content"][0]["text"] == "cursor: is not a cursor of this list"


def test_memory_that_is_off_is_off_here(app, user, anonymous):
    add_memory(app, user, f"Has a {MARKER}")
    secret = token(app, user, "mcp")
    with app.app_context(), write_transaction():
        update_account(user.user_id, AccountChanges(settings=SettingsChanges(memory_enabled=False)))
    for tool in ("search", "list_memories", "get_context"):
        arguments = {"search": {"query": MARKER}, "get_context": {"task": MARKER}}.get(tool, {})
        answer = call(anonymous, secret, tool, **arguments)
        assert answer["isError"] is True and MARKER not in json.dumps(answer)


ARGUMENTS: dict[str, dict[str, Any]] = {
    "search": {"query": MARKER},
    "fetch": {"id": "memory-{}"},
    "get_context": {"task": MARKER},
    "list_memories": {},
    "remember": {"content": "Sails", "quote": "I sail"},
    "update_memory": {"memory_id": 0, "content": "Sails"},
    "forget": {"memory_id": 0},
    "list_schedules": {},
    "create_schedule": {"prompt": MARKER, "at": "2036-12-01T18:00"},
    **dict.fromkeys(("pause_schedule", "resume_schedule", "run_schedule", "delete_schedule"), {"schedule_id": 1}),
}


def test_a_stranger_gets_nothing(app, user, make_user, anonymous):
    known = add_memory(app, user, f"Has a {MARKER}")
    stranger = token(app, make_user(), "mcp", "write")
    for tool in TOOLS:
        answer = post(anonymous, stranger, "tools/call", name=tool, arguments=arguments(tool, known))
        assert MARKER not in answer.text, tool
    assert contents(app, user) == [(f"Has a {MARKER}", False)]


def arguments(tool: str, memory_id: int) -> dict[str, Any]:
    given = dict(ARGUMENTS[tool])
    if "memory_id" in given:
        given["memory_id"] = memory_id
    if "id" in given:
        given["id"] = given["id"].format(memory_id)
    return given


def test_resources(app, user, client, make_user):
    anonymous = app.test_client(use_cookies=False)
    space = client.post("/api/spaces", json={"kind": "project", "name": "Boat"}).get_json()["space_id"]
    secret = token(app, user, "mcp")
    listed = post(anonymous, secret, "resources/list").get_json()["result"]["resources"]
    assert [item["uri"] for item in listed][2:] == [f"commonplace://spaces/{space}"]
    found = post(anonymous, secret, "resources/read", uri=listed[2]["uri"]).get_json()["result"]["contents"][0]
    assert json.loads(found["text"])["name"] == "Boat"
    other = token(app, make_user(), "mcp")
    refused = post(anonymous, other, "resources/read", uri=listed[2]["uri"])
    assert (refused.status_code, refused.json["error"]["code"]) == (200, -32002) and "Boat" not in refused.text


def test_the_page_shows_how_and_what(app, user, login, anonymous):
    call(anonymous, token(app, user, "mcp"), "list_memories")
    page = login(user).get("/settings/programs").text
    assert "claude mcp add" in page and "/v1" in page
    assert "Claude Code</span> · read memories: 0 memories" in page


@pytest.mark.parametrize("mode", ["auto", "2026-07-28", "legacy"])
def test_the_official_client(app, user, live_web, mode):
    add_memory(app, user, "Keeps bees on the roof")
    secret = token(app, user, "mcp")

    async def converse() -> tuple[list[str], Any, Any, Any, Any]:
        async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {secret}"}) as http:
            transport = streamable_http_client(f"{live_web.url}/mcp", http_client=http)
            async with Client(transport, mode=mode) as client:
                listed = [tool.name for tool in (await client.list_tools()).tools]
                found = await client.call_tool("search", {"query": "bees"})
                written = await client.call_tool(
                    "remember", {"content": "Plays the cello", "quote": "I play the cello"}
                )
                wrong = await client.call_tool("fetch", {"id": "memory-999999"})
                spaces = await client.read_resource("commonplace://spaces")
                return listed, found, written, wrong, spaces

    listed, found, written, wrong, spaces = asyncio.run(converse())
    assert listed == [name for name in TOOLS if name not in SCHEDULE_TOOLS and name != "forget"]
    assert found.structured_content["results"][0]["title"] == "Keeps bees on the roof"
    assert written.structured_content["status"] == "proposed"
    assert wrong.is_error is True
    assert json.loads(spaces.contents[0].text) == []


def test_an_error_comes_with_the_status_of_its_revision(app, user, anonymous):
    """A client of an earlier one takes 404 for a lost session, and some break down at 400."""
    secret = token(app, user, "mcp")
    for given in (5, [], "x"):
        answer = post(anonymous, secret, "tools/call", name="search", arguments=given)
        assert (answer.status_code, answer.json["error"]["code"]) == (200, -32602), given  # type: ignore[index]
    assert [post(anonymous, secret, method).status_code for method in ("prompts/list", "server/discover")] == [200, 200]


def test_what_is_no_json_or_nested_too_deep_is_a_parse_error(app, user, anonymous):
    headers = {"Authorization": f"Bearer {token(app, user, 'mcp')}"}
    parse_error, invalid_request = -32700, -32600
    no_json = ("{broken", "[" * 200_000, '{"a":' * 100_000 + "1" + "}" * 100_000)
    for body, code in (*((text, parse_error) for text in no_json), ("null", invalid_request), ("[1]", invalid_request)):
        answer = anonymous.post("/mcp", data=body, headers=headers, content_type="application/json")
        assert (answer.status_code, answer.json["error"]["code"]) == (400, code), body[:9]  # type: ignore[index]
