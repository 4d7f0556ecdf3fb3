"""Digests by jobs and at once: what they make, when nothing is made, what a job's state says."""

from datetime import timedelta

import pytest

from tests.conversations.rows import add_conversation, add_messages
from tests.support.queries import change_row
from webapp.conversations.models import Conversation, Message
from webapp.db.base import db, now, write_transaction
from webapp.digests import generation, service
from webapp.digests.schemas import ConversationMemoryData

DATA = {"main_topics": ["tides"], "action": ["look them up"], "typical_observation": "Asks why."}
NAME = "conversation_digest"


@pytest.fixture
def quiet_id(app, user):
    """A conversation of two messages that has been quiet for two hours."""
    return quiet(app, user)


def quiet(app, user, *, messages=2, **fields):
    """A conversation that has been quiet for two hours."""
    conversation_id = add_conversation(app, user.user_id, at=now() - timedelta(hours=2), **fields)
    if messages:
        add_messages(app, conversation_id, messages)
    return conversation_id


def digest_calls(model):
    """The calls for digests."""
    return [call for call in model.calls() if NAME in str(call)]


def test_a_digest_is_made_from_the_messages_with_the_active_prompt(app, client, model, quiet_id, api, make_user):
    model.script(match=NAME, structured={**DATA, "main_topics": [" tides\n", "", "x" * 400]})
    prompt = {"prompt_text": "Say what it was about.\n{{CONVERSATION}}"}
    admin = api(make_user(is_admin=True))
    assert admin.post("/api/prompts/digests/versions?set_active=1", json=prompt).status_code == 201
    made = client.post(f"/api/tasks/generate-memory-for-conversation/{quiet_id}?sync=true")
    assert made.status_code == 200, made.text
    assert made.json["memory_data"]["main_topics"] == ["tides", "x" * 300], "what is too long is cut, not refused"
    with app.app_context():
        (version,) = service.history(quiet_id)
        assert (version.source, version.prompt_version, version.model) == ("model", "digests/2", "test-background")
        sent = generation.prompt_messages(quiet_id, prompt["prompt_text"])
    assert sent[0]["content"].startswith("Say what it was about.\nEarlier digest: {")
    assert sent[0]["content"].endswith(
        '<message role="user">Message 0</message>\n<message role="assistant">Message 1</message>'
    )
    assert len(digest_calls(model)) == 1


def test_a_job_makes_it_and_says_so(client, model, quiet_id, run_jobs):
    model.script(match=NAME, structured=DATA)
    path = f"/api/tasks/generate-memory-for-conversation/{quiet_id}"
    job_id = client.post(path).json["job_id"]
    assert client.post(path).json["job_id"] == job_id, "one job waits, a second request joins it"
    queued = client.get(f"/api/tasks/{job_id}").json
    assert queued == {"job_id": job_id, "name": "digest", "status": "queued", "result": None, "error": None}
    run_jobs()
    done = client.get(f"/api/tasks/{job_id}").json
    assert (done["status"], done["result"]) == ("finished", {"conversation_id": quiet_id, "version": 1, "is_new": True})
    assert client.get(f"/api/conversations/{quiet_id}/memory").json["memory_data"] == DATA


def test_a_job_that_fails_for_good_says_why_in_our_words(client, model, quiet_id, run_jobs):
    model.script(match=NAME, fault={"http_status": 401, "body": {"error": {"message": "secret sk-123"}}})
    job_id = client.post(f"/api/tasks/generate-memory-for-conversation/{quiet_id}").json["job_id"]
    run_jobs(failures=True)
    found = client.get(f"/api/tasks/{job_id}")
    assert found.json["status"] == "failed"
    assert "did not accept the API key" in found.json["error"]
    assert "sk-123" not in found.text and "Traceback" not in found.text
    assert client.get(f"/api/conversations/{quiet_id}/memory").status_code == 404


def test_without_a_model_or_with_malformed_output_sync_is_503_and_nothing_is_stored(client, model, quiet_id):
    for said in ({"fault": {"http_status": 500}}, {"reply": "no JSON at all"}):
        model.script(match=NAME, **said)
        answer = client.post(f"/api/tasks/generate-memory-for-conversation/{quiet_id}?sync=true")
        assert answer.status_code == 503 and answer.headers["Retry-After"], said
        assert client.get(f"/api/conversations/{quiet_id}/memory").status_code == 404


def test_where_memory_is_off_none_is_made(app, user, client, model):
    for fields in ({"uses_memory": False}, {"is_temporary": True}):
        path = f"/api/tasks/generate-memory-for-conversation/{quiet(app, user, **fields)}?sync=1"
        assert client.post(path).status_code == 409, fields
    assert digest_calls(model) == []


