"""What a message and a reply may hold: a megabyte to the last byte, and nothing that is no text."""

import json
from typing import Any

import pytest

from fakemodel.testing import ServerHandle
from testkit.people import ApiClient
from tests.chat.helpers import deltas
from tests.chat.test_stream import ask
from webapp.http.validation import MAX_TEXT_BYTES


@pytest.mark.parametrize("character", ["a", "é", "🌊"])
def test_a_message_may_be_a_megabyte_to_the_last_byte(client: ApiClient, model: ServerHandle, character: str) -> None:
    size = len(character.encode())
    fits = character * (MAX_TEXT_BYTES // size)
    conversation = client.post("/api/conversations", json={}).get_json()["conversation_id"]
    sent = client.post(f"/api/conversations/{conversation}/messages", json={"content": fits})
    assert sent.status_code == 202
    assert sent.get_json()["message"]["content"] == fits
    over = client.post(f"/api/conversations/{conversation}/messages", json={"content": fits + character})
    assert over.status_code == 422
    assert over.get_json()["errors"][0]["loc"] == ["content"]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"message": ""},
        {"message": " \n"},
        {"message": 5},
        {"message": "a\x00b"},
        {"message": "x", "model": 3},
        {"message": "x", "conversation_id": 0},
        {"message": "x", "context": {"a": float("nan")}},
        {"message": "\ud800"},
        {"message": "x", "context": []},
        {"message": "x", "conversation_id": 10**30},
    ],
    ids=range(11),
)
def test_bad_messages_are_422_and_leave_nothing(client: ApiClient, body: dict[str, Any]) -> None:
    response = client.post("/api/chat/stream", data=json.dumps(body), content_type="application/json")
    assert response.status_code == 422
    assert response.get_json()["errors"]
    assert client.get("/api/conversations").get_json()["conversations"] == []


def test_a_reply_longer_than_a_megabyte_ends_there_and_says_so(client: ApiClient, model: ServerHandle) -> None:
    model.script(reply=["🌊" * 10_000] * 30)
    events = ask(client)
    done = events[-1].data["message"]
    assert len(done["content"].encode()) == MAX_TEXT_BYTES
    assert deltas(events) == done["content"]
    assert (done["status"], done["custom_payload"]) == ("complete", {"truncated": True})


def test_odd_text_of_a_model_is_kept_as_far_as_it_is_text(client: ApiClient, model: ServerHandle) -> None:
    frame = json.dumps({"choices": [{"index": 0, "delta": {"content": "a\x00b\ud83dc"}, "finish_reason": None}]})
    end = json.dumps({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    model.script(fault={"raw": f"data: {frame}\n\ndata: {end}\n\ndata: [DONE]\n\n"})
    events = ask(client)
    done = events[-1].data["message"]
    assert done["status"] == "complete"
    assert deltas(events) == done["content"]
    assert done["content"].replace("\ufffd", "?") == "ab?c"
