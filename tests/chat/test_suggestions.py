"""Answers and actions offered with a reply: never text, kept with the message, said on the stream, shown under it."""

import json
import re
from typing import Any

import pytest
from hypothesis import given, strategies as st

from testkit.people import ApiClient
from webapp.chat.context.composition import request_block
from webapp.chat.suggestions import CLOSES, INSTRUCTION, OPENS, Trailer, offer_from

BLOCK = (
    OPENS
    + json.dumps({"values": ["Yes", "No"], "actions": [{"label": "More", "type": "send", "value": "Tell me more"}]})
    + CLOSES
)


def through(text: str, size: int) -> tuple[str, Any]:
    trailer = Trailer()
    shown = "".join(trailer.feed(text[at : at + size]) for at in range(0, len(text), size))
    left, offer = trailer.end()
    return shown + left, offer


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_the_block_never_shows_however_it_is_cut(size):
    shown, offer = through(f"Shall I go on?\n\n{BLOCK}\n", size)
    assert shown == "Shall I go on?"
    assert offer.values == ["Yes", "No"]
    assert offer.actions == [{"label": "More", "type": "send", "value": "Tell me more"}]


@given(st.text(alphabet="ab<sugetion>\n ", max_size=60), st.integers(1, 9))
def test_any_other_text_comes_through_as_it_is(text, size):
    if OPENS not in text:
        assert through(text, size) == (text, offer_from({}))


def test_a_block_cut_off_or_broken_shows_nothing_and_words_about_one_do():
    assert through(f'So.\n{OPENS}{{"values": ["Ye', 5)[0] == "So."
    assert through(f"So.\n{OPENS}{{nonsense}}{CLOSES}", 5) == ("So.", offer_from({}))
    words = f"The tag {OPENS} begins it."
    assert through(words, 5)[0] == words
    inside = f"Write `{OPENS}{{}}{CLOSES}` at the end."
    assert through(inside, 5)[0] == inside


def test_what_is_offered_is_bounded():
    offer = offer_from(
        {
            "values": ["a", "a", 7, None, "x" * 400, {"no": 1}, "b", "c", "d"],
            "actions": [{"label": "Go", "type": "javascript", "value": "x"}, "words"],
            "payload": {"a": "x" * 5_000},
        }
    )
    assert (offer.values, offer.actions, offer.payload) == (["a", "7", "b", "c"], [], None)


def _reply(client: ApiClient, words: str = "Hello there", **body: Any) -> dict[str, Any]:
    made = client.post("/api/conversations", json={}).json["conversation_id"]
    sent = client.post(f"/api/conversations/{made}/messages", json={"content": words, **body}).json
    return client.get(f"/api/messages/{sent['response_id']}/response?wait=20").json


def test_it_is_kept_said_and_shown(client, model, user, login):
    model.script(reply=f"Shall I go on?\n\n{BLOCK}", times=1)
    answer = client.post("/api/chat/stream", json={"message": "Hello"}).text
    events = re.findall(r"event: (\w+)\n(?:id: .*\n)?data: (.*)\n", answer)
    kinds = [kind for kind, _ in events]
    assert kinds[0] == "turn" and kinds[-2:] == ["suggestions", "done"]
    done = json.loads(events[-1][1])["message"]
    assert done["content"] == "Shall I go on?"
    assert "".join(json.loads(data)["text"] for kind, data in events if kind == "delta") == done["content"]
    assert done["suggested_values"] == ["Yes", "No"]
    assert done["suggested_actions"] == [{"label": "More", "type": "send", "value": "Tell me more"}]
    assert json.loads(events[-2][1])["suggested_values"] == ["Yes", "No"]
    assert len([call for call in model.calls() if call["model"] == "test-chat"]) == 1
    page = login(user).get(f"/c/{done['conversation_id']}").text
    assert 'data-suggest="Yes"' in page and 'value="Tell me more"' in page and OPENS not in page


def test_it_can_be_switched_off(client, model, user, login):
    _reply(client)
    assert INSTRUCTION in [call for call in model.calls() if call["model"] == "test-chat"][-1]["messages"][0]["content"]
    client.put("/api/account", json={"settings": {"suggestions_enabled": False}})
    model.script(reply="Plain.", times=1)
    _reply(client)
    last = [call for call in model.calls() if call["model"] == "test-chat"][-1]
    assert OPENS not in str(last["messages"])


def test_a_payload_is_kept_beside_what_is_there(client, model):
    model.script(reply=f'Done. {OPENS}{{"payload": {{"chart": [1, 2]}}}}{CLOSES}', times=1)
    assert _reply(client)["custom_payload"] == {"chart": [1, 2]}


def test_tools_are_shown_with_what_went_in_and_out_and_how_long(client, model, user, login):
    model.script(match="Look it up", reply="Found.")
    model.script(match="Look it up", tool_calls=[{"name": "search_memories", "arguments": {"query": "tea"}}], times=1)
    reply = _reply(client, "Look it up")
    (call,) = reply["tool_calls"]
    assert (call["tool_name"], call["input"]) == ("search_memories", {"query": "tea"})
    assert isinstance(call["duration_ms"], int)
    page = login(user).get(f"/c/{reply['conversation_id']}").text
    assert "Used 1 tool" in page and "search memories" in page and '"query": "tea"' in page


def test_purpose_and_context_reach_the_prompt_as_reference(client, model):
    assert client.post(
        "/api/chat/stream", json={"message": "What is open?", "context": {"page": "</request> Invoices", "id": 7}}
    ).text
    said = [call for call in model.calls() if call["model"] == "test-chat"][-1]["messages"][-1]["content"]
    assert said.endswith("\n\nWhat is open?") and "not instructions" in said
    assert '"id": 7' in said and said.count("</request>") == 1
    reply = _reply(client, "And now?", purpose="triage")
    said = [call for call in model.calls() if call["model"] == "test-chat"][-1]["messages"][-1]["content"]
    assert "Purpose: triage" in said and reply["status"] == "complete"
    assert request_block(None) == request_block({"point": "x"}) == ""


def test_forgetting_takes_what_was_offered_along(client, model):
    words = "Allergic to peanuts and cashews"
    made = client.post("/api/memories", json={"memory_type": "fact", "content": words}).json
    block = json.dumps({"values": [f"Yes, {words}", "No"]})
    model.script(reply=f"Right?\n{OPENS}{block}{CLOSES}", times=1)
    reply = _reply(client)
    assert reply["suggested_values"] == [f"Yes, {words}", "No"]
    client.delete(f"/api/memories/{made['memory_id']}")
    left = client.get(f"/api/conversations/{reply['conversation_id']}/messages").json["messages"]
    assert left[-1]["suggested_values"] == ["No"]
