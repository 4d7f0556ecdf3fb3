"""Opening points and assessing them: the whole way through the API, with a scripted model."""

import copy
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import func, select

from fakemodel.testing import ServerHandle
from testkit.people import page_token
from tests.conversations.test_api import assert_problem
from tests.journeys.rows import SMALL, ask, assessment, begin, extraction, load, points, say, wait, write_fixture
from tests.memories.conversing import operation
from tests.support.queries import scalar
from webapp.conversations.models import Message
from webapp.db.base import write_transaction
from webapp.usage.service import QuotaFields, set_quotas

SAID = "My garden is a balcony of six square metres with sun in the afternoon."
QUOTE = "a balcony of six square metres"


def background(model: ServerHandle) -> list[dict[str, Any]]:
    """The calls to the background model, embeddings aside."""
    return [call for call in model.calls() if call["model"] == "test-background"]


def test_a_conversation_is_named_after_its_journey_and_begins_with_its_first_point(guided, client):
    assert client.get("/api/journeys").json["journeys"] == [
        {"slug": "garden", "title": "A garden", "description": "What to plant."}
    ]
    detail = client.get("/api/journeys/garden").json
    assert [point["slug"] for point in detail["points"]] == ["place", "wishes"]
    assert detail["points"][0]["example_questions"] == SMALL["points"][0]["example_questions"]
    client.post("/api/conversations", json={})
    found = client.get(f"/api/conversations/{guided}").json
    assert (found["title"], found["journey"]) == ("A garden", "garden")
    listed = client.get("/api/conversations?journey=garden").json["conversations"]
    assert [row["conversation_id"] for row in listed] == [guided]
    assert client.get("/api/conversations?journey=unknown").json["conversations"] == []
    assert_problem(client.post("/api/conversations", json={"journey": "unknown"}), 404)
    stands = points(client, guided)
    assert stands["progress"] == {"addressed": 0, "total": 2}
    assert (stands["next_point"], stands["all_addressed"]) == ("place", False)
    place = stands["by"]["place"]
    assert place["curiosity_prompt"] == SMALL["points"][0]["curiosity_prompt"]
    assert place["completion_criteria"] == ["The size is known"]
    assert (place["is_addressed"], place["confidence_score"], place["evidence"]) == (False, 0.0, [])
    assert client.get(f"/memory/conversation/{guided}/points").json["points"] == stands["points"]


def test_the_assistant_opens_a_point_with_the_documented_task(guided, client, model):
    model.script(match="## Your Task", reply="How large is your garden?")
    model.script(fault={"strict_roles": True})
    question = ask(client, guided, "place")
    assert (question["role"], question["content"]) == ("assistant", "How large is your garden?")
    assert question["custom_payload"] == {"point": "place"}
    assert "assistant_initiated/" in question["prompt_version"]
    sent = [call["messages"] for call in model.calls() if "## Your Task" in str(call)][-1]
    task = sent[-1]["content"]
    parts = [
        "## Conversation Point: The place\nHow large and how sunny it is.",
        "## Your Goals for This Discussion\n- Size of the garden\n- Hours of sun",
        "## Example Questions You Could Adapt\n- How large is your garden?\n- How much sun does it get?",
        "## What You Already Know About This Topic",
        "## Your Task\nAsk ONE clear question that helps achieve your goals.",
    ]
    assert [task.index(part) for part in parts] == sorted(task.index(part) for part in parts)
    assert SMALL["system_prompt"] in sent[0]["content"]
    assert points(client, guided)["by"]["place"]["manually_initiated"] is True


