"""What imports brought, in groups of the review: counted, looked through, kept and dropped as a whole."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from tests.support.people import ApiClient, Person, csrf_token
from webapp.database import db, write_transaction
from webapp.memories.keeping.proposing import Proposal, propose
from webapp.memories.models import Memory, MemoryTombstone
from webapp.memories.schemas import MemoryFields
from webapp.memories.service import create_memory
from webapp.transfer import proposal_pages
from webapp.transfer.models import Import


def decide(browser: FlaskClient, number: int, decision: str, page: str = "/memories/review") -> Any:
    """Send the form of a group; what is shown afterwards."""
    form = {"decision": decision, "csrf_token": csrf_token(browser.get(page).text)}
    return browser.post(f"/imports/{number}/proposals", data=form, follow_redirects=True)


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine, a request has time for a whole group."""
    monkeypatch.setattr(proposal_pages, "SECONDS", math.inf)


@pytest.fixture
def imported(app: Flask) -> Callable[..., int]:
    """`imported(person, statements)`: an import that is done and proposed these; its id."""

    def make(person: Person, statements: list[str], filename: str = "memories.json") -> int:
        with app.app_context(), write_transaction():
            done = propose(person.user_id, [Proposal(text) for text in statements], cause="import")
            row = Import(
                user_id=person.user_id,
                status="done",
                format="chatgpt",
                filename=filename,
                counts={},
                change_set_ids=[done.change_set_id],
            )
            db.session.add(row)
            db.session.flush()
            return row.import_id

    return make


def test_the_review_groups_what_came_together(
    app: Flask, user: Person, login: Callable[..., FlaskClient], imported: Callable[..., int]
) -> None:
    first = imported(user, ["Keeps bees on the roof", "Plays the cello"])
    second = imported(user, ["Lives in Porto"], "other.zip")
    with app.app_context(), write_transaction():
        propose(user.user_id, [Proposal("Rides a unicycle")], cause="mcp", actor="mcp")
        # Newer ones that brought nothing, or nothing that waits, take nobody's place.
        db.session.add_all(
            Import(user_id=user.user_id, status="done", filename=f"again{number}.zip", counts={}, change_set_ids=[])
            for number in range(25)
        )
    browser = login(user)
    page = browser.get("/memories/review").text
    assert page.index("ChatGPT: other.zip") < page.index("ChatGPT: memories.json")
    assert "2 memories waiting" in page and "1 memory waiting" in page
    assert "Rides a unicycle" in page and "Keeps bees" not in page
    inside = browser.get(f"/imports/{first}/proposals").text
    assert "Keeps bees" in inside and "Lives in Porto" not in inside and "Rides a unicycle" not in inside
    assert f"/imports/{second}/proposals" in page


def test_a_group_is_kept_as_a_whole_but_for_what_contradicts(
    app: Flask, user: Person, login: Callable[..., FlaskClient], imported: Callable[..., int]
) -> None:
    number = imported(user, [f"Knows the song number {count}" for count in range(120)])
    with app.app_context(), write_transaction():
        held = create_memory(user.user_id, MemoryFields(memory_type="fact", content="Knows no song at all"))
        some = db.session.scalars(db.select(Memory).where(Memory.needs_review)).first()
        some.contradicts_id = held.memory_id
    answer = decide(login(user), number, "accept")
    assert "119 memories kept. 1 left as they were: they contradict another." in answer.text
    with app.app_context():
        waiting = db.session.scalars(db.select(Memory.memory_id).where(Memory.needs_review)).all()
    assert len(waiting) == 1


def test_a_group_is_dropped_as_a_whole_and_not_learned_again(
    app: Flask, user: Person, login: Callable[..., FlaskClient], imported: Callable[..., int]
) -> None:
    number = imported(user, [f"Knows the song number {count}" for count in range(120)])
    kept = imported(user, ["Lives in Porto"], "other.zip")
    browser = login(user)
    answer = decide(browser, number, "reject")
    assert "120 memories forgotten." in answer.text
    with app.app_context():
        assert db.session.scalars(db.select(Memory.content)).all() == ["Lives in Porto"]
        assert db.session.scalar(db.select(db.func.count()).select_from(MemoryTombstone)) >= 120
    assert browser.get(f"/imports/{kept}/proposals").status_code == 200


def test_a_large_group_says_what_is_left(
    user: Person, login: Callable[..., FlaskClient], imported: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proposal_pages, "SECONDS", -1.0)
    number = imported(user, [f"Knows the song number {count}" for count in range(130)])
    browser = login(user)
    answer = decide(browser, number, "accept")
    assert "100 memories kept. 30 are still waiting." in answer.text
    answer = decide(browser, number, "accept")
    assert "30 memories kept." in answer.text


def test_only_the_owner_decides(
    app: Flask,
    user: Person,
    anonymous: FlaskClient,
    login: Callable[..., FlaskClient],
    make_user: Callable[..., Person],
    imported: Callable[..., int],
) -> None:
    number = imported(user, ["Keeps bees on the roof"])
    for person in (make_user(), make_user(is_admin=True)):
        other = login(person)
        assert other.get(f"/imports/{number}/proposals").status_code == 404
        assert decide(other, number, "reject").status_code == 404
    assert anonymous.get(f"/imports/{number}/proposals").status_code in (302, 303, 401)
    assert decide(login(user), number, "both").status_code == 422
    with app.app_context():
        assert db.session.scalar(db.select(Memory.needs_review)) is True


def test_an_import_through_the_door_makes_a_group(
    user: Person, client: ApiClient, login: Callable[..., FlaskClient], run_jobs: Callable[..., Any]
) -> None:
    text = "[2024-05-01] - Lives in Lisbon\n[2024-06-01] - Has a dog named Rex"
    made = client.post("/api/imports", json={"text": text})
    assert made.status_code in (201, 202), made.text
    run_jobs()
    number = made.get_json()["import_id"]
    client.post(f"/api/imports/{number}/start", json={"take": ["memories"]})
    run_jobs()
    assert "2 memories waiting" in login(user).get("/memories/review").text
