"""Journeys that continue: one conversation however often Start is clicked, its progress, and starting over."""

from collections.abc import Callable
from pathlib import Path

import pytest
from flask import Flask
from sqlalchemy import select

from fakemodel.testing import ServerHandle
from testkit.people import Person, csrf_token, page_token
from tests.conversations.test_paging import queries
from tests.journeys.rows import SMALL, assessment, begin, load, points, write_fixture
from tests.support.interleaving import at_once
from tests.support.queries import scalars
from webapp.conversations.models import Conversation
from webapp.journeys.service import JourneyProgress, journeys_with_progress

QUOTE = "a balcony of six square metres"
WISH = "tomatoes and basil"
START = "/journeys/garden/start"


@pytest.fixture
def browser(garden: Path, user: Person, login: Callable, model: ServerHandle):
    """A signed-in browser, where every point's question is known."""
    model.script(match="(?s)Conversation Point: The place", reply="How large is your garden?")
    model.script(match="(?s)Conversation Point: Your wishes", reply="What do you want to grow?")
    return login(user)


def start(browser, **more: str) -> str:
    """Click Start, or Start over; the address of the conversation that opens."""
    token = page_token(browser)
    answer = browser.post(START, data={"csrf_token": token, **more})
    assert answer.status_code == 303
    return answer.location.partition("?")[0]


def progress(app: Flask, user: Person) -> JourneyProgress:
    """How far the user is with the small journey."""
    with app.app_context():
        return next(item for item in journeys_with_progress(user.user_id) if item.journey.slug == "garden")


def test_start_asks_the_first_question_once_and_goes_on_until_it_is_deleted(browser, client):
    first = start(browser)
    assert {start(browser), start(browser), start(browser, restart="1")} == {first}, (
        "nor is an unfinished one begun anew"
    )
    messages = client.get(f"/api/conversations/{first.rpartition('/')[2]}/messages").json["messages"]
    assert [message["role"] for message in messages] == ["assistant"]
    assert len(client.get("/api/conversations").json["conversations"]) == 1
    client.delete(f"/api/conversations/{first.rpartition('/')[2]}")
    conversation_id = begin(client)
    assert start(browser).endswith(f"/c/{conversation_id}")
    assert client.get(f"/api/conversations/{conversation_id}").json["message_count"] == 1


def test_two_tabs_start_one_conversation(app, browser, user, login):
    other = login(user)
    token = page_token(other)
    places = at_once(lambda: start(browser), lambda: other.post(START, data={"csrf_token": token}).location)
    assert places[0] == places[1].partition("?")[0]
    assert len(scalars(app, select(Conversation).where(Conversation.user_id == user.user_id))) == 1


def test_the_library_says_where_each_journey_is_and_a_finished_one_is_started_over_once(
    app, browser, client, user, learn
):
    assert ">Start</button>" in browser.get("/journeys").text
    place = start(browser)
    conversation_id = int(place.rpartition("/")[2])
    page = browser.get("/journeys").text
    assert "In progress" in page and f'href="{place}"' in page and "Next: The place" in page
    for quote in (QUOTE, WISH):
        learn(conversation_id, f"It is {quote}.", assessment(1, quote))
    page = browser.get("/journeys").text
    assert "Finished" in page and "2 of 2 topics covered" in page and page.count('class="stage-covered"') == 2
    assert f'href="/c/{conversation_id}/summary"' in page and "/journeys/garden/restart" in page
    found = progress(app, user)
    assert (found.state, found.view.next_point()) == ("finished", None)
    assert start(browser) == place  # a click on Start never starts over
    asked = browser.get("/journeys/garden/restart")
    assert asked.status_code == 200 and "Download the one you have" in asked.text
    again = start(browser, restart="1")
    assert again != place
    assert start(browser, restart="1") == again
    state = points(client, int(again.rpartition("/")[2]))["by"]["place"]
    assert (state["is_addressed"], state["confidence_score"]) == (False, 0.0)
    assert progress(app, user).state == "running"
    assert client.get(f"/api/conversations/{again.rpartition('/')[2]}").json["message_count"] == 1


def test_the_words_average_what_is_known(app, browser, user, learn):
    conversation_id = int(start(browser).rpartition("/")[2])
    for quote in (QUOTE, WISH):
        learn(conversation_id, f"It is {quote}.", assessment(1, quote, sure=0.5))
    found = progress(app, user)
    known = [view.confidence for view in found.view.points]
    assert found.view.addressed == 0 and sum(known) > 0
    assert found.view.progress == pytest.approx(sum(known) / 2)
    percent = round(found.view.progress * 100)
    for path in ("/journeys", f"/c/{conversation_id}/points"):
        page = browser.get(path).text
        assert f"{percent}% known" in page and page.count('class="stage-begun"') == 1, path


def test_each_person_has_their_own(browser, login, make_user, client):
    mine = start(browser)
    for stranger in (login(make_user()), login(make_user(is_admin=True))):
        assert "In progress" not in stranger.get("/journeys").text
        theirs = start(stranger)
        assert theirs != mine and stranger.get(mine).status_code == 404
    assert browser.get("/journeys/unknown/restart").status_code == 404


def test_progress_takes_the_same_statements_for_any_number_of_journeys(app, client, user, garden):
    begin(client)
    sent = {}
    for number in range(2):
        with app.app_context(), queries(app) as statements:
            journeys = len(journeys_with_progress(user.user_id))
        sent[journeys] = len(statements)
        load(app, write_fixture(garden, {**SMALL, "slug": f"garden-{number}"}, f"more-{number}.json"))
    assert sent == {1: 6, 2: 6}


def test_instructions_are_never_offered_or_taken_as_answers(browser, client, user):
    asked = {"memory_type": "instruction", "content": "Always answer about my garden, sun and balcony in one line."}
    memory_id = client.post("/api/memories", json=asked).json["memory_id"]
    known = {"memory_type": "fact", "content": "My garden gets sun on the balcony."}
    client.post("/api/memories", json=known)
    conversation_id = int(start(browser).rpartition("/")[2])
    page = browser.get(f"/c/{conversation_id}/points").text
    assert "My garden gets sun" in page
    assert "Always answer about my garden" not in page
    token = csrf_token(page)
    path = f"/c/{conversation_id}/points/place/memories/{memory_id}"
    assert browser.post(path, data={"csrf_token": token, "answer": "yes"}).status_code == 409


def test_the_summary_shows_every_quote(browser, learn):
    conversation_id = int(start(browser).rpartition("/")[2])
    quotes = [f"the balcony has corner number {number}" for number in "abcdefgh"]
    found = {**assessment(1, "", sure=0.5), "extracted_points": quotes, "relevant_quotes": quotes}
    learn(conversation_id, f"Well, {', '.join(quotes)}.", found)
    page = browser.get(f"/c/{conversation_id}/summary/page").text
    assert [quote for quote in quotes if f">{quote}<" not in page] == []
