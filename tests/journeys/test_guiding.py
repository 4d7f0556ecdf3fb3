"""The guide at every turn: what the prompt says, what the person wishes, and what becomes of short answers."""

import copy
from typing import Any

import pytest
from hypothesis import given, strategies as st

from fakemodel.testing import ServerHandle
from testkit.people import ApiClient, csrf_token
from tests.conversations.test_api import assert_problem
from tests.journeys.rows import SMALL, ask, assessment, begin, extraction, load, points, say, write_fixture
from webapp.db.base import now
from webapp.journeys.assessment_merge import PointState, assign, assign_data, keyword_count
from webapp.journeys.guidance import directive
from webapp.journeys.models import ConversationPoint
from webapp.journeys.point_views import PointView, Quote
from webapp.shell import upkeep

SAID = "My garden is a balcony of six square metres with sun in the afternoon."
QUOTE = "a balcony of six square metres"


def prompt(model: ServerHandle) -> str:
    """The last message of the last chat prompt."""
    return [call["messages"] for call in model.calls() if call["model"] == "test-chat"][-1][-1]["content"]


def do(client: ApiClient, conversation_id: int, point: str, what: str, status: int = 200, **body: Any) -> Any:
    answer = client.post(f"/api/conversations/{conversation_id}/points/{point}/{what}", json=body)
    assert answer.status_code == status, answer.text
    return answer.json


def test_every_turn_is_told_where_the_journey_stands(guided, client, model, learn):
    say(client, guided, "Good morning.")
    first = prompt(model)
    assert first.endswith("\n\nGood morning.") and first.startswith("<guide>")
    for part in (
        "Journey: A garden. 0 of 2 points are talked through.",
        "Current point: The place",
        "· Size of the garden",
        "Still missing:\n· The size is known",
        "Next point: Your wishes",
        "Known so far: nothing.",
    ):
        assert part in first
    learn(guided, SAID, assessment(1, QUOTE, says="Six square metres"))
    reply = say(client, guided, "What is the weather like?")["reply"]
    later = prompt(model)
    assert "1 of 2 points are talked through" in later and "Current point: Your wishes" in later
    calls = [call["messages"] for call in model.calls() if call["model"] == "test-chat"]
    assert len({str(messages[0]) for messages in calls}) == 1, "the beginning of the prompt stays as it was"
    kept = str(client.get(f"/api/messages/{reply['message_id']}/pipeline_steps").json["pipeline_steps"])
    assert "Current point: Your wishes" in kept and "(not on record)" in kept and "Six square metres" not in kept


def test_what_is_known_and_what_bears_on_it_are_told(guided, client, model, learn):
    learn(
        guided,
        f"{SAID} I think of tomatoes.",
        assessment(1, QUOTE, sure=0.5, says="A balcony of six square metres"),
        assessment(2, "tomatoes", sure=0.4, says="Wants tomatoes for the balcony"),
    )
    ask(client, guided, "place")
    say(client, guided, "Just a moment.")
    section = prompt(model)
    assert "Known so far (50 % sure):\n· A balcony of six square metres" in section
    assert f'In their words:\n· "{QUOTE}"' in section
    assert "· Your wishes: Wants tomatoes for the balcony" in section


def asked_for(request: str, quote: str, number: int = 1) -> dict[str, Any]:
    """An answer that says what the person asked of the guide."""
    return {**assessment(number, quote, sure=0.0), "extracted_points": [], "request": request}


def test_what_the_person_asks_of_the_guide_is_the_models_to_say(guided, client, model, run_jobs):
    ask(client, guided, "place")
    wish = extraction(asked_for("skip", "Niech to zostanie między nami"))
    model.script(match="memory_operations", structured=wish, times=1)
    say(client, guided, "Niech to zostanie między nami.")
    assert "Current point: The place" in prompt(model) and "skip, later or stop asking, do so at once" in prompt(model)
    run_jobs()
    found = points(client, guided)
    assert (found["by"]["place"]["set_aside"], found["next_point"]) == ("skip", "wishes")
    assert (found["by"]["place"]["evidence"], found["by"]["place"]["confidence_score"]) == ([], 0)
    say(client, guided, "Tell me a joke.")
    section = prompt(model)
    assert "Current point: Your wishes" in section and "do not ask about these:\n· The place" in section
    ask(client, guided, "place")  # a click is a change of mind
    assert points(client, guided)["by"]["place"]["set_aside"] is None


