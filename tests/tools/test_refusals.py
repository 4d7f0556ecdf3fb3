"""A private tool that a model's server refuses: it costs nobody anything else, and its owner is told."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flask import Flask

from testkit.people import ApiClient, Person, session_client
from tests.llm.test_refused_tools import SAID
from tests.tools.servers import Asked, Site, serve
from tests.tools.test_servers import add, rpc
from webapp.db.base import db, write_transaction
from webapp.providers.catalogue import catalogue
from webapp.providers.clients import completions
from webapp.providers.models import ModelConnection, ModelOffer

READS = {"readOnlyHint": True}
GOOD = {"name": "echo", "inputSchema": {}, "annotations": READS}
ODD = {"name": "工具/odd", "description": "strange", "inputSchema": {"$ref": "#"}, "annotations": READS}


@pytest.fixture
def picky(app: Flask) -> Iterator[Site]:
    """A model server that refuses any request with a strange tool, without saying which."""

    def answer(asked: Asked) -> tuple[int, dict[str, str], Any]:
        if "strange" in str(asked.json.get("tools")):
            return 400, {}, {"error": {"message": "Failed to parse tools: unknown schema", "param": "tools"}}
        return 200, {"Content-Type": "text/event-stream"}, SAID

    with serve() as site:
        site.answer = answer
        with app.app_context(), write_transaction():
            row = ModelConnection(name="Picky", base_url=f"{site.url}/v1", header_names=[], is_enabled=True)
            db.session.add(row)
            db.session.flush()
            offer = ModelOffer(connection_id=row.connection_id, model="picky", label="Picky", parameters={})
            offer.is_default = True
            db.session.add(offer)
        catalogue.forget()
        yield site
    completions.of(app).capabilities._cache.clear()
    catalogue.forget()


def say(client: ApiClient, site: Site) -> tuple[str, list[str]]:
    """The reply's text, and the tools of the request that was answered."""
    chosen = next(one["id"] for one in client.get("/api/models").json["models"] if one["name"] == "Picky")
    conversation = client.post("/api/conversations", json={"model": chosen}).json["conversation_id"]
    sent = client.post(f"/api/conversations/{conversation}/messages", json={"content": "Hello"})
    reply = client.get(f"/api/messages/{sent.json['message']['id']}/response?wait=30").json
    assert reply["status"] == "complete", reply
    last = [asked for asked in site.asked if asked.json.get("stream")][-1]
    return reply["content"], [tool["function"]["name"] for tool in last.json.get("tools", ())]


def test_it_costs_nobody_anything_else_and_its_owner_is_told(
    app: Flask, client: ApiClient, user: Person, login: Callable, api: Callable, make_user: Callable, picky: Site,
    site: Site, open_house: None,
) -> None:  # fmt: skip
    site.answer = lambda asked: (200, {}, rpc({"tools": [GOOD, ODD]}, asked.json["id"]))
    own = ["remember", "forget", "search_memories", "calculate", "dates", "propose_schedule"]
    path = f"/api/tool-servers/{add(client, site.url, 'echo', '工具/odd')['server_id']}"
    assert say(client, picky) == ("Hello.", [*own, "Garden_echo"])
    assert say(api(make_user()), picky) == ("Hello.", own)
    assert {tool["name"]: tool["refused_by"] for tool in client.get(path).json["tools"]} == {
        "echo": [],
        "工具/odd": ["Picky"],
    }
    page = login(user).get(path.replace("/api/tool-servers", "/settings/tools/servers")).text
    assert page.count("Not used with Picky") == 1
    asked = len(picky.asked)
    assert say(client, picky)[1] == [*own, "Garden_echo"] and len(picky.asked) == asked + 1
    # Refreshed, changed or deleted, it is not held against the tool any longer.
    tested = client.post(f"{path}/test").json
    assert not any(tool["refused_by"] for tool in tested["tools"]) and all(tool["is_on"] for tool in tested["tools"])
    assert say(client, picky)[1] == [*own, "Garden_echo"]
    assert session_client(app, user).delete(path).status_code == 204
    assert say(client, picky) == ("Hello.", own)
    assert not any(known for key, (_, known) in _known(app) if key.endswith(":tools"))


def _known(app: Flask) -> list[Any]:
    return list(completions.of(app).capabilities._cache.items())
