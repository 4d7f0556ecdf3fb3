"""Schedules that a model proposes: shown under its reply, made with one click, never without."""

import asyncio
import html
from typing import Any

import pytest
from sqlalchemy import func, select

from fakemodel.testing import ServerHandle
from testkit.people import ApiClient, csrf_token
from tests.memories.conversing import answers, converse, current, operation
from tests.tools.test_turns import calls_tool, send
from webapp.chat.service import edit_message
from webapp.conversations.models import Message
from webapp.db.base import db, now
from webapp.memories.learning import extraction
from webapp.schedules import service
from webapp.tools.registry import BUILT_IN
from webapp.tools.toolset import ToolContext

CALL = {"message": "Call the clinic", "at": "2036-12-03T09:00", "repeat": "once"}


def propose(client: ApiClient, model: ServerHandle, **fields: Any) -> dict[str, Any]:
    calls_tool(model, "propose_schedule", **{**CALL, **fields})
    reply = send(client, "Remind me on the 3rd to call the clinic")
    (call,) = reply["tool_calls"]
    return {**reply, "output": call["output"]}


def test_it_is_shown_and_made_with_one_click(client, model, browser):
    client.put("/api/account", json={"settings": {"timezone": "Europe/Lisbon"}})
    reply = propose(client, model)
    assert reply["output"]["status"] == "proposed"
    assert client.get("/api/schedules").json["schedules"] == [], "nothing is made without the person"
    place = f"/c/{reply['conversation_id']}"
    page = browser.get(place).text
    assert "Schedule this?" in page and "Call the clinic" in page
    form = {"prompt": "Call the clinic", "at": CALL["at"], "repeat": "once", "timezone": "Europe/Lisbon"}
    assert all(f'name="{name}" value="{value}"' in page for name, value in form.items())
    change = "/schedules/new?prompt" + page.partition("/schedules/new?prompt")[2].partition('"')[0]
    prefilled = browser.get(html.unescape(change)).text
    assert "Call the clinic" in prefilled and 'value="2036-12-03T09:00"' in prefilled
    sent = {**form, "csrf_token": csrf_token(page)}
    answer = browser.post("/schedules/new", data=sent, headers={"HX-Request": "true"})
    assert answer.status_code == 200 and "Scheduled: Call the clinic" in answer.text and "<form" not in answer.text
    (made,) = client.get("/api/schedules").json["schedules"]
    assert (made["at"], made["timezone"]) == ("2036-12-03T09:00:00.000000Z", "Europe/Lisbon")
    page = browser.get(place).text
    assert "Scheduled: Call the clinic" in page and "Schedule this?" not in page
    late = browser.post("/schedules/new", data={**sent, "at": "2020-01-01T10:00"}, headers={"HX-Request": "1"})
    assert late.status_code == 422 and "has passed" in late.text


@pytest.mark.cases("fields", "why")
def test_what_cannot_be_scheduled_is_explained_to_the_model(fields, why):
    (tool,) = (tool for tool in BUILT_IN if tool.name == "propose_schedule")
    assert tool.run is not None
    output = asyncio.run(tool.run({**CALL, **fields}, ToolContext(now())))
    assert output["status"] == "error" and why in output["detail"]


def test_a_time_with_a_zone_becomes_the_persons_own(client, model):
    client.put("/api/account", json={"settings": {"timezone": "Asia/Tokyo"}})
    schedule = propose(client, model, at="2036-12-03T09:00:00Z", repeat="weekly")["output"]["schedule"]
    assert schedule == {
        "prompt": "Call the clinic", "at": "2036-12-03T18:00", "timezone": "Asia/Tokyo", "repeat": "weekly",
    }  # fmt: skip


def test_a_record_from_elsewhere_proposes_nothing_unless_it_could_be_made(app, user):
    calls: list[Any] = [
        {"tool_name": "propose_schedule"},
        {"tool_name": "propose_schedule", "output": "proposed"},
        {"tool_name": "propose_schedule", "output": {"status": "proposed"}},
        {"tool_name": "propose_schedule", "output": {"status": "proposed", "schedule": {"prompt": ""}}},
        {"tool_name": "other", "output": {"status": "proposed", "schedule": {"prompt": "x", "at": CALL["at"]}}},
    ]
    with app.app_context():
        assert service.proposed_by(user.user_id, calls) == [] == service.proposed_by(user.user_id, None)


def test_one_that_was_stored_in_earlier_words_can_still_be_made(app, user):
    earlier = {"content": "once", "starts_at": CALL["at"], "zone": "Asia/Tokyo", "repeat": "once"}
    call = {"tool_name": "propose_schedule", "output": {"status": "proposed", "schedule": earlier}}
    with app.app_context():
        (found,) = service.proposed_by(user.user_id, [call])
    assert found.form == {"prompt": "once", "at": CALL["at"], "timezone": "Asia/Tokyo", "repeat": "once"}
    assert found.at.isoformat() == "2036-12-03T00:00:00+00:00"


def test_what_a_schedule_says_of_its_person_can_be_remembered(client, model, run_jobs):
    calls_tool(model, "remember", content="Is training for a marathon", quote="I am training for a marathon")
    body = {"prompt": "I am training for a marathon. Plan my week.", "at": "2036-12-01T18:00"}
    number = client.post("/api/schedules", json=body).json["schedule_id"]
    client.post(f"/api/schedules/{number}/run")
    run_jobs()
    assert client.get(f"/api/schedules/{number}/runs").json["runs"][0]["status"] == "done"
    (kept,) = client.get("/api/memories").json["memories"]
    assert kept["content"] == "Is training for a marathon"


def test_what_it_says_again_was_said_when_it_was_sent_first(app, client, user, model, run_jobs):
    def lives_in(place: str) -> dict[str, Any]:
        fact = {"fact_key": "home", "fact_value": place, "confidence": 1.0}
        return operation(f"I live in {place}", f"Lives in {place}", **fact)

    def send_it() -> None:
        client.post(f"/api/schedules/{number}/run")
        run_jobs()

    body = {"prompt": "I live in Rome. Will it rain?", "at": "2036-12-01T18:00"}
    number = client.post("/api/schedules", json=body).json["schedule_id"]
    answers(model, lives_in("Rome"), times=None)
    send_it()
    assert current(app, user.user_id) == ["Lives in Rome"]
    answers(model, lives_in("Oslo"))
    with app.app_context():
        extraction.extract(converse(app, user.user_id, "I live in Oslo now"))
    for _again in range(2):
        send_it()
        assert current(app, user.user_id) == ["Lives in Oslo"]
    with app.app_context():
        sent = db.session.scalar(select(func.max(Message.message_id)).where(Message.content == body["prompt"]))
        edited = edit_message(user.user_id, sent, body["prompt"] + " Tell me.").question
        assert edited.said_at == edited.created_at, "what is edited is said now"
        db.session.rollback()
    client.patch(f"/api/schedules/{number}", json={"prompt": "I live in Rome again. Will it rain?"})
    send_it()
    assert current(app, user.user_id) == ["Lives in Rome"]