def test_a_double_click_gives_the_same_question_until_it_is_answered(app, guided, client, model):
    model.script(match="## Your Task", tokens=30, tokens_per_second=60, times=1)
    path = f"/memory/conversation/{guided}/points/place/initiate/"
    first, second = (client.post(path, headers={"Idempotency-Key": "once"}).json for _ in range(2))
    third = client.post(path).json
    wait(client, first["response_id"])
    fourth = client.post(path).json
    assert first == second == third == fourth
    assert scalar(app, select(func.count()).select_from(Message)) == 1
    other = client.post(path.replace("place", "wishes")).json
    assert other != first
    wait(client, other["response_id"])
    say(client, guided, SAID)
    assert ask(client, guided, "place")["message_id"] != first["response_id"]
    with app.app_context(), write_transaction():
        set_quotas(None, [QuotaFields(period="day", tokens=0)])
    assert client.post(path.replace("place", "wishes")).status_code == 429


def test_clicks_at_the_same_moment_give_the_same_question(guided, api, user, client):
    path = f"/memory/conversation/{guided}/points/place/initiate/"
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: api(user).post(path), range(6)))
    assert {answer.status_code for answer in answers} == {202}
    ids = {answer.json["response_id"] for answer in answers}
    assert len(ids) == 1
    wait(client, ids.pop())


def test_regenerating_and_retrying_a_question(guided, client, model):
    first = ask(client, guided, "place")
    again = client.post(f"/api/chat/turns/{first['message_id']}/regenerate")
    assert again.status_code == 202, again.text
    second = wait(client, again.json["response_id"])
    assert second["custom_payload"] == {"point": "place"}
    versions = client.get(f"/api/messages/{second['message_id']}/versions").json["versions"]
    assert [row["is_current"] for row in versions] == [False, True]
    model.script(match="## Your Task", fault={"http_status": 500}, times=1)
    failed = ask(client, guided, "wishes")
    assert failed["status"] == "failed"
    retried = client.post(f"/api/chat/turns/{failed['message_id']}/retry")
    assert wait(client, retried.json["response_id"])["status"] == "complete"


def test_one_background_call_assesses_all_open_points(guided, client, model, run_jobs, learn):
    ask(client, guided, "place")
    run_jobs()
    before = len(background(model))
    said = learn(
        guided,
        SAID,
        assessment(1, QUOTE, says="A balcony of 6 m²", size="6 m²"),
        assessment(2, "sun in the afternoon", sure=0.3),
    )
    assert len(background(model)) - before == 1
    found = points(client, guided)
    place, wishes = found["by"]["place"], found["by"]["wishes"]
    assert (place["is_addressed"], place["confidence_score"]) == (True, 0.9)
    assert (place["completion"], place["confidence"]) == (True, 0.9)
    assert (place["extracted_points"], place["relevant_quotes"]) == (["A balcony of 6 m²"], [QUOTE])
    assert place["structured_data"] == {"size": "6 m²"}
    assert [item["message_id"] for item in place["evidence"]] == [said["message_id"]]
    assert place["evidence"][0]["from_other_conversation"] is False
    assert place["first_addressed_at"] is not None
    assert place["message_count_analyzed"] == 1
    assert (wishes["is_addressed"], wishes["confidence_score"]) == (False, 0.3)
    assert (found["next_point"], found["progress"]["addressed"]) == ("wishes", 1)
    assert '"complete_when": ["The size is known"]' in str(background(model)[-1]["messages"][-1]["content"])


def test_later_assessments_merge_and_quotes_nobody_said_count_for_nothing(guided, client, model, run_jobs, learn):
    learn(guided, SAID, assessment(1, "a garden of two hectares"), assessment(7, QUOTE))
    assert points(client, guided)["by"]["place"]["confidence_score"] == 0.0
    learn(guided, SAID, assessment(1, QUOTE, sure=0.5, says="Six square metres"))
    learn(
        guided,
        "There is sun from two to seven in summer.",
        assessment(1, "sun from two to seven", says="Sun from two to seven"),
    )
    place = points(client, guided)["by"]["place"]
    assert place["confidence_score"] == pytest.approx(0.7)
    assert place["extracted_points"] == ["Six square metres", "Sun from two to seven"]
    assert place["is_addressed"] is True
    say(client, guided, "I want tomatoes and nothing else to grow there, please.")
    run_jobs()
    asked = background(model)[-1]["messages"][-1]["content"]
    assert "Your wishes" in asked and "The place" not in asked, "what is settled is skipped"


