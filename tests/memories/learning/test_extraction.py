"""Extraction through the API and the queue, with a scripted model."""

from tests.memories.conversing import answers, converse, current, memories_of, name, operation, say


def extract(client, conversation_id: int) -> dict:
    answer = client.post("/api/memories/extract", json={"conversation_id": conversation_id, "sync": True})
    assert answer.status_code == 200, answer.json
    return answer.json


def test_alex_stays_alex_until_the_full_name_corrects_it_and_undo_brings_alex_back(app, client, user, model) -> None:
    talk = converse(app, user.user_id, "My name is Alex")
    answers(model, name("My name is Alex", "Alex", 1.0))
    assert extract(client, talk)["counts"]["added"] == 1

    say(app, talk, "call me Al")
    answers(model, name("call me Al", "Al", 0.6))
    waits = extract(client, talk)
    assert waits["counts"]["in_review"] == 1 and waits["counts"]["superseded"] == 0
    assert client.get("/api/profile").json["name"] == "Alex"

    say(app, talk, "Actually, my full name is Alexander")
    answers(model, name("my full name is Alexander", "Alexander", 0.95))
    corrected = extract(client, talk)
    assert corrected["counts"]["superseded"] == 2  # and what waited beside it
    profile = client.get("/api/profile").json
    assert profile["name"] == "Alexander" and profile["source"] == "llm_extraction"

    (listed,) = client.get("/api/memories").json["memories"]
    assert listed["fact_value"] == "Alexander" and listed["confidence"] == 0.95 and "embedding" not in listed
    history = client.get(f"/api/memories/{listed['memory_id']}/history").json
    assert [row["fact_value"] for row in history["values"]] == ["Alex", "Al", "Alexander"]
    assert history["revisions"][0]["actor"] == "extraction"

    undone = client.post(f"/api/memories/changes/{corrected['change_set']['change_set_id']}/undo")
    assert undone.status_code == 200, undone.json
    assert client.get("/api/profile").json["name"] == "Alex"
    again = client.post(f"/api/memories/changes/{corrected['change_set']['change_set_id']}/undo")
    assert again.status_code == 409


def test_the_evidence_leads_to_the_words(app, client, user, model) -> None:
    talk = converse(app, user.user_id, "By the way, I'm allergic to walnuts!")
    answers(model, operation("I'm allergic to walnuts", "Allergic to walnuts."))
    extract(client, talk)
    (row,) = memories_of(app, user.user_id)
    (found,) = client.get(f"/api/memories/{row.memory_id}/evidence").json["evidence"]
    assert found["quote"] == "I'm allergic to walnuts" and found["conversation_id"] == talk
    (change,) = client.get("/api/memories/changes").json["changes"]
    assert change["cause"] == "extraction" and change["counts"] == {"added": 1}
    assert change["model"] == "test-background" and change["prompt_tokens"] > 100
    assert current(app, user.user_id) == ["Allergic to walnuts."]
