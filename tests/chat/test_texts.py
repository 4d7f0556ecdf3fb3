"""What a message and a reply may hold: a megabyte to the last byte, and nothing that is no text."""

import json

from tests.chat.helpers import deltas
from tests.chat.test_stream import ask
from webapp.http.validation import MAX_TEXT_BYTES


def test_a_message_may_be_a_megabyte_to_the_last_byte(client, model):
    conversation = client.post("/api/conversations", json={}).get_json()["conversation_id"]
    for character in "aé🌊":
        fits = character * (MAX_TEXT_BYTES // len(character.encode()))
        sent = client.post(f"/api/conversations/{conversation}/messages", json={"content": fits})
        assert (character, sent.status_code, sent.get_json()["message"]["content"] == fits) == (character, 202, True)
        over = client.post(f"/api/conversations/{conversation}/messages", json={"content": fits + character})
        assert (over.status_code, over.get_json()["errors"][0]["loc"]) == (422, ["content"])


def test_bad_messages_are_422_and_leave_nothing(client):
    odd = [{"model": 3}, {"conversation_id": 0}, {"context": {"a": float("nan")}}, {"context": []}]
    bodies = [{"message": text} for text in ("", " \n", 5, "a\x00b", "\ud800")]
    for body in ({}, *bodies, *({"message": "x", **field} for field in (*odd, {"conversation_id": 10**30}))):
        response = client.post("/api/chat/stream", data=json.dumps(body), content_type="application/json")
        assert (body, response.status_code) == (body, 422)
        assert response.get_json()["errors"]
    assert client.get("/api/conversations").get_json()["conversations"] == []


def test_a_reply_longer_than_a_megabyte_ends_there_and_says_so(client, model):
    model.script(reply=["🌊" * 10_000] * 30)
    events = ask(client)
    done = events[-1].data["message"]
    assert len(done["content"].encode()) == MAX_TEXT_BYTES
    assert deltas(events) == done["content"]
    assert (done["status"], done["custom_payload"]) == ("complete", {"truncated": True})


def test_odd_text_of_a_model_is_kept_as_far_as_it_is_text(client, model):
    frame = json.dumps({"choices": [{"index": 0, "delta": {"content": "a\x00b\ud83dc"}, "finish_reason": None}]})
    end = json.dumps({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    model.script(fault={"raw": f"data: {frame}\n\ndata: {end}\n\ndata: [DONE]\n\n"})
    events = ask(client)
    done = events[-1].data["message"]
    assert done["status"] == "complete"
    assert deltas(events) == done["content"]
    assert done["content"].replace("\ufffd", "?") == "ab?c"