def test_forced_update_in_mid_journey_keeps_memories_and_uses_the_new_goals(app, garden, guided, client, model, learn):
    learn(guided, SAID, assessment(1, QUOTE, sure=0.5, says="Six square metres"))
    before = points(client, guided)["by"]["place"]
    data = copy.deepcopy(SMALL)
    data["points"][0]["elicitation_goals"] = ["Which way it faces"]
    load(app, write_fixture(garden, data), force=True)
    after = points(client, guided)["by"]["place"]
    assert after["elicitation_goals"] == ["Which way it faces"]
    kept = ("extracted_points", "relevant_quotes", "confidence_score", "evidence", "message_count_analyzed")
    assert {name: after[name] for name in kept} == {name: before[name] for name in kept}
    question = ask(client, guided, "place")
    task = [call["messages"][-1]["content"] for call in model.calls() if "## Your Task" in str(call)][-1]
    assert "- Which way it faces" in task
    assert "- Six square metres" in task
    assert f'- "{QUOTE}"' in task
    assert "Build on this knowledge. Don't repeat questions." in task
    kept_steps = str(client.get(f"/api/messages/{question['message_id']}/pipeline_steps").json)
    assert "## Conversation Point: The place" in kept_steps
    assert "Six square metres" not in kept_steps, "what was known is not kept with the prompt"


def test_deleting_what_a_point_rests_on_opens_it(app, guided, client, learn):
    said = learn(guided, SAID, assessment(1, QUOTE))
    client.post(f"/api/messages/{said['message_id']}/edit", json={"content": "Never mind."})
    place = points(client, guided)["by"]["place"]
    assert (place["is_addressed"], place["was_reopened"], place["extracted_points"]) == (False, True, [])
    client.post(f"/api/messages/{said['message_id']}/versions/{said['message_id']}/restore")


def test_forgetting_the_memory_of_the_same_words_opens_the_point(guided, client, model, run_jobs):
    garden = operation("My garden is a balcony", "Garden is a balcony.", category="home")
    model.script(match="memory_operations", times=1, structured=extraction(assessment(1, QUOTE), operations=(garden,)))
    say(client, guided, SAID)
    run_jobs()
    assert points(client, guided)["by"]["place"]["is_addressed"] is True
    memory = client.get("/api/memories").json["memories"][0]
    assert client.delete(f"/api/memories/{memory['memory_id']}").status_code == 200
    place = points(client, guided)["by"]["place"]
    assert (place["is_addressed"], place["was_reopened"], place["evidence"]) == (False, True, [])
    # Nor is it ground again when all is read once more.
    model.script(match="memory_operations", times=1, structured=extraction(assessment(1, "My garden is a balcony")))
    assert client.post("/api/memories/extract", json={"conversation_id": guided, "sync": True}).status_code == 200
    assert points(client, guided)["by"]["place"]["evidence"] == []


def test_memories_from_elsewhere_are_offered_and_confirmed(guided, client, browser):
    made = client.post("/api/memories", json={"memory_type": "fact", "content": "I have a balcony full of sun."})
    memory_id = made.json["memory_id"]
    place = points(client, guided)["by"]["place"]
    assert [item["memory_id"] for item in place["prefilled"]] == [memory_id]
    assert place["is_addressed"] is False
    assert points(client, guided)["by"]["wishes"]["prefilled"] == []
    token = page_token(browser)
    path = f"/c/{guided}/points/place/memories/{memory_id}"
    assert browser.post(path, data={"answer": "yes", "csrf_token": token}).status_code == 303
    place = points(client, guided)["by"]["place"]
    # One piece of evidence: it does not say how large the garden is, which is when the point is done.
    assert (place["is_addressed"], place["prefilled"]) == (False, [])
    assert 0 < place["confidence_score"] < place["confidence_threshold"]
    assert place["evidence"][0]["memory_id"] == memory_id
    client.put(f"/api/memories/{memory_id}", json={"content": "I have a balcony with shade."})
    assert points(client, guided)["by"]["place"]["extracted_points"] == ["I have a balcony with shade."]
    client.delete(f"/api/memories/{memory_id}")
    place = points(client, guided)["by"]["place"]
    assert (place["is_addressed"], place["evidence"], place["confidence_score"]) == (False, [], 0.0)


