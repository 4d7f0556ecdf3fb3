"""What is forgotten stays forgotten, and leaves no copy."""

import re

import pytest
from sqlalchemy import select

from tests.memories.conversing import answers, converse, current, memories_of, name, operation, say
from tests.memories.keeping.test_no_trace import cells
from tests.memories.learning.test_extraction import extract, learn
from webapp.chat.turns.turnlog import fields, log_key
from webapp.conversations import branches
from webapp.conversations.models import Message
from webapp.db.base import db, write_transaction
from webapp.memories.store import forgetting, reach

SAID = "I'm allergic to walnuts"
CONTENT = "Allergic to walnuts."


def found_in(app, words: str) -> set[str]:
    """The tables that hold words, stored answers decrypted."""
    return {table for table, _, value, _ in cells(app) if re.search(words, str(value), re.IGNORECASE)}


@pytest.fixture
def walnuts(app, client, user, model) -> tuple[int, int]:
    """A conversation and the memory extracted from it."""
    talk = converse(app, user.user_id, f"By the way, {SAID}!")
    learn(client, model, talk, operation(SAID, CONTENT))
    return talk, memories_of(app, user.user_id)[0].memory_id


def test_the_report_says_what_was_removed_and_no_copy_is_left(app, client, user, walnuts):
    talk, memory_id = walnuts
    client.put(f"/api/memories/{memory_id}", json={"content": "Cannot eat walnuts at all."})
    key = {"Idempotency-Key": "once"}
    body = {"memory_type": "fact", "content": "Cannot eat walnuts at all."}
    again = client.post("/api/memories", json=body, headers=key)
    assert found_in(app, "walnuts") >= {"memories", "memory_revisions", "memory_evidence", "idempotency_keys"}
    report = client.delete(f"/api/memories/{again.json['memory_id']}").json
    # The written one took the place of the extracted one, in the same words: both go.
    assert set(report["memory_ids"]) == {memory_id, again.json["memory_id"]}
    assert report["evidence"] == 1 and report["revisions"] >= 3 and report["tombstones"] >= 2
    assert report["vectors"] == 0 and report["copies"] == 1 and len(report["still_said_in"]) == 1
    assert found_in(app, "walnuts") == {"messages"}
    assert client.get(f"/api/memories/{memory_id}").status_code == 404
    assert client.get("/api/memories").json["memories"] == []
    assert client.get("/api/memories?q=walnuts").json["memories"] == []
    (change, *_) = client.get("/api/memories/changes").json["changes"]
    assert change["cause"] == "forget" and change["changes"][0]["after"] is None


def test_the_log_says_how_many_memories_went_and_not_what_they_said(
    app, client, user, model, walnuts, login, monkeypatch
):
    asked = f"forget that {SAID.upper()}"
    learn(client, model, converse(app, user.user_id, f"Please {asked}"), operation(asked, about="how_to_answer"))
    (_, rest) = memories_of(app, user.user_id)
    monkeypatch.setattr(reach, "MAX_READ", 1)
    with app.app_context():
        assert reach.find_retelling(user.user_id, [], {SAID}) == [rest.memory_id], "the newest are read"
    assert client.delete(f"/api/memories/{walnuts[1]}").json["still_in"] == [rest.memory_id]
    client.delete(f"/api/memories/{rest.memory_id}")
    page = login(user).get("/memories/changes").text
    assert page.count("You asked to forget 1 memory") == 2 and "1 forgotten" not in page and "walnuts" not in page


def test_it_does_not_come_back_when_the_conversation_is_read_again_in_any_words(app, client, user, model, walnuts):
    talk, memory_id = walnuts
    client.delete(f"/api/memories/{memory_id}")
    for wording in (CONTENT, "THE USER IS ALLERGIC TO WALNUTS", "Walnuts make the user ill."):
        result = learn(client, model, talk, operation(SAID, wording))
        assert result["counts"]["added"] == 0 and result["counts"]["rejected"] == 1
    assert memories_of(app, user.user_id) == []
    other = converse(app, user.user_id, "My doctor checked: I'm allergic to walnuts and to pollen")
    answers(model, operation("I'm allergic to walnuts", CONTENT), operation("to pollen", "Has a pollen allergy"))
    counts = extract(client, other)["counts"]
    assert counts["added"] == 1 and counts["rejected"] == 1
    assert current(app, user.user_id) == ["Has a pollen allergy"]
    # Saying it in other words is saying it anew.
    say(app, talk, "Please keep in mind that walnuts are dangerous for me")
    answers(model, operation("walnuts are dangerous for me", "Walnuts are dangerous for the user."))
    assert extract(client, talk)["counts"]["added"] == 1
    # And the user's own hand may bring it back.
    assert client.post("/api/memories", json={"memory_type": "fact", "content": CONTENT}).status_code == 201
    assert CONTENT in current(app, user.user_id)


def test_it_does_not_come_back_from_the_copy_of_its_message_in_a_branch(app, client, user, model):
    talk = converse(app, user.user_id, "Call me Al. I sail a small boat.")
    learn(client, model, talk, operation("Call me Al", "Goes by Al"))
    reply = client.get(f"/api/conversations/{talk}").json["messages"][-1]["message_id"]
    with app.app_context(), write_transaction():
        branch = branches.branch(user.user_id, reply)[0].conversation_id
    client.delete(f"/api/memories/{memories_of(app, user.user_id)[0].memory_id}")
    answers(model, operation("Call me Al", "Wants to be addressed as Al"))
    assert extract(client, branch)["counts"]["rejected"] == 1
    assert memories_of(app, user.user_id) == []


