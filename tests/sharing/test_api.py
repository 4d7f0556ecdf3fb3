"""Links by the API and as pages: who sees what, and that nothing but the messages goes out."""

from datetime import timedelta
from itertools import product

import pytest

from testkit.people import DEACTIVATIONS, browser_client, deactivate, post_form, reactivate
from tests.support.queries import change_row, scalars
from webapp.conversations.models import Conversation, Message
from webapp.db.base import add_row, db, now, write_transaction
from webapp.sharing.models import ConversationShare
from webapp.sharing.service import PAGE_LENGTH


@pytest.fixture
def other(make_user):
    """Somebody else."""
    return make_user()


@pytest.fixture
def talk(app, user):
    """A conversation of four messages; its id and theirs."""
    with app.app_context(), write_transaction():
        conversation = add_row(Conversation(user_id=user.user_id, title="Trip to Lisbon", message_count=4))
        ids = []
        for number, role in enumerate(("user", "assistant", "user", "assistant"), 1):
            calls = [{"tool_name": "remember", "input": {"content": "a secret of client"}}]
            of = {"conversation_id": conversation.conversation_id, "parent_id": ids[-1] if ids else None}
            row = add_row(Message(role=role, content=f"Words {number}", tool_calls=calls, **of))
            ids.append(row.message_id)
        return conversation.conversation_id, ids


def _share(api, conversation_id, **body):
    answer = api.post(f"/api/conversations/{conversation_id}/shares", json=body)
    assert answer.status_code == 201, answer.text
    return answer.get_json()


def _page(client, url):
    return client.get("/s/" + url.rpartition("/s/")[2])


def _say(app, conversation_id, content, **more):
    with app.app_context(), write_transaction():
        return add_row(Message(conversation_id=conversation_id, role="user", content=content, **more)).message_id


def test_a_snapshot_stays_as_it_was_and_a_live_link_follows(app, client, talk):
    conversation_id, ids = talk
    snapshot, live = _share(client, conversation_id), _share(client, conversation_id, live=True)
    _say(app, conversation_id, "Said later")
    visitor = browser_client(app)
    first, second = _page(visitor, snapshot["url"]), _page(visitor, live["url"])
    for answer in (first, second):
        assert answer.status_code == 200
        assert "Words 4" in answer.text and "Trip to Lisbon" in answer.text
        assert "a secret of client" not in answer.text
        assert "noindex" in answer.headers["X-Robots-Tag"]
    assert "Said later" not in first.text
    assert "Said later" in second.text and "Live" in second.text
    change_row(app, Message, ids[3], superseded_by_id=ids[2])
    assert "Words 4" in _page(visitor, snapshot["url"]).text
    assert "Words 4" not in _page(visitor, live["url"]).text


def test_a_range_shows_only_its_messages_and_not_the_title_of_the_whole(app, client, talk):
    conversation_id, ids = talk
    for live in (False, True):
        made = _share(client, conversation_id, live=live, **{"from": ids[1], "to": ids[2]})
        assert (made["from"], made["to"]) == (ids[1], ids[2])
        text = _page(browser_client(app), made["url"]).text
        assert "Words 2" in text and "Words 3" in text
        assert "Words 1" not in text and "Words 4" not in text
        for edge in ("from", "to"):
            made = _share(client, conversation_id, live=live, **{edge: ids[1]})
            assert "Lisbon" not in _page(browser_client(app), made["url"]).text, edge
            assert made["title"] == "Trip to Lisbon"  # for its owner


def test_bad_wishes_are_422(client, talk):
    conversation_id, ids = talk
    for body in (
        {"from": 999_999},
        {"from": ids[2], "to": ids[1]},
        {"to": 2**31},
        {"audience": "everybody"},
        {"expires_at": "2001-01-01T00:00:00Z"},
        {"expires_at": "2038-01-20T00:00:00Z"},
        {"expires_at": "9999-12-31T23:59:59-14:00"},
        {"expires_at": "0001-01-01T00:00:00+14:00"},
        {"live": "yes"},
    ):
        assert client.post(f"/api/conversations/{conversation_id}/shares", json=body).status_code == 422, body
    for fields in ({}, {"is_temporary": True}):  # there is nothing to share
        made = client.post("/api/conversations", json=fields).get_json()
        assert client.post(f"/api/conversations/{made['conversation_id']}/shares", json={}).status_code == 409, fields


def test_revoked_expired_and_deleted_links_show_nothing(app, client, talk):
    conversation_id, _ = talk
    revoked, expired, gone = (_share(client, conversation_id, live=True) for _ in range(3))
    assert client.delete(f"/api/shares/{revoked['share_id']}").status_code == 204
    assert client.delete(f"/api/shares/{revoked['share_id']}").status_code == 404
    change_row(app, ConversationShare, expired["share_id"], expires_at=now() - timedelta(seconds=1))
    visitor = browser_client(app)
    assert _page(visitor, revoked["url"]).status_code == 404
    assert _page(visitor, expired["url"]).status_code == 404
    assert _page(visitor, gone["url"]).status_code == 200
    shares = client.get("/api/shares").get_json()["shares"]
    assert [share["is_expired"] for share in shares] == [False, True]
    change_row(app, Conversation, conversation_id, deleted_at=now())
    assert _page(visitor, gone["url"]).status_code == 404
    assert client.get("/api/shares").get_json()["shares"] == []