def test_undoing_takes_back_memories_and_what_was_confirmed_of_them_and_leaves_what_was_said(
    guided, client, model, run_jobs, browser
):
    garden = operation("My garden is a balcony", "Grows tomatoes in the garden.", category="home")
    model.script(match="memory_operations", times=1, structured=extraction(assessment(1, QUOTE), operations=(garden,)))
    say(client, guided, SAID)
    run_jobs()
    change_set = client.get("/api/memories/changes").json["changes"][0]
    second = begin(client)
    (offered,) = points(client, second)["by"]["wishes"]["prefilled"]
    path = f"/c/{second}/points/wishes/memories/{offered['memory_id']}"
    assert browser.post(path, data={"answer": "yes", "csrf_token": page_token(browser)}).status_code == 303
    found = points(client, second)["by"]
    assert found["place"]["is_addressed"] and found["wishes"]["evidence"]
    assert client.post(f"/api/memories/changes/{change_set['change_set_id']}/undo").status_code == 200
    found = points(client, second)["by"]
    assert (found["wishes"]["confidence_score"], found["wishes"]["evidence"]) == (0.0, [])
    assert found["place"]["is_addressed"] and found["place"]["evidence"][0]["quote"] == QUOTE


def test_a_memory_can_be_passed_over(guided, client, browser):
    made = client.post("/api/memories", json={"memory_type": "fact", "content": "I have a balcony."})
    path = f"/c/{guided}/points/place/memories/{made.json['memory_id']}"
    browser.post(path, data={"answer": "no", "csrf_token": page_token(browser)})
    assert points(client, guided)["by"]["place"]["prefilled"] == []
    assert client.get("/api/memories").json["memories"] != []


def test_another_conversation_of_the_journey_knows_and_asks_whether_it_holds(guided, client, browser, learn):
    learn(guided, SAID, assessment(1, QUOTE))
    second = begin(client)
    place = points(client, second)["by"]["place"]
    assert (place["is_addressed"], place["needs_confirmation"]) == (True, True)
    assert place["evidence"][0]["from_other_conversation"] is True
    assert points(client, guided)["by"]["place"]["needs_confirmation"] is False
    token = page_token(browser)
    browser.post(f"/c/{second}/points/place/confirm", data={"answer": "yes", "csrf_token": token})
    assert points(client, second)["by"]["place"]["needs_confirmation"] is False
    browser.post(f"/c/{second}/points/place/confirm", data={"answer": "no", "csrf_token": token})
    place = points(client, second)["by"]["place"]
    assert (place["is_addressed"], place["evidence"]) == (False, [])


def test_temporary_conversations_and_memory_switched_off_know_nothing(garden, client, model, run_jobs):
    client.post("/api/memories", json={"memory_type": "fact", "content": "I have a balcony."})
    made = client.post("/api/conversations", json={"journey": "garden", "is_temporary": True}).json
    assert points(client, made["conversation_id"])["by"]["place"]["prefilled"] == []
    say(client, made["conversation_id"], SAID)
    run_jobs()
    assert points(client, made["conversation_id"])["by"]["place"]["evidence"] == []


def test_unknown_journeys_and_points_are_404(guided, client):
    assert_problem(client.post(f"/memory/conversation/{guided}/points/unknown/initiate/"), 404)
    plain = client.post("/api/conversations", json={}).json["conversation_id"]
    assert_problem(client.post(f"/memory/conversation/{plain}/points/place/initiate/"), 404)
    assert client.get(f"/memory/conversation/{plain}/points/").json["journey"] is None
    assert_problem(client.get(f"/memory/conversation/{plain}/summary/status/"), 404)
    assert_problem(client.get("/api/journeys/unknown"), 404)