def test_nothing_said_costs_no_call(app, user, client, model):
    conversation_id = quiet(app, user, messages=0)
    made = client.post(f"/api/tasks/generate-memories-for-user/{user.user_id}?include_empty=true&sync=true")
    assert made.json == {"conversation_ids": [conversation_id], "failed": []}
    data = client.get(f"/api/conversations/{conversation_id}/memory").json["memory_data"]
    assert data == {"main_topics": [], "action": [], "typical_observation": ""}
    assert digest_calls(model) == []


def test_filters_of_a_users(app, user, client, model):
    model.script(match=NAME, structured=DATA)
    first, second = quiet(app, user), quiet(app, user)
    path = f"/api/tasks/generate-memories-for-user/{user.user_id}?sync=true"
    assert client.post(f"{path}&clamp=0").json["conversation_ids"] == []
    assert client.post(f"{path}&clamp=1").json["conversation_ids"] == [first]
    assert client.post(path).json["conversation_ids"] == [second]
    assert client.post(path).json["conversation_ids"] == []
    assert client.post(f"{path}&only_needing=false&clamp=-1").json["conversation_ids"] == [first, second]
    assert client.post(f"{path}&clamp=-2").status_code == 422
    assert client.get(f"/api/conversations/{first}/memory").json["version"] == 1, "the same again is no new version"


def test_one_that_fails_costs_no_other(app, user, client, model):
    first, second = quiet(app, user), quiet(app, user)
    with app.app_context(), write_transaction():
        row = db.session.query(Message).filter_by(conversation_id=first).first()
        row.content = "Poison"
    model.script(match=NAME, structured=DATA)
    model.script(match="Poison", fault={"http_status": 500})
    made = client.post(f"/api/tasks/generate-memories-for-user/{user.user_id}?sync=true").json
    assert made == {"conversation_ids": [second], "failed": [first]}


def test_the_nightly_job_queues_one_for_each(app, user, make_user, model, run_jobs, api):
    model.script(match=NAME, structured=DATA)
    found = [quiet(app, user), quiet(app, make_user())]
    watcher = api(make_user(is_service=True))
    job_id = watcher.post("/api/tasks/trigger-memory-generation").json["job_id"]
    assert [job.meta["name"] for job in run_jobs()] == ["digests", "digest", "digest"]
    result = watcher.get(f"/api/tasks/{job_id}").json["result"]
    assert result["conversation_ids"] == found
    states = {watcher.get(f"/api/tasks/{one}").json["status"] for one in result["job_ids"]}
    assert states == {"finished"}
    with app.app_context():
        assert all(service.find_digest(conversation_id) for conversation_id in found)


def test_an_edit_during_the_model_call_stays(app, user, model, quiet_id):
    """Writes while the model is asked: theirs is kept."""
    mine = ConversationMemoryData(main_topics=["mine"], action=[], typical_observation="")

    def somebody_writes(_body):
        with app.app_context(), write_transaction():
            service.upsert_digest(user.user_id, quiet_id, mine)
        return {"structured": DATA}

    model.script(match=NAME, respond=somebody_writes)
    with app.app_context():
        made = generation.generate(quiet_id)
        assert (made.version, made.is_new) == (1, False)
        assert service.get_digest(quiet_id).memory_data["main_topics"] == ["mine"]


def test_a_message_during_the_model_call_leaves_it_stale(app, user, model, quiet_id):
    def somebody_speaks(_body):
        change_row(app, Conversation, quiet_id, updated_at=now() - timedelta(minutes=90))
        return {"structured": DATA}

    model.script(match=NAME, respond=somebody_speaks)
    with app.app_context():
        generation.generate(quiet_id)
        assert service.conversations_to_digest(None, idle=timedelta(hours=1)) == [quiet_id]


def test_what_the_user_corrected_is_shown_to_the_model(app, user, model, quiet_id):
    model.script(match=NAME, structured=DATA)
    with app.app_context():
        with write_transaction():
            service.upsert_digest(user.user_id, quiet_id, ConversationMemoryData(**DATA))
        text = generation.prompt_messages(quiet_id, "{{CONVERSATION}}")[0]["content"]
        assert text.startswith('Earlier digest as corrected by the user: {"main_topics": ["tides"]')


def test_jobs_unknown_and_forgotten(client, servers, quiet_id):
    for unknown in ("0000", "with%20blank", "00000000-0000-4000-8000-000000000000"):
        assert client.get(f"/api/tasks/{unknown}").status_code == 404
    job_id = client.post(f"/api/tasks/generate-memory-for-conversation/{quiet_id}").json["job_id"]
    servers.flush_redis()
    assert client.get(f"/api/tasks/{job_id}").status_code == 404