def test_a_request_counts_in_the_persons_words_and_costs_no_answer_beside_it(guided, client, learn):
    for wrong in (asked_for("skip", "Skip it"), asked_for("be gone", "We shall see")):
        learn(guided, "We shall see.", wrong)
    assert points(client, guided)["by"]["place"]["set_aside"] is None
    learn(guided, f"{SAID} The rest another day.", {**assessment(1, QUOTE, sure=0.5), "request": "later"})
    place = points(client, guided)["by"]["place"]
    assert (place["set_aside"], place["evidence"][-1]["quote"]) == ("later", QUOTE)


def test_later_comes_last_and_stop_is_silence(guided, client, model, run_jobs, learn):
    learn(guided, "Not now.", asked_for("later", "Not now"))
    found = points(client, guided)
    assert (found["by"]["place"]["set_aside"], found["next_point"]) == ("later", "wishes")
    do(client, guided, "wishes", "skip")
    assert points(client, guided)["next_point"] == "place"
    learn(guided, "Stop asking!", asked_for("stop", "Stop asking!"))
    say(client, guided, "How deep do tomatoes root?")
    assert "do not ask about any point" in prompt(model) and "Current point" not in prompt(model)
    run_jobs()
    learn(guided, "You can ask me again.", asked_for("resume", "You can ask me again."))
    say(client, guided, "Well?")
    assert "Current point: The place" in prompt(model)


def test_questions_are_paused_by_hand(guided, client, model, user, login):
    say(client, guided, "Good morning.")
    browser, place = login(user), f"/c/{guided}/points/place/change"
    assert "Pause questions" in browser.get(f"/c/{guided}").text
    assert (
        browser.post(place, data={"do": "stop", "csrf_token": csrf_token(browser.get(f"/c/{guided}").text)}).status_code
        == 303
    )
    page = browser.get(f"/c/{guided}").text
    assert "Questions are paused." in page and "Pause questions" not in page
    say(client, guided, "How deep do tomatoes root?")
    assert "do not ask about any point" in prompt(model)
    assert client.put(f"/api/conversations/{guided}/guide", json={"paused": False}).json == {"paused": False}
    say(client, guided, "Well?")
    assert "Current point: The place" in prompt(model)
    plain = client.post("/api/conversations", json={}).json["conversation_id"]
    assert_problem(client.put(f"/api/conversations/{plain}/guide", json={"paused": True}), 404)
    assert_problem(client.put(f"/api/conversations/{guided}/guide", json={}), 422)


def test_a_skipped_point_does_not_hold_up_the_journey(guided, client, learn):
    do(client, guided, "wishes", "skip")
    learn(guided, SAID, assessment(1, QUOTE))
    found = points(client, guided)
    assert (found["all_addressed"], found["next_point"], found["progress"]["addressed"]) == (True, None, 1)


@pytest.mark.parametrize("words", ["7", "None of them."])
def test_a_short_answer_counts_with_its_question(guided, client, model, words, learn):
    model.script(match="## Your Task", reply="Tell me about it. Is your garden larger than a room?")
    ask(client, guided, "place")
    learn(guided, words, assessment(1, words, says="The garden is no larger than a room"))
    place = points(client, guided)["by"]["place"]
    assert place["is_addressed"] is True
    (piece,) = place["evidence"]
    assert (piece["quote"].rstrip("."), piece["question"]) == (words.rstrip("."), "Is your garden larger than a room?")


def test_a_correction_replaces_and_the_old_stays_in_the_history(guided, client, learn):
    learn(guided, SAID, assessment(1, QUOTE, says="A balcony of six square metres", size="six square metres"))
    learn(
        guided,
        "Actually it is not six square metres, it is nine.",
        {**assessment(2, "it is nine", says="It has nine square metres", size="nine square metres"), "corrects": [1]},
    )
    place = points(client, guided)["by"]["place"]
    assert place["structured_data"] == {"size": "nine square metres"}
    assert place["extracted_points"] == ["It has nine square metres"]
    assert (place["is_addressed"], place["conflicts"]) == (True, [])
    assert [(item["text"], item["why"]) for item in place["history"]] == [
        ("A balcony of six square metres", "replaced")
    ]
    assert [item["quote"] for item in place["evidence"]] == ["it is nine"]


