"""One conversation with memory, a journey, an attachment and a tool, on providers with seven kinds of quirks."""

from collections.abc import Iterator
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select

from fakemodel.providers import PROVIDERS
from fakemodel.script_faults import alternates
from fakemodel.testing import ServerHandle
from tests.files.test_files import _send
from tests.journeys.conftest import garden  # noqa: F401 - a fixture
from tests.journeys.rows import begin, points, wait
from tests.support.queries import scalars
from webapp.llm.usage import ROOM
from webapp.providers.clients import completions
from webapp.usage.models import UsageRecord

FOR_ONE_REPLY = {"top_p": 0.8, "seed": 7, "stop": ["END"]}

pytestmark = pytest.mark.once  # about providers, not about the database


@pytest.fixture
def provider(request: pytest.FixtureRequest, app: Flask, model: ServerHandle) -> Iterator[str]:
    """The model server with a provider's quirks; what was found out about it is forgotten before and after."""
    known = completions.of(app).capabilities._cache
    known.clear()
    model.imitate(request.param)
    yield request.param
    known.clear()


def using_a_tool(body: dict[str, Any]) -> dict[str, Any]:
    """A model that remembers by its tool where it is offered one."""
    if "tools" not in body or any(message["role"] == "tool" for message in body["messages"]):
        return {"reply": "Noted, Ada."}
    wanted = {"content": "Grows sorrel.", "quote": "I grow sorrel", "category": "hobby"}
    return {"tool_calls": [{"name": "remember", "arguments": wanted}], "reply": "One moment."}


@pytest.mark.parametrize("provider", PROVIDERS, indirect=True)
def test_a_conversation_passes_on_every_provider(
    provider,
    garden,  # noqa: F811 - the fixture
    app,
    client,
    model,
    run_jobs,
):
    model.script(match="sorrel", respond=using_a_tool)
    conversation_id = begin(client)
    chosen = {"temperature": 0.3, "max_tokens": 700}
    assert client.put(f"/api/conversations/{conversation_id}", json={"parameters": chosen}).status_code == 200
    file = _send(client, b"# Balcony\n\nThe railing faces south-west.", "balcony.md").get_json()

    def say(words: str, *file_ids: int) -> dict[str, Any]:
        body = {"content": words, "file_ids": list(file_ids), "parameters": FOR_ONE_REPLY}
        sent = client.post(f"/api/conversations/{conversation_id}/messages", json=body)
        assert sent.status_code == 202, sent.text
        return wait(client, sent.get_json()["response_id"])

    first = say("My name is Ada Quill. Please read this.", file["file_id"])
    assert (first["status"], first["content"][:6]) == ("complete", "token0")
    run_jobs()
    second = say("I grow sorrel on the balcony. Remember that.")
    assert (second["status"], second["content"].endswith("Noted, Ada.")) == ("complete", True)
    third = say("What do you know of me by now?")
    assert third["status"] == "complete"
    run_jobs()

    # Memory: learned in the background, and known in the next prompt; the file and the guide are there as well.
    memories = client.get("/api/memories").get_json()["memories"]
    assert any("Ada Quill" in memory["content"] for memory in memories)
    answered = [call for call in model.calls() if call["path"] == "chat" and call["status"] == 200]
    last = str([call for call in answered if call["stream"]][-1]["messages"])
    for part in ("Ada Quill", "The railing faces south-west.", "<guide>"):
        assert part in last
    assert points(client, conversation_id)["by"]
    if provider == "no tools":
        assert not second["tool_calls"]
    else:
        assert [call["tool_name"] for call in second["tool_calls"]] == ["remember"]
    if provider in ("alternating roles", "no system role"):
        assert all(alternates(call) for call in answered)
    if provider == "no system role":
        assert all(message["role"] != "system" for call in answered for message in call["messages"])
    if provider == "JSON mode only":
        assert {call["response_format"] for call in answered} <= {None, "json_object"}
    if provider == "reasoning fields":
        assert client.get(f"/api/messages/{third['message_id']}/reasoning").status_code == 200
        assert "Let me think" not in third["content"]
    # What was refused is asked for once: the third turn is not refused anything.
    refused = [call for call in model.calls() if call["status"] == 400]
    assert len(refused) <= 6
    sent = [call["values"] | {"stop": "stop" in call["keys"]} for call in answered if call["stream"]][-3:]
    if provider == "max_completion_tokens":
        assert all(values["max_completion_tokens"] == 700 for values in sent)
        assert not any(values.keys() & {"temperature", "top_p"} or values["stop"] for values in sent)
    else:
        expected = {"temperature": 0.3, "top_p": 0.8, "stop": True}
        assert all(values | expected == values for values in sent)
        room = ROOM if provider == "reasoning fields" else 0
        assert [values["max_tokens"] for values in sent][-1] == 700 + room
    assert all(values["seed"] == 7 for values in sent)
    records = scalars(app, select(UsageRecord))
    assert len(records) >= 3
    assert all(record.input_tokens > 0 for record in records)
    assert any(record.is_estimated for record in records) == (provider == "usage missing")
