""" "Extract memories" in a legacy: all of a conversation is read for facts about its person, job after job."""

import json
import re

import pytest
from sqlalchemy import select

from tests.spaces.helpers import converse, facts, fill, make_space
from tests.support.queries import change_row, get_row
from webapp.conversations.models import Conversation, Message
from webapp.db.base import add_row, db, now, write_transaction
from webapp.legacies.extraction_prompt import CALL_MESSAGES
from webapp.memories.learning import requests

HTMX = {"HX-Request": "true"}


def fact(quote: str, message: int, content: str = "", category: str = "other") -> dict:
    return {"category": category, "content": content or quote, "message": message, "quote": quote}


def fact_calls(model) -> list[dict]:
    return [call for call in model.calls() if call["schema"] == "legacy_facts"]


@pytest.fixture
def talk(app, client) -> int:
    """A conversation of 100 messages about Ylva, in which every tenth tells something."""
    space = make_space(client, "Ylva")
    talk = converse(client, space)
    said = [f"Ylva kept bees in hive number {n} of the old farm." if n % 10 == 0 else f"Hm, {n}." for n in range(100)]
    fill(app, talk, *said, count=100)
    return talk


def space_of(app, talk: int) -> int:
    return get_row(app, Conversation, talk).space_id


def from_the_words(body: dict) -> dict:
    """Answer with every sentence about Ylva that the call shows."""
    told = re.findall(r'n="(\d+)" role="user"[^>]*>(Ylva[^<]*)<', body["messages"][-1]["content"])
    return {"structured": {"facts": [fact(text, int(n)) for n, text in told]}}


def test_all_of_a_conversation_is_read_and_the_account_of_it_is_honest(app, client, user, model, talk, run_jobs):
    model.script(match="legacy_facts", respond=from_the_words)
    answer = client.post("/api/memories/extract", json={"conversation_id": talk})
    assert answer.status_code == 202, answer.text
    run_jobs()
    assert len(fact_calls(model)) == 100 // CALL_MESSAGES
    assert len(facts(client, space_of(app, talk))) == 10
    with app.app_context():
        run = requests.run_of(talk)
    assert (run.read, run.of, run.ended, run.counts["added"]) == (100, 100, True, 10)
    # Asked again, all is read again and nothing is kept twice.
    client.post("/api/memories/extract", json={"conversation_id": talk})
    run_jobs()
    assert len(facts(client, space_of(app, talk))) == 10


def test_it_ends_when_it_is_told_to_and_says_where(app, client, user, model, talk, run_jobs, browser):

    def stop_on_the_way(body: dict) -> dict:
        with app.app_context():
            requests.stop(user.user_id, talk)
        return from_the_words(body)

    model.script(match="legacy_facts", respond=stop_on_the_way)
    client.post("/api/memories/extract", json={"conversation_id": talk})
    run_jobs()
    with app.app_context():
        run = requests.run_of(talk)
    assert run.stopped and run.ended and 0 < run.read < 100
    page = browser.get(f"/c/{talk}/memory/extract/{run.job_id}", headers=HTMX).text
    assert f"Stopped after {run.read} of 100 messages." in page


def test_a_failure_on_the_way_says_what_is_kept(app, client, model, talk, run_jobs, browser):
    model.script(match="legacy_facts", structured={"facts": []}, fault={"http_status": 401})
    model.script(match="legacy_facts", respond=from_the_words, times=4)  # those of the first job
    client.post("/api/memories/extract", json={"conversation_id": talk})
    run_jobs(failures=True)
    with app.app_context():
        run = requests.run_of(talk)
    assert run.read == 80 and not run.ended
    page = browser.get(f"/c/{talk}/memory/extract/{run.job_id}", headers=HTMX).text
    assert "The model failed after 80 of 100 messages" in page and "+8" in page and "did not accept the API key" in page
    assert len(facts(client, space_of(app, talk))) == 8


