"""The queue of the review: one question at a time, a way back, nothing forgotten before the next decision."""

import html
import re
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from testkit.people import Person, post_form
from tests.memories.conversing import memories_of
from webapp.db.base import now, write_transaction
from webapp.memories import service
from webapp.memories.schemas import MemoryChanges, MemoryFields
from webapp.memories.store.outside_proposals import OutsideStatement, propose

HTMX = {"HX-Request": "true"}
ROOF, MOSS, GOATS = "Keeps bees on the roof", "Likes moss", "Keeps goats"


@pytest.fixture
def queue(app: Flask, user: Person) -> list[int]:
    """Three memories in review, the last of which is asked about first; their ids."""
    with app.app_context(), write_transaction():
        propose(user.user_id, [OutsideStatement(ROOF), OutsideStatement(MOSS), OutsideStatement(GOATS)], cause="mcp")
    return [row.memory_id for row in memories_of(app, user.user_id)]


@pytest.fixture
def birthdays(app: Flask, user: Person) -> tuple[int, int]:
    """The ids of a known birthday and of another one that waits."""
    with app.app_context(), write_transaction():
        fields = {"memory_type": "fact", "fact_key": "identity/birthday"}
        known = service.create_memory(
            user.user_id, MemoryFields(content="Birthday is 5 March 1985.", fact_value="1985-03-05", **fields)
        )
        propose(
            user.user_id,
            [OutsideStatement("Born on 4 March 1984", key="identity/birthday", value="1984-03-04")],
            cause="import",
        )
        return known.memory_id, known.memory_id + 1


def question(page: str) -> str:
    """What is asked about."""
    return html.unescape(re.search(r'<p class="mem-text">([^<]*)</p>', page)[1])


def fields_of(page: str, form: str) -> dict[str, str]:
    """The hidden fields of the form that posts to an address."""
    found = re.search(rf'<form[^>]*action="{re.escape(form)}".*?</form>', page, re.DOTALL)[0]
    return {
        name: html.unescape(value)
        for name, value in re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', found)
        if name != "csrf_token"
    }


def answer(browser: FlaskClient, page: str, memory_id: int, follow: bool = True, **given: Any) -> Any:
    """Decide about the memory asked about on a page of the queue; the page that follows."""
    place = f"/memories/{memory_id}/review"
    reply = post_form(browser, place, **{**fields_of(page, place), **given})
    return browser.get(reply.location) if follow and reply.status_code == 303 else reply


def test_one_question_at_a_time_with_its_place_in_the_queue(app, browser, user, queue):
    page = browser.get("/memories/review").text
    assert question(page) == GOATS and "1 of 3" in page and "From an import or another program" in page
    assert page.count(GOATS) == 1 and MOSS not in page and ROOF not in page, "nothing is listed twice"
    page = answer(browser, page, queue[2], decision="accept").text
    assert question(page) == MOSS and "2 of 3" in page and "Kept." in page
    undo = re.search(r'action="(/memories/changes/\d+/undo)"', page)[1]
    page = browser.get(post_form(browser, undo, **fields_of(page, undo)).location).text
    assert question(page) == GOATS and "1 of 3" in page, "what was kept is taken back"
    assert [row.needs_review for row in memories_of(app, user.user_id)] == [True, True, True]
    page = answer(browser, page, queue[2], decision="accept").text
    page = answer(browser, page, queue[1], decision="accept").text
    part = answer(browser, page, queue[0], False, decision="accept").location
    page = browser.get(part, headers=HTMX).text
    assert "All reviewed" in page and "as a list" not in page
    assert not any(row.needs_review for row in memories_of(app, user.user_id))


def test_what_was_discarded_is_forgotten_with_the_next_decision_and_taken_back_until_then(app, browser, user, queue):
    page = answer(browser, browser.get("/memories/review").text, queue[2], decision="reject").text
    assert f"Discarded: {GOATS}" in page and question(page) == MOSS and "2 of 3" in page
    assert len(memories_of(app, user.user_id)) == 3, "not yet"
    back = html.unescape(re.search(r'<a href="([^"]+)"[^>]*data-key="u"', page)[1])
    again = browser.get(back).text
    assert question(again) == GOATS and "1 of 3" in again
    assert question(browser.get("/memories/review").text) == GOATS, "who leaves without the script is asked again"
    answer(browser, page, queue[1], decision="accept")
    assert [row.content for row in memories_of(app, user.user_id)] == [ROOF, MOSS]