def test_two_answers_that_disagree_are_for_the_person_to_settle(guided, client, model, learn):
    learn(guided, "It has six square metres.", assessment(1, "six square metres", size="six square metres"))
    learn(
        guided,
        "With ten square metres of garden one can do a lot.",
        assessment(2, "ten square metres of garden", size="ten square metres"),
    )
    place = points(client, guided)["by"]["place"]
    (conflict,) = place["conflicts"]
    assert (conflict["name"], conflict["values"]) == ("size", ["six square metres", "ten square metres"])
    ask(client, guided, "place")
    say(client, guided, "Hm.")
    assert 'Two answers disagree; ask which one holds:\n· "six square metres" or "ten square metres"' in prompt(model)
    settled = do(client, guided, "place", "answer", answer="yes", evidence_id=conflict["evidence_ids"][0])
    assert (settled["conflicts"], settled["structured_data"]) == ([], {"size": "six square metres"})
    assert do(client, guided, "place", "reopen", undo=True)["conflicts"] != []
    assert do(client, guided, "place", "answer", answer="both")["conflicts"] == []


def test_a_settled_point_is_asked_for_what_is_new(app, garden, guided, client, model, learn):
    learn(guided, SAID, assessment(1, QUOTE))
    data = copy.deepcopy(SMALL)
    data["points"][0]["elicitation_goals"].append("Which way it faces")
    load(app, write_fixture(garden, data), force=True)
    place = points(client, guided)["by"]["place"]
    assert (place["is_addressed"], place["new_goals"]) == (False, ["Which way it faces"])
    assert place["relevant_quotes"] == [QUOTE]
    ask(client, guided, "place")
    say(client, guided, "Hello again.")
    assert "new: Which way it faces" in prompt(model)
    learn(guided, "My balcony faces south.", assessment(1, "faces south"))
    assert points(client, guided)["by"]["place"]["is_addressed"] is True


def test_by_hand_not_right_correct_ask_again_and_undo(guided, client, learn):
    learn(guided, SAID, assessment(1, QUOTE, says="Six square metres"))
    evidence_id = points(client, guided)["by"]["place"]["evidence"][0]["evidence_id"]
    wrong = do(client, guided, "place", "answer", answer="no", evidence_id=evidence_id)
    assert (wrong["is_addressed"], wrong["evidence"], wrong["can_undo"]) == (False, [], True)
    back = do(client, guided, "place", "reopen", undo=True)
    assert (back["is_addressed"], back["relevant_quotes"], back["history"]) == (True, [QUOTE], [])
    right = do(client, guided, "place", "answer", text="It has eight square metres.", evidence_id=evidence_id)
    assert (right["is_addressed"], right["extracted_points"]) == (True, ["It has eight square metres."])
    assert [item["text"] for item in right["history"]] == ["Six square metres"]
    again = do(client, guided, "place", "reopen")
    assert (again["is_addressed"], again["evidence"]) == (False, [])
    assert do(client, guided, "place", "reopen", undo=True)["is_addressed"] is True
    answer = client.post(f"/api/conversations/{guided}/points/place/reopen", json={"undo": True})
    assert_problem(answer, 409)
    assert do(client, guided, "place", "reset", 202) == {"conversations_read_again": 1}
    assert points(client, guided)["by"]["place"]["history"] == []


def test_changes_by_hand_are_checked(guided, client):
    base = f"/api/conversations/{guided}/points"
    for what, body in (("answer", {"answer": "yes"}), ("skip", {}), ("reopen", {}), ("reset", {})):
        assert_problem(client.post(f"{base}/nowhere/{what}", json=body), 404)
    for body in ({}, {"answer": "maybe"}, {"answer": "yes", "text": "both"}, {"memory_id": 1, "answer": "both"}):
        assert_problem(client.post(f"{base}/place/answer", json=body), 422)
    assert_problem(client.post(f"{base}/place/answer", json={"answer": "yes", "evidence_id": 99}), 404)
    assert_problem(client.post(f"{base}/place/skip", json={"until": "christmas"}), 422)


def test_the_page_offers_the_next_point(guided, client, browser):
    assert "Next: " not in browser.get(f"/c/{guided}").text
    say(client, guided, "Good morning.")
    page = browser.get(f"/c/{guided}").text
    assert "Next: The place" in page and 'value="later"' in page


