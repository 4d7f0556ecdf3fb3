"""The product while no model is connected: the screen tour says so, and what it cannot read waits for a model."""

import logging
import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select, update

from testkit.people import ApiClient
from tests.journeys.rows import ask, begin, load, points, write_fixture
from tests.support.queries import scalar
from tests.tour.test_answers import NOT_LEARNED
from webapp.background.job_specs import JOBS, Queue, rq_queue
from webapp.background.queues import enqueue
from webapp.chat.start_pages import TOUR_STARTERS
from webapp.conversations.models import Conversation
from webapp.db.base import db, now, write_transaction
from webapp.llm.complete import CompletionClient
from webapp.llm.errors import NoModel
from webapp.providers.catalogue import catalogue
from webapp.shell.upkeep import MODEL_JOBS, sweep
from webapp.summaries import overviews
from webapp.tour import answers

QUESTION = "I'm Sam, I live in Leeds. My daughter is 4 and allergic to peanuts. What could we cook tonight?"


@pytest.fixture
def offline_launch(app: Flask, address: str) -> Iterator[pytest.MonkeyPatch]:
    """The application as the launcher starts it when nothing names a model; `undo()` connects the scripted one."""
    named = {"openai_base_url": address, "chat_model": answers.MODEL, "background_model": answers.MODEL}
    settings = app.extensions["settings"].model_copy(update={"offline_model": True, **named})
    completions = CompletionClient(settings.model)
    with pytest.MonkeyPatch.context() as patch:
        catalogue.forget()
        patch.setitem(app.extensions, "settings", settings)
        patch.setitem(app.extensions, "completions", completions)
        yield patch
    completions.close()


def say(client: ApiClient, text: str, conversation_id: int | None = None) -> dict[str, Any]:
    """The finished reply to a message, in a new conversation unless one is named."""
    if conversation_id is None:
        conversation_id = client.post("/api/conversations", json={}).get_json()["conversation_id"]
    sent = client.post(f"/api/conversations/{conversation_id}/messages", json={"content": text}).get_json()
    reply = client.get(f"/api/messages/{sent['message']['message_id']}/response?wait=20").get_json()
    return {**reply, "conversation_id": conversation_id}


def memories(client: ApiClient) -> list[str]:
    """What is remembered, as it is worded."""
    return [row["content"] for row in client.get("/api/memories").get_json()["memories"]]


def count_jobs(app: Flask) -> int:
    """The number of jobs in all queues, now or for a later try."""
    queues = [rq_queue(app.extensions["redis"], queue) for queue in Queue]
    return sum(queue.count + queue.scheduled_job_registry.count for queue in queues)


def test_a_reply_says_in_the_readers_language_that_no_model_is_connected(offline_launch, client, api, make_user):
    client.put("/api/account", json={"settings": {"language": "de"}})
    reply = str(say(client, QUESTION))
    assert "Es ist noch kein Sprachmodell verbunden" in reply and "Bitte einen Admin" in reply
    assert "a model on this computer" in str(say(api(make_user(is_admin=True)), QUESTION))


def test_a_banner_leads_an_admin_to_where_a_model_is_connected_and_asks_others_to_ask_one(
    offline_launch, api, login, make_user
):
    banners = {}
    for is_admin in (True, False):
        person = make_user(is_admin=is_admin)
        talk = say(api(person), QUESTION)["conversation_id"]
        say(api(person), QUESTION, talk)  # on every page that chats, not only in the first minutes
        for path in ("/", f"/c/{talk}"):
            found = re.search(r'id="no-model">.*?</div>\s*</div>', login(person).get(path).text, re.DOTALL)
            assert found and "No language model connected." in found[0]
            banners[is_admin] = found[0]
    assert 'href="/admin/models/new"' in banners[True] and "<a " not in banners[False]
    assert "Ask your administrator" in banners[False]


def test_an_example_is_shown_to_those_who_ask_for_it(offline_launch, client):
    assert "```python" in str(say(client, TOUR_STARTERS[0].draft))
    assert "```" not in str(say(client, "Show me a Python program."))