def test_no_revision_of_it_can_be_restored_and_no_undo_brings_it_back(app, client, user, model, walnuts):
    talk, memory_id = walnuts
    made = client.get("/api/memories/changes").json["changes"][0]["change_set_id"]
    other = client.post("/api/memories", json={"memory_type": "fact", "content": CONTENT}).json["memory_id"]
    client.put(f"/api/memories/{other}", json={"content": "Likes hazelnuts."})
    extracted = client.get(f"/api/memories/{memory_id}").json
    assert extracted["valid_to"]
    client.delete(f"/api/memories/{memory_id}")
    # The revision of another memory that said the same is gone too.
    assert [row["revision"] for row in client.get(f"/api/memories/{other}/history").json["revisions"]] == [2]
    assert client.post(f"/api/memories/{other}/restore", json={"revision": 1}).status_code == 404
    assert client.post(f"/api/memories/changes/{made}/undo").status_code == 200  # nothing is left to undo
    assert found_in(app, "walnuts") == {"messages"}
    assert current(app, user.user_id) == ["Likes hazelnuts."]


def test_undoing_an_edit_of_something_forgotten_since_is_refused(app, client, user, walnuts):
    _, memory_id = walnuts
    client.put(f"/api/memories/{memory_id}", json={"importance": 0.9})
    edited = client.get("/api/memories/changes").json["changes"][0]["change_set_id"]
    client.delete(f"/api/memories/{memory_id}")
    refused = client.post(f"/api/memories/changes/{edited}/undo")
    assert refused.status_code == 409
    told = {"loc": ["changes"], "memory_id": memory_id, "reason": "forgotten"}
    assert refused.json["errors"][0].items() >= told.items()


def test_forgetting_a_name_leaves_room_for_another_unless_the_whole_key_goes(app, client, user, model):
    talk = converse(app, user.user_id, "My name is Alexander", "People call me Sasha, my name is Sasha")
    learn(client, model, talk, name("My name is Alexander", "Alexander", 0.9))
    (row,) = memories_of(app, user.user_id)
    client.delete(f"/api/memories/{row.memory_id}?whole_key=true")
    answers(model, name("my name is Sasha", "Sasha", 0.95, message_number=2))
    assert extract(client, talk)["counts"]["rejected"] == 1
    assert client.get("/api/profile").json["name"] is None
    # By their own hand the user may.
    assert client.put("/api/profile", json={"name": "Sasha"}).json["name"] == "Sasha"


def test_deleting_a_conversation_can_take_what_rests_on_it_alone_along(app, client, user, model, walnuts):
    talk, memory_id = walnuts
    (evidence,) = client.get(f"/api/memories/{memory_id}/evidence").json["evidence"]
    resting = client.get(f"/api/messages/{evidence['message_id']}/dependents").json
    assert resting["only_here"] == [memory_id]
    other = converse(app, user.user_id, "I live in Porto. As I said, I am allergic to walnuts")
    answers(model, operation("I live in Porto", "Lives in Porto."), operation("I am allergic to walnuts", CONTENT))
    extract(client, other)
    resting = client.get(f"/api/conversations/{other}/dependents").json
    assert {row["content"] for row in resting["memories"]} == {CONTENT, "Lives in Porto."}
    assert resting["only_here"] == [row["memory_id"] for row in resting["memories"] if "Porto" in row["content"]]
    assert client.get(f"/api/memories/{memory_id}").json["evidence_count"] == 2
    assert client.delete(f"/api/conversations/{other}?forget=memories").status_code == 204
    assert found_in(app, "Porto") == set()
    left = client.get(f"/api/memories/{memory_id}").json
    assert left["evidence_count"] == 1
    assert client.delete(f"/api/conversations/{talk}").status_code == 204
    kept = client.get(f"/api/memories/{memory_id}").json
    assert kept["evidence_count"] == 0 and kept["content"] == CONTENT and kept["source_conversation_id"] is None


def test_a_savepoint_rolled_back_later_keeps_no_forgotten_text_in_redis(app, user, client, model, walnuts):
    talk, memory_id = walnuts
    with app.app_context():
        with write_transaction():
            reply = db.session.scalar(
                select(Message).where(Message.conversation_id == talk, Message.role == "assistant")
            )
            reply.content, turn_id = f"I know: {CONTENT}", reply.message_id
        client_of_redis = app.extensions["redis"]
        client_of_redis.xadd(log_key(turn_id), fields("delta", {"text": CONTENT}))
        with write_transaction():
            assert forgetting.forget(user.user_id, [memory_id]).memory_ids == [memory_id]
            db.session.begin_nested().rollback()
        assert not client_of_redis.exists(log_key(turn_id))


def test_what_differs_by_a_sign_is_stored_and_forgotten_apart(app, client, user, model):
    kin, made = ("C", "C++", "C#", "80 kg", "-80 kg", "★★★", "★", "🐙"), {}
    for thing in kin:
        key = None if "80" in thing else f"thing/{thing}"
        body = {"memory_type": "fact", "content": thing, "fact_key": key, "fact_value": thing if key else None}
        made[thing] = client.post("/api/memories", json=body).json["memory_id"]
    assert sorted(current(app, user.user_id)) == sorted(kin)
    gone = ("C", "80 kg", "★★★")
    others = [thing for thing in kin if thing not in gone]
    for thing in gone:
        assert client.delete(f"/api/memories/{made[thing]}").json["memory_ids"] == [made[thing]]
    assert sorted(current(app, user.user_id)) == sorted(others)
    for thing in others:
        client.put(f"/api/memories/{made[thing]}", json={"is_archived": True})
    talk = converse(app, user.user_id, *(f"I have something to do with {thing}" for thing in kin))
    told = [
        operation(f"I have something to do with {thing}", f"Has to do with {thing}", message_number=number)
        for number, thing in enumerate(kin, 1)
    ]
    assert learn(client, model, talk, *told)["counts"]["added"] == len(kin)
