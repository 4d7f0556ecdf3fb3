"""What models think: streamed beside the reply, kept apart from it, shown to its owner, reached by forgetting."""

from itertools import groupby
from typing import Any

from testkit.processes import wait_until
from tests.chat.helpers import deltas, message, names, offer
from tests.chat.test_stream import ask, begin, wait_for_text
from webapp.chat.turns import recovery, turnlog
from webapp.conversations.models import MessageReasoning
from webapp.db.base import db
from webapp.transfer import account_tables

THOUGHT = "Greets me. I should greet back."


def thoughts_in(events: list[Any]) -> str:
    found = ""
    for event in events:
        if event.name == "reasoning":
            found = found[: event.data["offset"]] + event.data["text"]
    return found


def test_thoughts_are_streamed_before_the_reply_and_kept_apart(client, model):
    model.script(match="Hello", reply="Good day.", reasoning=THOUGHT, token_delay=0.002)
    events = ask(client, "Hello")
    done = events[-1].data["message"]
    assert [name for name, _ in groupby(names(events))] == ["turn", "reasoning", "delta", "done"]
    assert thoughts_in(events) == THOUGHT
    assert deltas(events) == done["content"] == "Good day."
    assert done["custom_payload"]["reasoning"]["duration_ms"] >= 0
    kept = client.get(f"/api/messages/{done['message_id']}/reasoning").get_json()
    assert (kept["text"], kept["message_id"]) == (THOUGHT, done["message_id"])
    # A viewer that comes later is told the reply, not the thoughts; one that resumes gets what it lacks.
    again = client.get(f"/api/chat/turns/{done['message_id']}/stream?after={events[-2].id}")
    assert "event: done" in again.text
    # The next prompt and the background work's know nothing of it, and a reply without thoughts has none.
    after = ask(client, "And now?", conversation_id=done["conversation_id"])[-1].data["message"]
    assert all("greet back" not in str(call["messages"]) for call in model.calls())
    assert client.get(f"/api/messages/{after['message_id']}/reasoning").status_code == 404
    assert "reasoning" not in (after["custom_payload"] or {})


def test_thoughts_in_the_text_never_become_the_reply(client, model):
    model.script(reply=f"<think>\n{THOUGHT}\n</think>\n\nGood day.")
    events = ask(client)
    assert deltas(events) == events[-1].data["message"]["content"] == "Good day."
    assert thoughts_in(events).strip() == THOUGHT


def test_thoughts_are_fetched_by_whoever_opens_them(client, model, browser):
    model.script(reply="Good day.", reasoning=THOUGHT)
    done = ask(client)[-1].data["message"]
    place = f"/messages/{done['message_id']}/reasoning"
    assert THOUGHT in browser.get(place).text
    assert THOUGHT in browser.get(place, headers={"HX-Request": "true"}).text
    page = browser.get(f"/c/{done['conversation_id']}").text
    assert place in page and THOUGHT not in page


def test_what_is_forgotten_leaves_the_thoughts(app, client, model):
    fact = "Ada Quill keeps seventeen hives behind the mill"
    made = client.post("/api/memories", json={"memory_type": "fact", "content": fact}).get_json()
    model.script(reply="Good day.", reasoning=f"I remember: {fact}. She keeps seventeen hives, Ada Quill. Greet her.")
    done = ask(client)[-1].data["message"]
    assert client.delete(f"/api/memories/{made['memory_id']}").status_code == 200
    kept = client.get(f"/api/messages/{done['message_id']}/reasoning").get_json()["text"]
    assert "hives" not in kept
    assert "Greet her." in kept


def test_thoughts_are_in_the_export_behind_no_link_and_go_with_their_message(app, client, model, user, anonymous):
    model.script(reply="Good day.", reasoning=THOUGHT)
    done = ask(client)[-1].data["message"]
    place = f"/api/conversations/{done['conversation_id']}"
    with app.app_context():
        assert THOUGHT in "".join(account_tables.lines(user.user_id, "conversations.jsonl"))
        assert db.session.get(MessageReasoning, done["message_id"]).content == THOUGHT
    shared = client.post(f"{place}/shares", json={}).get_json()
    page = anonymous.get("/s/" + shared["url"].rpartition("/s/")[2]).text
    assert "Good day." in page and "Thought" not in page and "greet back" not in page
    client.delete(place)
    assert client.get(f"/api/messages/{done['message_id']}/reasoning").status_code == 404


def test_thoughts_go_back_only_to_a_server_that_insists(client, admin, model):
    model.script(match="Remember", reply="Done.", times=None)
    model.script(match="Remember", reasoning="I need a tool.", tool_calls=[{"name": "search_memories"}], times=1)
    ask(client, "Remember what?")
    first, second = [call for call in model.calls() if call["stream"]]
    assert "reasoning_content" not in str(second["messages"])
    model.reset()
    model.script(match="Remember", reply="Done.", times=None)
    model.script(match="Remember", fault={"refuse_bare_calls": True}, times=1)
    model.script(match="Remember", reasoning="I need a tool.", tool_calls=[{"name": "search_memories"}], times=1)
    events = ask(client, "Remember that", model=offer(admin, model, "insists")[0])
    assert deltas(events) == "Done."
    assert "I need a tool." in str([call for call in model.calls() if call["stream"]][-1]["messages"])


def test_what_a_server_sends_with_a_call_goes_back_to_it(client, model):
    own = {"extra_content": {"google": {"thought_signature": "c2lnbmVk"}}}
    model.script(match="Remember", reply="Done.", times=None)
    model.script(match="Remember", tool_calls=[{"name": "search_memories", **own}], times=1)
    ask(client, "Remember what?")
    (call,) = model.calls()[-1]["messages"][-2]["tool_calls"]
    assert call["extra_content"] == own["extra_content"]


def test_what_was_thought_outlives_its_process(app, client, model):
    model.script(reply="Good day to you.", reasoning=THOUGHT, fault={"hang_after": 14})
    turn_id = begin(client)
    wait_for_text(app, turn_id)
    entries = turnlog.read(app.extensions["redis"], turn_id)
    assert turnlog.thoughts_of(entries) == THOUGHT
    # What recovery does with a stream whose process died; the reply is this process's, so it is done by hand.
    with app.app_context():
        recovery._finish(turn_id)
    wait_until(lambda: message(app, turn_id)["status"] == "interrupted", "the end")
    assert client.get(f"/api/messages/{turn_id}/reasoning").get_json()["text"] == THOUGHT