def test_the_introduction_is_remembered_word_for_word_and_nothing_else_is(offline_launch, client, run_jobs):
    said = "My name is Sam Okoro.\nI live in Leeds.\nI work as …\nI am allergic to peanuts."
    talk = say(client, said)["conversation_id"]
    run_jobs()
    assert sorted(memories(client)) == ["I am allergic to peanuts.", "I live in Leeds.", "My name is Sam Okoro."]
    assert client.get(f"/api/conversations/{talk}").get_json()["title"].startswith("My name is Sam Okoro.")
    for text in NOT_LEARNED[::16]:
        say(client, text)
    run_jobs()
    assert len(memories(client)) == 3


def test_what_it_cannot_read_is_titled_by_its_first_words_and_read_once_a_model_is_connected(
    offline_launch, app, client, run_jobs, model
):
    talk = say(client, QUESTION)["conversation_id"]
    run_jobs()
    assert client.get(f"/api/conversations/{talk}").get_json()["title"] == "I'm Sam, I live in Leeds.…"
    with app.app_context():
        assert db.session.scalar(select(Conversation.extraction_due).where(Conversation.conversation_id == talk))
        with write_transaction():
            long_ago = {"updated_at": now() - timedelta(hours=1)}
            db.session.execute(update(Conversation).where(Conversation.conversation_id == talk).values(long_ago))
        assert sweep()["extract"] == 0
        assert count_jobs(app) == 0
        offline_launch.undo()
        assert sweep()["extract"] == 1
    run_jobs()
    assert not scalar(app, select(Conversation.extraction_due).where(Conversation.conversation_id == talk))
    for place in (talk, None):  # the tour's reply says nothing to a model, neither there nor where it would be found
        say(client, QUESTION, place)
        asked = str([call["messages"] for call in model.calls() if call["stream"]][-1])
        assert asked.count("allergic to peanuts") > 1 and "No language model" not in asked


def test_no_job_fails_or_is_tried_again_for_want_of_a_model(offline_launch, app, client, run_jobs, anonymous, caplog):
    settings = app.extensions["settings"]
    offline_launch.setitem(app.extensions, "settings", settings.model_copy(update={"summary_threshold": 4}))
    talk = client.post("/api/conversations", json={}).get_json()["conversation_id"]
    for number in range(4):
        say(client, f"What about number {number}?", talk)
    run_jobs()
    assert count_jobs(app) == 0
    with app.app_context():
        assert db.session.scalar(select(Conversation.summary_due).where(Conversation.conversation_id == talk))
        sweep()
    assert count_jobs(app) == 0
    assert not [record.message for record in caplog.records if record.levelno >= logging.WARNING]
    assert 'outcome="failed"' not in anonymous.get("/metrics").text


def test_nothing_is_asked_at_night(offline_launch, app, client, run_jobs):
    idle = app.extensions["settings"].model_copy(update={"digest_idle_minutes": 0})
    offline_launch.setitem(app.extensions, "settings", idle)
    talk = say(client, "My name is Sam.")["conversation_id"]
    offline_launch.setattr(overviews, "conversations_awaiting_overview", lambda: [talk])
    run_jobs()
    for nightly in ("digests", "overviews", "tidying"):
        with app.app_context():
            enqueue(nightly)
        assert [job.meta["name"] for job in run_jobs()] == [nightly]


def test_work_that_needs_a_model_is_known_to_the_sweep():
    assert all(JOBS[name].model_calls for name in MODEL_JOBS)


def test_a_digest_on_demand_says_what_is_missing(offline_launch, app, client, user):
    talk = say(client, QUESTION)["conversation_id"]
    answer = client.post(f"/api/tasks/generate-memory-for-conversation/{talk}?sync=true")
    assert (answer.status_code, answer.get_json()["detail"]) == (503, NoModel.default_detail)


def test_a_journeys_point_is_opened_with_the_same_sentence(offline_launch, app, tmp_path, client, run_jobs):
    load(app, write_fixture(tmp_path / "fixtures"))
    talk = begin(client)
    assert "No language model is connected" in str(ask(client, talk, "place"))
    say(client, "I live in Leeds.", talk)
    run_jobs()
    assert points(client, talk)["progress"]["addressed"] == 0 and memories(client) == []


def test_the_first_screen_offers_what_the_tour_can_do(offline_launch, browser):
    cards = browser.get("/").text
    assert cards.count('data-suggest="') == len(TOUR_STARTERS)
    assert all(card.title in cards for card in TOUR_STARTERS)
    assert "No language model connected." in browser.get("/").text