def test_the_last_one_discarded_is_forgotten_after_a_moment(app, browser, user, queue):
    with app.app_context(), write_transaction():
        for memory_id in queue[:2]:
            service.get_memory(user.user_id, memory_id).needs_review = False
    page = answer(browser, browser.get("/memories/review").text, queue[2], decision="reject").text
    assert "All reviewed" in page and "Discard for good" in page
    for _twice in range(2):
        said = post_form(browser, f"/memories/{queue[2]}/review", headers=HTMX, decision="reject")
        assert GOATS not in said.text and GOATS not in {row.content for row in memories_of(app, user.user_id)}
    assert said.status_code == 404


def test_one_that_is_left_for_later_is_asked_about_at_the_end(browser, queue):
    page = browser.get("/memories/review").text
    for number, content in ((2, MOSS), (3, ROOF)):
        page = browser.get(html.unescape(re.search(r'class="queue-later" href="([^"]+)"', page)[1])).text
        assert question(page) == content and f"{number} of 3" in page
    page = answer(browser, page, queue[0], decision="accept").text
    assert "You left 2 for later." in page
    assert question(browser.get("/memories/review").text) == GOATS


def test_edited_words_are_kept_and_refused_ones_are_not_lost(app, browser, user, queue):
    form = browser.get("/memories/review?edit=1").text
    assert f">{GOATS}</textarea>" in form
    wrong = answer(browser, form, queue[2], decision="accept", content="My password is hunter2hunter2")
    assert wrong.status_code == 422
    assert "secret" in wrong.text and "hunter2hunter2</textarea>" in wrong.text
    page = answer(browser, form, queue[2], decision="accept", content="Keeps two goats").text
    assert question(page) == MOSS
    row = memories_of(app, user.user_id)[2]
    assert (row.content, row.needs_review, row.edited_by_user) == ("Keeps two goats", False, True)


def test_another_value_of_a_known_key_waits_beside_it(app, browser, user, birthdays):
    known, new = birthdays
    page = browser.get("/memories/review").text
    assert "These two disagree" in page and "5 March 1985" in page and "4 March 1984" in page
    asked = answer(browser, page, new, decision="until")
    assert asked.status_code == 422 and "Say until when it was true." in asked.text and "1984" in asked.text
    answer(browser, page, new, decision="replace")
    rows = {row.memory_id: row for row in memories_of(app, user.user_id)}
    assert rows[known].valid_to is not None and not rows[new].needs_review


def test_what_disputes_something_that_has_ended_waits_alone(app, browser, client, user, birthdays):
    known, new = birthdays
    with app.app_context(), write_transaction():
        row = service.get_memory(user.user_id, new)
        row.contradicts_id = known
        service.update_memory(user.user_id, known, MemoryChanges(valid_to=now()))
    page = browser.get("/memories/review").text
    assert "Is this right?" in page and "These two disagree" not in page and "5 March 1985" not in page
    assert [one["kind"] for one in client.get("/api/proposals").json["proposals"]] == ["remember"]
    assert client.get("/api/proposals?kind=conflict").json["proposals"] == []
    assert client.post(f"/api/proposals/memory-{new}/accept", json={}).status_code == 200
    assert [row.valid_to is None and not row.needs_review for row in memories_of(app, user.user_id)] == [False, True]


@pytest.mark.parametrize("decision", ["accept", "reject"])
def test_what_another_tab_has_settled_is_not_asked_again(app, browser, user, queue, decision):
    page = browser.get("/memories/review").text
    answer(browser, page, queue[2], decision="accept")
    late = answer(browser, page, queue[2], decision=decision)
    assert late.status_code == 422 and "That memory no longer waits for a decision; nothing was changed." in late.text
    assert question(late.text) == MOSS and "Discarded" not in late.text
    assert [row.needs_review for row in memories_of(app, user.user_id)] == [True, True, False]


def test_what_is_about_to_be_forgotten_is_shown_to_its_person_alone(browser, queue, login, make_user):
    page = f"/memories/review?held={queue[2]}"
    assert GOATS in browser.get(page).text and GOATS not in login(make_user(is_admin=True)).get(page).text


def test_odd_addresses_begin_anew_and_a_queue_leads_nowhere_else(browser, queue):
    for odd in ("done=-3&of=x", "done=99999999999999999999", "held=0&last=x", "of=1&done=7"):
        assert question(browser.get(f"/memories/review?{odd}").text) == GOATS, odd
    form = {"decision": "accept", "queue": "https://elsewhere.example/"}
    assert post_form(browser, f"/memories/{queue[2]}/review", **form).location.startswith("/?")
