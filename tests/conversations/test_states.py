"""What the list says of a conversation: being written, unread; and what it never lists."""

from datetime import timedelta

import pytest
from sqlalchemy import update

from testkit.people import csrf_token, post_form
from tests.support.queries import execute, get_row
from webapp.conversations.lists import list_conversations
from webapp.conversations.models import Conversation, Message
from webapp.conversations.schemas import ConversationQuery, NewConversation
from webapp.conversations.service import create_conversation
from webapp.db.base import add_row, db, now, write_transaction


@pytest.fixture
def talk(app, user) -> int:
    """A conversation with one finished exchange that has been looked at."""
    with app.app_context(), write_transaction():
        row = create_conversation(user.user_id, NewConversation(title="Knee exercises"))
        db.session.add(
            Message(conversation_id=row.conversation_id, role="assistant", content="Yes.", status="complete")
        )
        return row.conversation_id


def test_a_new_reply_is_unread_until_it_is_looked_at(app, talk, browser):
    assert "data-unread" not in browser.get("/sidebar", headers={"HX-Request": "true"}).text
    execute(app, update(Conversation).where(Conversation.conversation_id == talk).values(updated_at=now()))
    assert "data-unread" in browser.get("/sidebar", headers={"HX-Request": "true"}).text
    at = get_row(app, Conversation, talk).updated_at
    assert post_form(browser, f"/c/{talk}/seen", headers={"HX-Request": "true"}).status_code == 204
    assert "data-unread" not in browser.get("/sidebar", headers={"HX-Request": "true"}).text
    assert get_row(app, Conversation, talk).updated_at == at, "looking is no activity"


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/api/chat/stream"])
def test_what_a_program_was_sent_is_read(client, browser, path):
    body = {"message": "Hi"} if "api" in path else {"model": "default", "messages": [{"role": "user", "content": "Hi"}]}
    assert client.post(path, json=body).text
    assert "data-unread" not in browser.get("/sidebar", headers={"HX-Request": "true"}).text


def test_a_reply_being_written_is_said_in_the_list(app, talk, browser):
    execute(app, update(Message).where(Message.conversation_id == talk).values(status="streaming"))
    assert "data-writing" in browser.get("/sidebar", headers={"HX-Request": "true"}).text
    assert "data-writing" in browser.get(f"/c/{talk}").text, "also where the conversation itself was read before"


def test_temporary_ones_are_never_listed_or_found(app, user, client, browser):
    with app.app_context(), write_transaction():
        row = create_conversation(user.user_id, NewConversation(title="A quiet matter", is_temporary=True))
        db.session.add(Message(conversation_id=row.conversation_id, role="user", content="A quiet matter"))
        made = row.conversation_id
        assert list_conversations(user.user_id, ConversationQuery()).items == []
        assert list_conversations(user.user_id, ConversationQuery(q="quiet")).items == []
    assert client.get("/api/conversations?q=quiet").get_json()["conversations"] == []
    assert "A quiet matter" not in browser.get("/search?q=quiet").text
    assert browser.get(f"/c/{made}").status_code == 200


def test_what_was_done_is_said_with_its_name(talk, browser):
    for verb, said in (
        ("archive", "Archived “Knee exercises”."),
        ("unarchive", "Unarchived “Knee exercises”."),
        ("delete", "Deleted “Knee exercises”."),
        ("undelete", "Restored “Knee exercises”."),
    ):
        assert said in post_form(browser, f"/c/{talk}/{verb}", headers={"HX-Request": "true"}).text


def test_an_unknown_page_keeps_the_sidebar_of_whoever_is_signed_in(app, login, user, talk):
    page = login(user).get("/c/999999")
    assert page.status_code == 404 and 'id="sidebar"' in page.text and "Knee exercises" in page.text
    assert "Not found" in page.text
    assert 'id="sidebar"' not in app.test_client().get("/no/such/page").text


def test_a_reload_of_a_temporary_conversation_finds_it(app, user, login, make_user):
    """What its page says when it goes is taken back by its own reload, and by nothing else."""
    with app.app_context(), write_transaction():
        rows = {
            kind: Conversation(user_id=user.user_id, is_temporary=kind != "plain", deleted_at=at)
            for kind, at in (("left", now()), ("long ago", now() - timedelta(hours=1)), ("plain", now()))
        }
        db.session.add_all(rows.values())
        db.session.flush()
        ids = {kind: row.conversation_id for kind, row in rows.items()}

    def reload(browser, conversation_id, said):
        browser.set_cookie("left", f"{said}.1")
        return browser.get(f"/c/{conversation_id}").status_code

    browser, stranger = login(user), login(make_user(is_admin=True))
    assert reload(stranger, ids["left"], ids["left"]) == 404
    assert reload(browser, ids["left"], ids["plain"]) == 404
    assert reload(browser, ids["plain"], ids["plain"]) == 404
    assert reload(browser, ids["long ago"], ids["long ago"]) == 404
    assert reload(browser, ids["left"], ids["left"]) == 200
    browser.delete_cookie("left")
    assert browser.get(f"/c/{ids['left']}").status_code == 200


def test_the_word_that_it_was_left_may_come_after_the_reload(app, user, browser):
    """The browser sends both at once; on a busy machine the second is answered first."""
    with app.app_context(), write_transaction():
        row = add_row(Conversation(user_id=user.user_id, is_temporary=True))
        place = f"/c/{row.conversation_id}"
    token = csrf_token(browser.get(place).text)

    def leave(leaving):
        browser.post(f"{place}/delete", data={"csrf_token": token, "leaving": leaving})
        return browser.get(place).status_code

    browser.set_cookie("left", f"{place.rpartition('/')[2]}.1795372132100")
    assert browser.get(place).status_code == 200
    browser.delete_cookie("left")
    assert leave("1795372132100") == 200
    assert leave("1795372199999") == 404