def test_a_memory_is_offered_for_what_it_means_and_closes_nothing(app, client, run_jobs):
    load(app)
    with app.app_context():
        upkeep.sweep()
    run_jobs()  # the points are embedded
    for words in ("Loves the children's book Momo", "Sleeps badly because of the pain"):
        client.post("/api/memories", json={"memory_type": "fact", "content": words})
    run_jobs()
    conversation_id = begin(client, "backpain")
    days = points(client, conversation_id)["by"]["daily-life"]
    (offered,) = days["prefilled"]
    assert offered["content"] == "Sleeps badly because of the pain"
    after = do(client, conversation_id, "daily-life", "answer", answer="yes", memory_id=offered["memory_id"])
    assert (after["is_addressed"], len(after["evidence"])) == (False, 1)
    assert 0 < after["confidence_score"] < after["confidence_threshold"]


def task(*said: tuple[str, str, bool], profile: dict[str, Any] | None = None, **fields: Any) -> str:
    """The task for a point of which quotes are known, each with what was understood, and if it is from elsewhere."""
    lists = dict.fromkeys(("elicitation_goals", "example_questions", "completion_criteria"), [])
    point = ConversationPoint(**{"title": "T", "description": "D", "system_message_template": "", **lists, **fields})
    quotes = [Quote(1, 1, 1, None, quote, now(), far, extracted_points=[text]) for quote, text, far in said]
    return directive(PointView(point, PointState(), quotes, now()), profile)


def test_the_task_has_the_documented_form():
    fields = {"description": "What matters most.", "system_message_template": "Offer contrasts."}
    fields |= {"elicitation_goals": ["Learn what matters"], "completion_criteria": ["One preference is known"]}
    known = ("I miss my garden", "Wants to garden again", False)
    profile = {"name": "Ada Lovelace", "preferred_name": "Ada", "birthday": None}
    assert task(known, profile=profile, example_questions=["What matters most?"], **fields) == (
        "## The Person You Talk With\n- Name: Ada Lovelace\n- Prefers to be called: Ada\n\n"
        "## Conversation Point: T\nWhat matters most.\n\nOffer contrasts.\n\n"
        "## Your Goals for This Discussion\n- Learn what matters\n\n"
        "## This Point Is Complete When\n- One preference is known\n\n"
        "## Example Questions You Could Adapt\n- What matters most?\n\n"
        "## What You Already Know About This Topic\nKey points already discussed:\n- Wants to garden again\n\n"
        'Relevant things the person has said:\n- "I miss my garden"\n\n'
        "Build on this knowledge. Don't repeat questions.\n\n"
        "## Your Task\nAsk ONE clear question that helps achieve your goals."
    )


def test_without_anything_known_it_says_so_and_what_comes_from_elsewhere_is_to_be_checked():
    text = task(elicitation_goals=["G"])
    assert "## What You Already Know About This Topic\nNothing yet." in text and "Don't repeat" not in text
    text = task(("It is a balcony", "Has a balcony", True))
    assert "Known from other conversations; check that it still holds:\n- Has a balcony" in text


@given(st.text(max_size=200))
def test_what_somebody_said_cannot_become_a_heading(words):
    headings = [line for line in task().splitlines() if line.startswith("## ")]
    for is_elsewhere in (False, True):
        text = task((words, words, is_elsewhere))
        assert [line for line in text.split("\n") if line.startswith("## ")] == headings


def test_a_statement_goes_with_the_quote_it_was_taken_from():
    quotes = ["it hurts in my lower back", "since March"]
    assert assign(["Pain in the lower back", "Began in March"], quotes) == [
        ["Pain in the lower back"],
        ["Began in March"],
    ]
    assert assign(["Unrelated"], quotes) == [["Unrelated"], []]
    assert assign(["Unrelated"], []) == []
    assert assign_data({"since": "March", "place": "lower back"}, quotes) == [
        {"place": "lower back"},
        {"since": "March"},
    ]


@given(st.lists(st.text(max_size=30), max_size=5), st.lists(st.text(max_size=30), min_size=1, max_size=4))
def test_no_statement_is_lost_or_doubled(statements, quotes):
    found = assign(statements, quotes)
    assert len(found) == len(quotes)
    assert sorted(text for texts in found for text in texts) == sorted(statements)


def test_keywords_match_in_any_form():
    assert keyword_count("I take painkillers and exercised daily.", ["painkiller", "exercise", "yoga"]) == 2
    assert keyword_count("My lower back hurts", ["lower back"]) == 1
    assert keyword_count("back to the lower floor", ["lower back"]) == 0
    assert keyword_count("because of that", ["because", "…"]) == 0
