"""The pages of journeys, and the administration's view of what is known of a user."""

import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from flask import Flask
from sqlalchemy import select, update

from testkit.people import ApiClient, Person, csrf_token, page_token
from tests.journeys.rows import assessment, begin, extraction, points
from tests.support.queries import scalars
from webapp.audit.models import AuditEvent
from webapp.conversations.models import Conversation
from webapp.conversations.schemas import NewConversation
from webapp.conversations.service import create_conversation
from webapp.db.base import db, now, write_transaction

QUOTE = "a balcony of six square metres"


@pytest.fixture
def conversation_id(garden: Path, client: ApiClient, learn: Callable) -> int:
    """A conversation in which the first point is addressed."""
    conversation_id = begin(client)
    learn(conversation_id, f"I have {QUOTE}.", assessment(1, QUOTE, says="A balcony"))
    return conversation_id


def test_a_journey_is_picked_and_begun(garden, client, browser):
    page = browser.get("/")
    assert 'href="/journeys"' in page.text
    assert "What to plant." in browser.get("/journeys").text
    begun = browser.post("/journeys/garden/start", data={"csrf_token": csrf_token(page.text)})
    assert begun.status_code == 303
    shown = browser.get(begun.location).text
    assert "Begin with “The place”" not in shown  # it is asked already
    assert "0 of 2 topics covered" in shown
    assert "Ask a question" in shown
    assert browser.post("/journeys/unknown/start", data={"csrf_token": csrf_token(page.text)}).status_code == 404


def test_without_scripts_a_point_is_opened_and_its_questions_are_links(garden, client, browser):
    conversation_id = begin(client)
    token = csrf_token(browser.get(f"/c/{conversation_id}").text)
    opened = browser.post(f"/c/{conversation_id}/points/place", data={"csrf_token": token})
    assert opened.status_code == 303
    page = browser.get(opened.location).text
    assert "How do I measure my garden?" in page
    assert "?draft=How%20do%20I%20measure" in page
    drafted = browser.get(f"/c/{conversation_id}?draft=How%20do%20I%20measure%20my%20garden%3F").text
    assert ">How do I measure my garden?</textarea>" in drafted


def test_the_points_are_a_page_and_a_fragment_and_odd_answers_are_refused(conversation_id, browser):
    page = browser.get(f"/c/{conversation_id}/points").text
    part = browser.get(f"/c/{conversation_id}/points", headers={"HX-Request": "true"}).text
    assert "<html" in page and "<html" not in part
    for shown in (page, part):
        for words in ("1 of 2 topics covered", "A balcony", QUOTE, "The size is known", "Covered, 90% certain"):
            assert words in shown
    token = page_token(browser)
    answer = browser.post(f"/c/{conversation_id}/points/place/confirm", data={"csrf_token": token, "answer": "perhaps"})
    assert answer.status_code == 422
    for number in (f"{1:012}{'9' * 5_000}", "1" * 13, "²", "-1", ""):  # which no row can have
        given = {"csrf_token": token, "do": "not-right", "evidence_id": number}
        assert browser.post(f"/c/{conversation_id}/points/place/change", data=given).status_code == 422, number[:20]
    given = {"csrf_token": token, "do": f"remove-{'9' * 5_000}", "count": "1", "p0.title": "Soil"}
    assert "Soil" in browser.post("/journeys/new", data=given).text


def test_ordinary_conversations_have_no_bubbles(garden, user, login, client):
    conversation_id = client.post("/api/conversations", json={}).json["conversation_id"]
    shown = login(user).get(f"/c/{conversation_id}").text
    assert "Ask a question" not in shown and "suggestionBubbles" not in shown
    assert re.search(r'id="tab-points"[^>]* hidden>', shown)


