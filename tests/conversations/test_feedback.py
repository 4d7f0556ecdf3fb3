"""Ratings of replies: whose they are, what admins see of them, and their end."""

import contextlib
import re
import threading

import pytest

from testkit.people import api_client, post_form
from tests.support.interleaving import at_once
from tests.support.queries import change_row, execute, get_row, scalars
from webapp.audit.models import AuditEvent
from webapp.conversations import feedback
from webapp.conversations.models import Conversation, Message, MessageFeedback
from webapp.db.base import add_row, db, now, write_transaction

SECRET = "my zanzibar quokka"


@pytest.fixture
def exchange(app, user):
    """A question and its reply; their ids."""
    with app.app_context(), write_transaction():
        conversation = add_row(Conversation(user_id=user.user_id, title="Quokkas", message_count=2))
        rows = []
        for role, content in (("user", "What is it?"), ("assistant", f"It is {SECRET}.")):
            row = Message(conversation_id=conversation.conversation_id, role=role, content=content, status="complete")
            row.parent_id = rows[-1].message_id if rows else None
            add_row(row)
            rows.append(row)
        rows[1].reply_to_id, rows[1].model, rows[1].prompt_version = rows[0].message_id, "gpt-x", "chat@3"
        return [row.message_id for row in rows]


@pytest.fixture
def admin(make_user):
    return make_user(is_admin=True)


def _rate(client, message_id, **fields):
    return client.put(f"/api/messages/{message_id}/feedback", json={"rating": "down", **fields})


def test_a_rating_is_given_changed_and_taken_back(client, exchange):
    place = f"/api/messages/{exchange[1]}/feedback"
    assert client.get(place).status_code == 404
    given = _rate(client, exchange[1], reasons=["wrong", "tone", "wrong"], comment="No").get_json()
    assert (given["rating"], given["reasons"], given["comment"]) == ("down", ["wrong", "tone"], "No")
    assert (given["model"], given["prompt_version"], given["may_read"]) == ("gpt-x", "chat@3", False)
    changed = _rate(client, exchange[1], rating="up").get_json()
    assert (changed["rating"], changed["reasons"], changed["comment"]) == ("up", [], "")
    assert client.get(place).get_json() == changed
    for _ in range(2):
        assert client.delete(place).status_code == 204
    assert client.get(place).status_code == 404


def test_two_thumbs_at_once_are_one_rating(app, user, exchange, monkeypatch):
    read, both = feedback.get_message, threading.Barrier(2)

    def read_together(*given):
        message = read(*given)
        with contextlib.suppress(threading.BrokenBarrierError):  # SQLite lets one in after the other
            both.wait(3)
        return message

    monkeypatch.setattr(feedback, "get_message", read_together)
    clients = [api_client(app, user) for _ in range(2)]
    assert at_once(*(lambda c=c: _rate(c, exchange[1]).status_code for c in clients)) == [200, 200]


def test_only_a_written_reply_is_rated_and_bad_wishes_are_422(app, client, exchange):
    for fields in ({"rating": "meh"}, {"reasons": ["because"]}, {"comment": "a" * 2_001}, {"may_read": "yes"}):
        assert _rate(client, exchange[1], **fields).status_code == 422, fields
    assert _rate(client, exchange[0]).status_code == 409
    change_row(app, Message, exchange[1], status="streaming")
    assert _rate(client, exchange[1]).status_code == 409


def test_admins_see_counts_and_no_text_without_consent(app, client, api, login, admin, exchange):
    _rate(client, exchange[1], comment=SECRET, reasons=["wrong"])
    seen = api(admin)
    (line,) = seen.get("/api/feedback/counts").get_json()["counts"]
    assert (line["model"], line["prompt_version"], line["up"], line["down"]) == ("gpt-x", "chat@3", 0, 1)
    assert line["day"] == now().date().isoformat()
    page = login(admin).get("/admin/feedback")
    assert "gpt-x" in page.text and "chat@3" in page.text
    assert SECRET not in page.text
    assert seen.get("/api/feedback").get_json()["feedback"] == []
    assert scalars(app, db.select(AuditEvent).filter_by(action="admin_looked")) == []


def test_with_consent_admins_read_it_and_the_person_sees_that(app, user, client, api, login, admin, exchange):
    _rate(client, exchange[1], comment="Not mine", may_read=True)
    (found,) = api(admin).get("/api/feedback").get_json()["feedback"]
    assert (found["reply"], found["comment"]) == (f"It is {SECRET}.", "Not mine")
    page = login(admin).get("/admin/feedback").text
    assert SECRET in page and "Not mine" in page
    looks = scalars(app, db.select(AuditEvent).filter_by(user_id=user.user_id, action="admin_looked"))
    assert [look.what for look in looks] == [f"reply {exchange[1]}"] * 2, "by a token and in a browser"
    _rate(client, exchange[1], may_read=False)
    assert api(admin).get("/api/feedback").get_json()["feedback"] == []
    assert SECRET not in login(admin).get("/admin/feedback").text


def test_a_deleted_conversation_is_not_read_and_takes_its_ratings_along(app, client, api, admin, exchange):
    _rate(client, exchange[1], may_read=True)
    change_row(app, Conversation, get_row(app, Message, exchange[1]).conversation_id, deleted_at=now())
    assert api(admin).get("/api/feedback").get_json()["feedback"] == []
    execute(app, db.delete(Conversation))
    assert scalars(app, db.select(MessageFeedback)) == []


def test_lists_of_what_may_be_read_are_paged(app, client, api, admin, exchange):
    with app.app_context(), write_transaction():
        first = db.session.get(Message, exchange[1])
        for number in range(2):
            row = add_row(Message(conversation_id=first.conversation_id, role="assistant", content=f"More {number}"))
            exchange.append(row.message_id)
    for message_id in exchange[1:]:
        assert _rate(client, message_id, may_read=True).status_code == 200
    page = api(admin).get("/api/feedback?limit=2").get_json()
    rest = api(admin).get(f"/api/feedback?limit=2&cursor={page['next_cursor']}").get_json()
    assert [item["message_id"] for item in page["feedback"] + rest["feedback"]] == exchange[:0:-1]
    assert api(admin).get("/api/feedback?cursor=nonsense").status_code == 422
    assert api(admin).get("/api/feedback/counts?days=0").status_code == 422


def test_thumbs_work_without_scripts(app, exchange, browser):
    home = f"/c/{get_row(app, Message, exchange[1]).conversation_id}"
    place = f"/messages/{exchange[1]}/feedback"
    assert post_form(browser, place, page=home, rating="down").location.endswith(place)
    assert re.search(r'value="down"\s+aria-pressed="true"', browser.get(home).text)
    assert "Incomplete" in browser.get(place).text
    form = {"reason": ["incomplete", "helpful", "x"], "comment": " Say more ", "may_read": "on"}
    assert post_form(browser, f"{place}/why", page=home, **form).status_code == 303
    row = get_row(app, MessageFeedback, exchange[1])
    assert (row.reasons, row.comment, row.may_read) == (["incomplete"], "Say more", True)
    assert "Say more" in browser.get(place).text
    assert post_form(browser, place, page=home, rating="down").status_code == 303
    assert 'aria-pressed="true"' not in browser.get(home).text.split('class="rate"')[1][:900]
    assert "not been rated" in browser.get(place).text
    assert post_form(browser, f"{place}/why", page=home).status_code == 404
