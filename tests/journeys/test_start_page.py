"""What a new conversation's page offers to continue."""

import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from flask import Flask
from sqlalchemy import update

from fakemodel.testing import ServerHandle
from testkit.people import ApiClient, Person
from tests.journeys.rows import assessment, begin, extraction, say
from webapp.conversations.models import Conversation
from webapp.conversations.schemas import NewConversation
from webapp.conversations.service import create_conversation
from webapp.db.base import db, now, write_transaction

QUOTE = "a balcony of six square metres"


@pytest.fixture
def offered(user: Person, login: Callable) -> Callable[[], list[str]]:
    """The lines under Continue, newest first, each with its progress if it has one."""
    browser = login(user)

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


def test_who_has_said_nothing_has_nothing_to_continue(offered: Callable, user: Person, login: Callable) -> None:
    assert offered() == []
    assert "Continue" not in login(user).get("/").text


def test_journeys_stay_in_sight_with_how_far_they_are(
    app: Flask,
    garden: Path,
    client: ApiClient,
    model: ServerHandle,
    run_jobs: Callable,
    user: Person,
    offered: Callable,
) -> None:
    guided = begin(client)
    model.script(match="memory_operations", structured=extraction(assessment(1, QUOTE, says="A balcony")), times=1)
    say(client, guided, f"I have {QUOTE}.")
    run_jobs()
    age(app, *[talk(app, user, f"Talk {number}") for number in range(1, 6)], guided)
    assert offered() == ["Talk 1", "Talk 2", "Talk 3", "A garden 1 of 2 topics covered · 50% known"]


def test_a_journey_stands_there_once(app: Flask, garden: Path, client: ApiClient, offered: Callable) -> None:
    older, newer = begin(client), begin(client)
    age(app, newer, older)
    assert offered() == ["A garden 0 of 2 topics covered"]


def test_a_finished_journey_is_not_continued(
    app: Flask, garden: Path, client: ApiClient, model: ServerHandle, run_jobs: Callable, offered: Callable
) -> None:
    guided = begin(client)
    both = extraction(assessment(1, QUOTE), assessment(2, "tomatoes"))
    model.script(match="memory_operations", structured=both, times=1)
    say(client, guided, f"I have {QUOTE} and want tomatoes.")
    run_jobs()
    assert offered() == []


def test_the_title_of_a_journey_stands_above_its_progress(
    garden: Path, client: ApiClient, user: Person, login: Callable
) -> None:
    guided = begin(client)
    browser = login(user)
    head = re.search(r'<div class="bar-title">.*?</header>', browser.get(f"/c/{guided}").text, re.DOTALL)[0]
    assert "0 of 2 topics covered" in head
    moved = browser.get(f"/c/{guided}/points", headers={"HX-Request": "true"}).text
    assert 'hx-target="#title-progress"' in moved and 'id="title-progress"' in moved
