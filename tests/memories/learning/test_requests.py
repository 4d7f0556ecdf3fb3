"""A long conversation is read to its end, over many jobs if need be; it can be stopped, and says how far it came."""

from tests.memories.conversing import answers, converse, current, operation, say
from webapp.memories.learning import extraction, requests

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


def test_all_of_a_long_conversation_is_read_in_jobs_and_the_end_is_told(app, client, user, model, run_jobs) -> None:
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


def test_a_run_that_is_stopped_says_how_far_it_came(app, client, user, model, run_jobs, make_user, api) -> None:
    talk = long_talk(app, user)
    script(model)
    client.post("/api/memories/extract", json={"conversation_id": talk})
    assert api(make_user()).post("/api/memories/extract/stop", json={"conversation_id": talk}).status_code == 404
    assert client.post("/api/memories/extract/stop", json={"conversation_id": talk}).status_code == 204
    run_jobs()
    with app.app_context():
        run = requests.run_of(talk)
    assert run.ended and run.stopped and 0 < run.read < run.of
    assert current(app, user.user_id) == ["Keeps bees in the garden"]


def test_at_once_the_rest_goes_on_as_a_job(app, client, user, model, run_jobs, monkeypatch) -> None:
    monkeypatch.setattr(requests, "SYNC_RUNS", 1)
    monkeypatch.setattr(extraction, "MAX_CALLS", 1)
    talk = long_talk(app, user)
    script(model)
    answer = client.post("/api/memories/extract", json={"conversation_id": talk, "sync": True}).json
    assert answer["job_id"] and answer["counts"]["added"] == 1
    run_jobs()
    assert current(app, user.user_id) == ["Keeps bees in the garden", "Sails a small boat"]
