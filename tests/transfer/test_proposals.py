"""What imports brought, in groups of the review: counted, looked through, kept and dropped as a whole."""

import html
import math
from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from testkit.people import Person, csrf_token, post_form
from tests.support.queries import scalars
from webapp.db.base import add_row, db, write_transaction
from webapp.memories.models import Memory, MemoryChangeSet, MemoryTombstone
from webapp.memories.schemas import MemoryFields
from webapp.memories.service import create_memory
from webapp.memories.store.outside_proposals import OutsideStatement, propose
from webapp.transfer import proposal_pages, proposals
from webapp.transfer.models import Import


def decide(browser: FlaskClient, number: int, decision: str, page: str = "/memories/review") -> Any:
    """Send the form of a group; what is shown afterwards."""
    form = {"decision": decision, "csrf_token": csrf_token(browser.get(page).text)}
    return browser.post(f"/imports/{number}/proposals", data=form, follow_redirects=True)


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine, a request has time for a whole group, and for more than is decided at once."""
    monkeypatch.setattr(proposal_pages, "SECONDS", math.inf)
    monkeypatch.setattr(proposals, "BATCH_SIZE", 5)


@pytest.fixture
def make_import(app: Flask) -> Callable[..., int]:
    """`make_import(person, statements)`: an import that is done and proposed these; its id."""

    def make(person: Person, statements: list[str], filename: str = "memories.json") -> int:
        with app.app_context(), write_transaction():
            done = propose(person.user_id, [OutsideStatement(text) for text in statements], cause="import")
            of = {"user_id": person.user_id, "status": "done", "format": "chatgpt", "filename": filename}
            return add_row(Import(**of, counts={"messages": 9}, change_set_ids=[done.change_set_id])).import_id

    return make


def test_the_review_groups_what_came_together(app, user, make_import, browser):
    first = make_import(user, ["Keeps bees on the roof", "Plays the cello"])
    second = make_import(user, ["Lives in Porto"], "other.zip")
    with app.app_context(), write_transaction():
        propose(user.user_id, [OutsideStatement("Rides a unicycle")], cause="mcp")
        # Newer ones that brought nothing, or nothing that waits, take nobody's place.
        db.session.add_all(
            Import(user_id=user.user_id, status="done", filename=f"again{number}.zip", counts={}, change_set_ids=[])
            for number in range(25)
        )
    page = browser.get("/memories/review").text
    assert page.index("ChatGPT: other.zip") < page.index("ChatGPT: memories.json")
    assert "2 memories to review" in page and "1 memory to review" in page
    assert "Rides a unicycle" in page and "Keeps bees" not in page
    inside = browser.get(f"/imports/{first}/proposals").text
    assert "Plays the cello" in inside and "1 of 2" in inside
    assert not any(other in inside for other in ("Keeps bees", "Lives in Porto", "Rides a unicycle"))
    assert f"/imports/{second}/proposals" in page


def test_a_group_is_kept_as_a_whole_but_for_what_contradicts(app, user, login, make_import):
    number = make_import(user, [f"Knows the song number {count}" for count in range(6)])
    with app.app_context(), write_transaction():
        held = create_memory(user.user_id, MemoryFields(memory_type="fact", content="Knows no song at all"))
        some = db.session.scalars(db.select(Memory).where(Memory.needs_review)).first()
        some.contradicts_id = held.memory_id
    answer = decide(login(user), number, "accept")
    assert "5 memories kept. 1 left as they were: they contradict another." in answer.text
    assert len(scalars(app, db.select(Memory.memory_id).where(Memory.needs_review))) == 1
    kept = db.select(MemoryChangeSet.counts).where(MemoryChangeSet.cause == "review_accept")
    assert scalars(app, kept) == [{"updated": 4}, {"updated": 1}], "one change for each batch"


def test_a_group_is_dropped_as_a_whole_and_not_learned_again(app, user, make_import, browser):
    number = make_import(user, [f"Knows the song number {count}" for count in range(6)])
    kept = make_import(user, ["Lives in Porto"], "other.zip")
    answer = decide(browser, number, "reject")
    assert "6 memories forgotten." in answer.text
    assert decide(browser, kept, "both").status_code == 422
    with app.app_context():
        assert db.session.scalars(db.select(Memory.content)).all() == ["Lives in Porto"]
        assert db.session.scalar(db.select(db.func.count()).select_from(MemoryTombstone)) >= 6
    assert browser.get(f"/imports/{kept}/proposals").status_code == 200


def test_a_large_group_says_what_is_left(user, make_import, monkeypatch, browser):
    monkeypatch.setattr(proposal_pages, "SECONDS", -1.0)
    number = make_import(user, [f"Knows the song number {count}" for count in range(8)])
    assert "5 memories kept. 3 are still waiting." in decide(browser, number, "accept").text
    assert "Review 3 memories" in browser.get(f"/imports/{number}").text
    assert "3 memories kept." in decide(browser, number, "accept").text


def test_an_import_through_the_door_makes_a_group(user, client, login, run_jobs):
    text = "[2024-05-01] - Lives in Lisbon\n[2024-06-01] - Has a dog named Rex"
    made = client.post("/api/imports", json={"text": text})
    assert made.status_code in (201, 202), made.text
    run_jobs()
    number = made.get_json()["import_id"]
    client.post(f"/api/imports/{number}/start", json={"take": ["memories"]})
    run_jobs()
    page = login(user).get("/memories/review").text
    assert "2 memories to review" in page and "From your pasted list" in page


def test_a_group_has_a_queue_of_its_own(app, user, login, make_import):
    number = make_import(user, ["Keeps bees on the roof", "Plays the cello"])
    make_import(user, ["Lives in Porto"], "other.zip")
    browser, place = login(user), f"/imports/{number}/proposals"
    ids = scalars(app, db.select(Memory.memory_id).order_by(Memory.memory_id))
    form = {"queue": place, "asked": ids[1], "of": 2}
    wrong = post_form(browser, f"/memories/{ids[1]}/review", decision="until", **form)
    assert wrong.status_code == 422 and "Plays the cello" in wrong.text and "From ChatGPT: memories.json" in wrong.text
    then = post_form(browser, f"/memories/{ids[1]}/review", decision="accept", **form).location
    page = browser.get(then).text
    assert then.startswith(place) and "2 of 2" in page and "Keeps bees" in page


CAKE, CATS = "Birthday cake on 4 March is a must", "Has 4 cats and 1984 books"


@pytest.mark.parametrize(
    ("known", "value", "brought", "others"),
    [
        ("Birthday is 5 March 1985.", "1985-03-05", "Birthday is 4 March 1984", (CAKE, CATS)),
        ("The user's birthday is 1985-03-05.", "1985-03-05", "The user's birthday is 4 March 1984", ()),
        ("Birthday: 5 March 1985", "5 March 1985", "birthday: 4 March 1984", ()),
    ],
)
def test_another_value_of_a_known_key_waits_beside_it(app, user, login, make_import, known, value, brought, others):
    with app.app_context(), write_transaction():
        fields = {"memory_type": "fact", "fact_key": "identity/birthday", "fact_value": value}
        create_memory(user.user_id, MemoryFields(content=known, **fields))
        twice = OutsideStatement("Birthday on 5 March", key="identity/date_of_birth", value=value)
        assert propose(user.user_id, [twice], cause="import").counts == {"known": 1}, "the same value is known"
    browser = login(user)
    for said in (brought, *others):
        page = html.unescape(browser.get(f"/imports/{make_import(user, [said])}/proposals").text)
        assert ("These two disagree" if said == brought else "Is this right?") in page, said
        assert page.count(said) == 1 and (page.count(known) == 1) == (said == brought), said