def test_a_cut_answer_goes_on_where_it_was_cut(app, client, model, run_jobs):
    space = make_space(client, "Ylva")
    talk = converse(client, space)
    fill(app, talk, "Ylva kept bees on the farm.", "Ylva sang in the choir of Lund.", "Ylva was born in 1931.", count=3)
    whole = json.dumps({"facts": [fact("Ylva kept bees on the farm.", 1), fact("Ylva sang in the choir of Lund.", 2)]})
    model.script(match="legacy_facts", respond=from_the_words)
    model.script(match="legacy_facts", reply=whole[:-30], finish_reason="length", times=1)
    answer = client.post("/api/memories/extract", json={"conversation_id": talk, "sync": True})
    assert answer.status_code == 200, answer.text
    assert len(facts(client, space)) == 3
    first, second = (call["messages"][-1]["content"] for call in fact_calls(model))
    assert "kept bees" in first and "kept bees" not in second and "sang in the choir" in second


def test_an_answer_that_tells_nothing_before_it_is_cut_is_not_asked_for_again(app, client, model, run_jobs):
    space = make_space(client, "Ylva")
    talk = converse(client, space)
    fill(app, talk, *(f"Ylva lived in house number {n} of Lund." for n in range(4)), count=4)
    model.script(match="legacy_facts", reply='{"facts": [{"cat', finish_reason="length")
    result = client.post("/api/memories/extract", json={"conversation_id": talk, "sync": True})
    assert result.status_code == 200, result.text
    sizes = [call["messages"][-1]["content"].count("<message ") for call in fact_calls(model)]
    assert sizes == [4, 2, 1, 3, 1, 2, 1, 1], sizes
    sent = [call["messages"][-1]["content"] for call in fact_calls(model)]
    assert len(set(sent)) == len(sent)


def test_read_only_and_switched_off_it_is_refused(app, client, model, talk):
    model.script(match="legacy_facts", structured={"facts": None})
    answer = client.post("/api/memories/extract", json={"conversation_id": talk, "sync": True})
    assert answer.status_code == 200, answer.text
    assert not facts(client, space_of(app, talk)), "null is an empty list"
    model.reset()
    change_row(app, Conversation, talk, makes_memory=False)
    assert client.post("/api/memories/extract", json={"conversation_id": talk}).status_code == 409
    change_row(app, Conversation, talk, makes_memory=True, uses_memory=False)
    assert client.post("/api/memories/extract", json={"conversation_id": talk}).status_code == 409
    assert fact_calls(model) == []


def test_what_a_reply_is_being_written_to_waits(app, client, model):
    space = make_space(client, "Ylva")
    talk = converse(client, space)
    ids = fill(app, talk, "Ylva kept bees on the farm.", count=1)
    with app.app_context(), write_transaction():
        later = add_row(Message(conversation_id=talk, role="user", content="Ylva sang.", created_at=now()))
        reply = {"role": "assistant", "content": "", "status": "streaming", "reply_to_id": later.message_id}
        db.session.add(Message(conversation_id=talk, created_at=now(), **reply))
    model.script(match="legacy_facts", respond=from_the_words)
    client.post("/api/memories/extract", json={"conversation_id": talk, "sync": True})
    (call,) = fact_calls(model)
    assert "sang" not in call["messages"][-1]["content"]
    with app.app_context(), write_transaction():  # nothing is left to be written
        for row in db.session.scalars(select(Message).where(Message.message_id > ids[-1])):
            row.status = "complete"


def test_the_fake_model_finds_facts_in_a_legacy(app, client, user, model):
    space = make_space(client, "Rosa Almeida")
    talk = converse(client, space)
    fill(app, talk, "Rosa was born in Porto in 1921. Rosa taught at the village school.", count=1)
    answer = client.post("/api/memories/extract", json={"conversation_id": talk, "sync": True})
    assert answer.status_code == 200, answer.text
    assert set(facts(client, space)) == {"Rosa was born in Porto in 1921.", "Rosa taught at the village school."}