def test_admins_look_at_a_users_memory_and_leave_a_record(app, conversation_id, user, login, make_user):
    admin = make_user(is_admin=True)
    browser = login(admin)
    page = browser.get(f"/admin/users/{user.user_id}/memory")
    assert page.status_code == 200
    assert "A balcony" in page.text
    assert "1 of 2 topics" in page.text
    (row,) = scalars(app, select(AuditEvent).where(AuditEvent.action == "admin_looked"))
    assert (row.actor_id, row.user_id) == (admin.user_id, user.user_id)
    assert login(user).get(f"/admin/users/{user.user_id}/memory").status_code == 403
    assert browser.get("/admin/users/999999/memory").status_code == 404


def test_a_reset_point_is_extracted_again(conversation_id, user, login, client, model, run_jobs, admin_browser):
    token = page_token(admin_browser)
    path = f"/admin/users/{user.user_id}/journeys/garden/place/reset"
    assert login(user).post(path, data={"csrf_token": token}).status_code == 403
    assert admin_browser.post(path, data={"csrf_token": token}).status_code == 303
    assert points(client, conversation_id)["by"]["place"]["confidence_score"] == 0.0
    again = extraction(assessment(1, QUOTE, sure=0.8, says="Again"))
    model.script(match="memory_operations", structured=again, times=1)
    run_jobs()
    place = points(client, conversation_id)["by"]["place"]
    assert (place["extracted_points"], place["confidence_score"]) == (["Again"], 0.8)
    assert admin_browser.post(path.replace("place", "unknown"), data={"csrf_token": token}).status_code == 404


@pytest.fixture
def continue_lines(browser) -> Callable[[], list[str]]:
    """The lines under Continue, newest first, each with its progress if it has one."""

    def read() -> list[str]:
        page = browser.get("/").text
        links = re.findall(r'<a class="continue-item".*?</a>', page, re.DOTALL)
        return [
            " ".join(re.sub(r"<svg.*?</svg>|<time.*?</time>|<[^>]+>", " ", link, flags=re.DOTALL).split())
            for link in links
        ]

    return read


def age(app: Flask, *ids: int) -> None:
    """Make conversations older than each other, the last one oldest and all older than what is new."""
    with app.app_context(), write_transaction():
        for days, conversation_id in enumerate(ids, start=1):
            at = now() - timedelta(days=days)
            rows = update(Conversation).where(Conversation.conversation_id == conversation_id)
            db.session.execute(rows.values(updated_at=at))


def talk(app: Flask, user: Person, title: str) -> int:
    """A conversation without a journey."""
    with app.app_context(), write_transaction():
        return create_conversation(user.user_id, NewConversation(title=title)).conversation_id


def test_who_has_said_nothing_has_nothing_to_continue(continue_lines, user, login):
    assert continue_lines() == []
    assert "Continue" not in login(user).get("/").text


def test_journeys_stay_in_sight_with_how_far_they_are(app, garden, client, user, continue_lines, learn):
    guided = begin(client)
    learn(guided, f"I have {QUOTE}.", assessment(1, QUOTE, says="A balcony"))
    age(app, *[talk(app, user, f"Talk {number}") for number in range(1, 6)], guided)
    assert continue_lines() == ["Talk 1", "Talk 2", "Talk 3", "A garden 1 of 2 topics covered · 50% known"]


def test_a_journey_stands_there_once(app, garden, client, continue_lines):
    older, newer = begin(client), begin(client)
    age(app, newer, older)
    assert continue_lines() == ["A garden 0 of 2 topics covered"]


def test_a_finished_journey_is_not_continued(guided, learn, continue_lines):
    learn(guided, f"I have {QUOTE} and want tomatoes.", assessment(1, QUOTE), assessment(2, "tomatoes"))
    assert continue_lines() == []


def test_the_title_of_a_journey_stands_above_its_progress(guided, browser):
    head = re.search(r'<div class="bar-title">.*?</header>', browser.get(f"/c/{guided}").text, re.DOTALL)[0]
    assert "0 of 2 topics covered" in head
    moved = browser.get(f"/c/{guided}/points", headers={"HX-Request": "true"}).text
    assert 'hx-target="#title-progress"' in moved and 'id="title-progress"' in moved
