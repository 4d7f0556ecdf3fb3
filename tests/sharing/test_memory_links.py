"""Which replies used a memory: what the report of forgetting names, and whom it names it to."""

from datetime import timedelta

import pytest
from sqlalchemy import select

from testkit.people import post_form
from tests.memories.conversing import converse
from tests.support.queries import change_row
from webapp.chat import service
from webapp.conversations.models import Conversation, Message
from webapp.db.base import db, now, write_transaction
from webapp.memories.store.reach import MAX_NAMED
from webapp.retrieval.models import TurnReceipt
from webapp.sharing.models import ConversationShare


@pytest.fixture
def memory_id(client):
    body = {"memory_type": "fact", "content": "Allergic to walnuts."}
    return client.post("/api/memories", json=body).json["memory_id"]


def replies(app, talk):
    with app.app_context():
        found = select(Message.message_id).where(Message.conversation_id == talk, Message.role == "assistant")
        return list(db.session.scalars(found.order_by(Message.message_id)))


def use(app, memory_id, *reply_ids, injected=True, **changed):
    """Put a memory on the receipts of replies."""
    line = {"kind": "memory", "passage_id": memory_id, "revision": 1, "stage": "known", "rank": 1, "score": 1}
    with app.app_context(), write_transaction():
        for reply_id in reply_ids:
            db.session.add(TurnReceipt(message_id=reply_id, **line, reason="known", injected=injected))
            row = db.session.get(Message, reply_id)
            for name, value in ({"content": "Nuts of that sort are not for you."} | changed).items():
                setattr(row, name, value)


def link(app, user_id, talk, **fields):
    with app.app_context(), write_transaction():
        values = {"token": f"t{talk}{sorted(fields)}", "is_live": "message_ids" not in fields} | fields
        db.session.add(ConversationShare(user_id=user_id, conversation_id=talk, **values))


def used_messages(report):
    return [(item["message_id"], item["is_shared"]) for item in report["used_in"]]


def test_the_report_names_the_replies_that_used_it_and_only_those(app, client, user, memory_id):
    talk, gone = converse(app, user.user_id, "One", "Two", "Three", "Four"), converse(app, user.user_id, "Five")
    first, second, third, fourth = replies(app, talk)
    use(app, memory_id, first, third)
    use(app, memory_id, second, injected=False)
    use(app, memory_id, fourth, status="streaming")
    use(app, memory_id, *replies(app, gone))
    client.delete(f"/api/conversations/{gone}")
    report = client.delete(f"/api/memories/{memory_id}").json
    assert report["used_in"] == [
        {"message_id": message_id, "conversation_id": talk, "is_shared": False} for message_id in (third, first)
    ]
    assert (report["used_in_count"], report["used_by_others"]) == (2, 0)
    assert client.get("/api/memories/changes").json["changes"][0]["counts"] == {
        "forgotten": 1,
        "used_in": 2,
        "used_by_others": 0,
    }


def test_replies_that_a_link_shows_come_first_and_are_marked(app, client, user, memory_id):
    talk, other, ended = (converse(app, user.user_id, "One", "Two", "Three") for _ in range(3))
    first, second, third = replies(app, talk)
    use(app, memory_id, *replies(app, talk), *replies(app, other), *replies(app, ended))
    link(app, user.user_id, talk, message_ids=[first])
    link(app, user.user_id, talk, last_message_id=second, first_message_id=second)
    link(app, user.user_id, ended, expires_at=now() - timedelta(days=1))
    link(app, user.user_id, other, expires_at=now() + timedelta(days=1))
    change_row(app, Message, replies(app, other)[0], superseded_by_id=replies(app, other)[1])
    shown = [*reversed(replies(app, other)[1:]), second, first]
    report = client.delete(f"/api/memories/{memory_id}").json
    assert used_messages(report)[:4] == [(message_id, True) for message_id in shown]
    rest = [*replies(app, ended), replies(app, other)[0], third]
    assert used_messages(report)[4:] == [(message_id, False) for message_id in sorted(rest, reverse=True)]
    assert report["used_in_count"] == 9


def test_of_many_replies_the_newest_are_named_and_all_are_counted(app, client, user, make_user, memory_id):
    """Copies in a branch, too; of replies to others only their number is told, whatever link there is."""
    talk = converse(app, user.user_id, *(f"Said {number}" for number in range(MAX_NAMED + 3)))
    other = make_user()
    theirs = converse(app, other.user_id, "One", "Two")
    use(app, memory_id, *replies(app, talk), *replies(app, theirs))
    link(app, other.user_id, theirs)
    with app.app_context(), write_transaction():
        copied = service.branch(user.user_id, replies(app, talk)[0]).conversation_id
    used = [*replies(app, talk), *replies(app, copied)]
    report = client.delete(f"/api/memories/{memory_id}").json
    assert [number for number, _ in used_messages(report)] == sorted(used, reverse=True)[:MAX_NAMED]
    assert (report["used_in_count"], report["used_by_others"]) == (MAX_NAMED + 4, 2)


def test_the_page_and_the_change_log_link_to_them(app, client, user, make_user, memory_id, browser):
    talk = converse(app, user.user_id, *(f"Said {number}" for number in range(7)))
    used = replies(app, talk)
    use(app, memory_id, *used)
    link(app, user.user_id, talk, message_ids=[used[0]])
    use(app, memory_id, *replies(app, converse(app, make_user().user_id, "One")))
    history = browser.get(f"/memories/{memory_id}").text
    page = post_form(browser, f"/memories/{memory_id}/forget").text
    change = client.get("/api/memories/changes").json["changes"][0]["change_set_id"]
    for text in (history, page, browser.get(f"/memories/changes/{change}").text):
        assert "7 replies used it and may say it in other words:" in text and "and 2 more" in text
        assert text.index(f'/messages/{used[0]}"') < text.index(f'/messages/{used[6]}"')
        assert text.count("(shared by link)") == 1
        assert "1 reply to other members used it" in text
    with app.app_context(), write_transaction():
        db.session.delete(db.session.get(Conversation, talk))
    assert "in other words" not in browser.get(f"/memories/changes/{change}").text, "no reply that is gone is named"
    body = {"memory_type": "fact", "content": "Owns a boat."}
    several = client.post("/api/memories", json=body).json["memory_id"]
    use(app, several, *replies(app, converse(app, user.user_id, "One")))
    post_form(browser, "/memories/many", action="forget", ids=several, confirm="1")
    assert "1 reply may say it in other words" in browser.get("/memory").text