def test_a_link_for_accounts_asks_others_to_sign_in(app, client, other, talk):
    made = _share(client, talk[0], audience="accounts")
    answer = _page(browser_client(app), made["url"])
    assert answer.status_code == 303 and "/login?next=/s/" in answer.location
    assert "Words 1" in _page(browser_client(app, other), made["url"]).text
    assert browser_client(app).get("/s/unknown").status_code == 404


def test_lists_are_paged_and_the_same_key_makes_one_link(client, talk):
    made = [_share(client, talk[0])["share_id"] for _ in range(2)]
    asked = {"json": {}, "headers": {"Idempotency-Key": "once"}}
    once, again = (client.post(f"/api/conversations/{talk[0]}/shares", **asked).get_json() for _ in range(2))
    assert once == again
    made.append(once["share_id"])
    page = client.get("/api/shares?limit=2").get_json()
    rest = client.get(f"/api/shares?limit=2&cursor={page['next_cursor']}").get_json()
    assert [share["share_id"] for share in page["shares"] + rest["shares"]] == made[::-1]
    assert rest["next_cursor"] is None
    assert client.get("/api/shares?cursor=nonsense").status_code == 422


def test_long_conversations_come_in_parts(app, client, talk):
    conversation_id, _ = talk
    for number in range(PAGE_LENGTH):
        last = _say(app, conversation_id, f"Line {number}.")
    for live in (False, True):
        made = _share(client, conversation_id, live=live)
        text = _page(browser_client(app), made["url"]).text
        assert f"Line {PAGE_LENGTH - 5}." in text and f"Line {PAGE_LENGTH - 1}." not in text
        rest = _page(browser_client(app), made["url"] + f"?after={last - 4}").text
        assert f"Line {PAGE_LENGTH - 1}." in rest and "From the beginning" in rest


def test_links_are_made_and_revoked_on_their_page(app, talk, browser):
    place = f"/c/{talk[0]}/share"
    assert post_form(browser, place, page=place, kind="snapshot").status_code == 303
    assert "Shared live" not in browser.get(f"/c/{talk[0]}").text
    with app.app_context(), write_transaction():
        db.session.query(ConversationShare).delete()
    assert post_form(browser, place, page=place, kind="live", audience="accounts", expires="7").status_code == 303
    page = browser.get(place).text
    assert "Live link" in page and "People with an account" in page and "/s/" in page
    (share,) = scalars(app, db.select(ConversationShare))
    assert share.is_live and timedelta(days=6) < share.expires_at - now() < timedelta(days=8)
    share_id = share.share_id
    assert "Trip to Lisbon" in browser.get("/shares").text
    assert "Shared live" in browser.get(f"/c/{talk[0]}").text
    assert post_form(browser, f"/shares/{share_id}/revoke", page="/shares").status_code == 303
    assert "Nothing is shared" in browser.get("/shares").text
    assert "Shared live" not in browser.get(f"/c/{talk[0]}").text


def test_a_range_is_chosen_on_the_page_by_its_questions(app, talk, browser):
    conversation_id, ids = talk
    place = f"/c/{conversation_id}/share"
    assert f'value="{ids[2]}">Words 3<' in browser.get(place).text
    assert post_form(browser, place, page=place, **{"from": ids[2], "to": ""}).status_code == 303
    assert post_form(browser, place, page=place, **{"from": "", "to": ids[1]}).status_code == 303
    assert "Part of it" in browser.get(place).text
    rows = scalars(app, db.select(ConversationShare).order_by(ConversationShare.share_id))
    assert [row.message_ids for row in rows] == [ids[2:], ids[:2]]
    refused = post_form(browser, place, page=place, **{"from": ids[2], "to": ids[1]})
    assert refused.status_code == 422 and "comes before" in refused.text


def test_a_range_that_cannot_be_read_shares_nothing(app, talk, browser):
    place = f"/c/{talk[0]}/share"
    for name, edge in product(("from", "to"), ("9" * 5_000, "all", "-1", "0")):
        answer = post_form(browser, place, page=place, **{name: edge})
        assert answer.status_code == 422 and "is not a message of this conversation" in answer.text, (name, edge)
    assert scalars(app, db.select(ConversationShare)) == []


@pytest.mark.parametrize("way", DEACTIVATIONS)
def test_links_work_only_while_their_owners_account_is_in_use(app, client, user, other, talk, way):
    """For visitors, for those with an account, and for the owner's own browser; however old the link."""
    links = [
        _share(client, talk[0], live=live, audience=who) for live in (False, True) for who in ("anyone", "accounts")
    ]
    visitors = [browser_client(app), browser_client(app, other), browser_client(app, user)]
    deactivate(app, user, way)
    for visitor in visitors:
        for link in links:
            for after in ("", "?after=1"):
                answer = _page(visitor, link["url"] + after)
                assert answer.status_code == 404 and "Words" not in answer.text and "Lisbon" not in answer.text
    reactivate(app, user, way)
    for link in links:
        assert "Words 4" in _page(visitors[1], link["url"]).text
