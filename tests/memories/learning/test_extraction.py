"""Extraction through the API and the queue, with a scripted model."""

from zoneinfo import ZoneInfo

from tests.memories.conversing import answers, converse, current, memories_of, name, operation, say
from webapp.conversations.models import Message
from webapp.db.base import db, now
from webapp.i18n.dates import full_date
from webapp.memories.learning import extraction, requests
from webapp.memories.store.tombstones import readable_transcript


def extract(client, conversation_id: int) -> dict:
    answer = client.post("/api/memories/extract", json={"conversation_id": conversation_id, "sync": True})
    assert answer.status_code == 200, answer.json
    return answer.json


def learn(client, model, conversation_id: int, *statements: dict) -> dict:
    """Let a conversation be read, of which the model says this."""
    answers(model, *statements)
    return extract(client, conversation_id)


def test_alex_stays_alex_until_the_full_name_corrects_it_and_undo_brings_alex_back(app, client, user, model):
    talk = converse(app, user.user_id, "My name is Alex")
    assert learn(client, model, talk, name("My name is Alex", "Alex", 1.0))["counts"]["added"] == 1

    say(app, talk, "call me Al")
    waits = learn(client, model, talk, name("call me Al", "Al", 0.6))
    assert waits["counts"]["in_review"] == 1 and waits["counts"]["superseded"] == 0
    assert client.get("/api/profile").json["name"] == "Alex"

    say(app, talk, "Actually, my full name is Alexander")
    corrected = learn(client, model, talk, name("my full name is Alexander", "Alexander", 0.95))
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


def test_what_was_said_again_stands_once_when_its_end_is_undone(app, client, user, model):
    talk = converse(app, user.user_id, "I have a dog")
    learn(client, model, talk, operation("I have a dog"))
    say(app, talk, "I no longer have a dog")
    ended = learn(client, model, talk, operation("I no longer have a dog", action="retract", memory=1))
    assert ended["counts"]["retracted"] == 1
    say(app, talk, "I have a dog, once more")
    learn(client, model, talk, operation("I have a dog"))
    assert client.post(f"/api/memories/changes/{ended['change_set']['change_set_id']}/undo").status_code == 200
    assert current(app, user.user_id) == ["I have a dog"]


def test_the_evidence_leads_to_the_words_of_a_day_in_the_persons_time_zone(app, client, user, model, run_jobs):
    zone = "Etc/GMT-14" if now().hour >= 12 else "Etc/GMT+12"  # which has not the date of UTC now
    client.put("/api/account", json={"settings": {"timezone": zone}})
    talk = converse(app, user.user_id, "By the way, I'm allergic to walnuts!")
    learn(client, model, talk, operation("I'm allergic to walnuts", "Allergic to walnuts."))
    (row,) = memories_of(app, user.user_id)
    (found,) = client.get(f"/api/memories/{row.memory_id}/evidence").json["evidence"]
    assert found["quote"] == "I'm allergic to walnuts" and found["conversation_id"] == talk
    (change,) = client.get("/api/memories/changes").json["changes"]
    assert change["cause"] == "extraction" and change["counts"] == {"added": 1}
    assert change["model"] == "test-background" and change["prompt_tokens"] > 100
    assert current(app, user.user_id) == ["Allergic to walnuts."]
    run_jobs()
    client.post("/api/chat/stream", json={"message": "By the way, am I allergic to walnuts?"}).get_data()
    with app.app_context():
        said = db.session.query(Message).filter_by(conversation_id=talk, role="user").one()
        day = said.said_at.astimezone(ZoneInfo(zone)).date()
        assert readable_transcript(user.user_id, [said])[0].at.date() == day, "in summaries, too"
    asked = {call["schema"]: call["messages"][-1]["content"] for call in model.calls() if call["messages"]}
    assert f'"date": "{day}"' in asked["memory_operations"] and f'on="{full_date(day)} in' in asked[None]


TURNS = 30


def long_talk(app, user) -> int:
    """A conversation whose messages take several calls, with something to keep at both ends."""
    said = ["I keep bees in the garden.", *[f"Filler number {n}. " + "word " * 600 for n in range(TURNS)]]
    talk = converse(app, user.user_id, *said)
    say(app, talk, "I sail a small boat.")
    return talk


def script(model) -> None:
    """Whatever is read, the two statements are found where they stand."""
    bees = operation("I keep bees in the garden", "Keeps bees in the garden")
    boat = operation("I sail a small boat", "Sails a small boat")
    answers(model, bees, boat, times=None)


def test_all_of_a_long_conversation_is_read_in_jobs_and_the_end_is_told(app, client, user, model, run_jobs):
    talk = long_talk(app, user)
    script(model)
    queued = client.post("/api/memories/extract", json={"conversation_id": talk})
    assert queued.status_code == 202
    jobs = run_jobs()
    assert len([job for job in jobs if job.meta["name"] == "extract"]) > 1
    assert current(app, user.user_id) == ["Keeps bees in the garden", "Sails a small boat"]
    with app.app_context():
        run = requests.run_of(talk)
    assert run.ended and (run.read, run.of) == (TURNS + 2, TURNS + 2) and run.counts["added"] == 2
    # Read again from the start it is all of it once more, and nothing new.
    client.post("/api/memories/extract", json={"conversation_id": talk})
    run_jobs()
    with app.app_context():
        again = requests.run_of(talk)
    assert again.ended and again.read == TURNS + 2 and again.counts["added"] == 0


def test_a_run_that_is_stopped_says_how_far_it_came(app, client, user, model, run_jobs):
    talk = long_talk(app, user)
    script(model)
    client.post("/api/memories/extract", json={"conversation_id": talk})
    assert client.post("/api/memories/extract/stop", json={"conversation_id": talk}).status_code == 204
    run_jobs()
    with app.app_context():
        run = requests.run_of(talk)
    assert run.ended and run.stopped and 0 < run.read < run.of
    assert current(app, user.user_id) == ["Keeps bees in the garden"]


def test_at_once_the_rest_goes_on_as_a_job(app, client, user, model, run_jobs, monkeypatch):
    monkeypatch.setattr(requests, "SYNC_RUNS", 1)
    monkeypatch.setattr(extraction, "MAX_CALLS", 1)
    talk = long_talk(app, user)
    script(model)
    answer = client.post("/api/memories/extract", json={"conversation_id": talk, "sync": True}).json
    assert answer["job_id"] and answer["counts"]["added"] == 1
    run_jobs()
    assert current(app, user.user_id) == ["Keeps bees in the garden", "Sails a small boat"]
