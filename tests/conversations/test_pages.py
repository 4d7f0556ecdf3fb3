"""Pages and fragments of conversations: what each shows, and to whom."""

import json
import re
from datetime import UTC, datetime, timedelta
from html import unescape
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import update

from testkit.people import csrf_token, post_form
from tests.conversations.rows import add_messages
from tests.support.queries import execute, scalar
from webapp.conversations.models import Conversation, Message
from webapp.conversations.schemas import ConversationChanges, NewConversation
from webapp.conversations.service import create_conversation, update_conversation
from webapp.db.base import db, write_transaction

HTMX = {"HX-Request": "true"}


@pytest.fixture
def talk(app):
    """`talk(person, title)`: the id of a new conversation."""

    def make(person, title="Talk", **changes) -> int:
        with app.app_context(), write_transaction():
            row = create_conversation(person.user_id, NewConversation(title=title))
            if changes:
                update_conversation(person.user_id, row.conversation_id, ConversationChanges(**changes))
            return row.conversation_id

    return make


def test_the_first_page_is_friendly_and_empty_and_leads_to_the_files_and_to_import_and_export(browser):
    page = browser.get("/").text
    assert "Your conversations appear here" in page
    assert re.search(r"<h1>Good (morning|afternoon|evening), Person</h1>", page)
    assert page.count('href="/files"') == 2, "in the account's menu and among the commands"
    assert re.search(r'href="/transfer"\s+data-words=', page)


def test_keys_are_called_what_is_on_them(browser):
    assert "Strg" not in browser.get("/").text
    browser.set_cookie("language", "de")
    page = browser.get("/").text
    assert "Strg" in page and "Umschalt" in page and "Ctrl" not in page


def test_htmx_gets_the_page_without_its_shell(browser, user, talk):
    id = talk(user, "Talk <b>")
    whole, part = browser.get(f"/c/{id}").text, browser.get(f"/c/{id}", headers=HTMX).text
    assert 'id="sidebar"' in whole and 'aria-current="page"' in whole
    assert 'id="sidebar"' not in part and 'id="composer"' in part
    assert "<title>Talk &lt;b&gt; · Commonplace</title>" in part
    restored = browser.get(f"/c/{id}", headers={**HTMX, "HX-History-Restore-Request": "true"}).text
    assert 'id="sidebar"' in restored


def test_rename(browser, user, talk):
    id = talk(user, "Before")
    assert 'value="Before"' in browser.get(f"/c/{id}/title", headers=HTMX).text
    answer = post_form(browser, f"/c/{id}/title", headers=HTMX, title="  After ")
    assert answer.status_code == 200
    assert f'hx-target="#side-title-{id}"' in answer.text and ">After<" in answer.text
    for wrong in ("", "   ", "x" * 256):
        refused = post_form(browser, f"/c/{id}/title", headers=HTMX, title=wrong)
        assert refused.status_code == 422 and "A title must" in refused.text
    plain = post_form(browser, f"/c/{id}/title", title="By hand")
    assert plain.status_code == 303 and plain.location == f"/c/{id}"
    in_list = post_form(browser, f"/c/{id}/title", headers=HTMX, title="From the list", place="sidebar")
    assert in_list.text.lstrip().startswith("<li")


def test_delete_can_be_undone(browser, user, talk):
    id = talk(user, "Regretted")
    answer = post_form(browser, f"/c/{id}/delete", headers=HTMX)
    assert answer.headers["HX-Retarget"] == "#toasts" and answer.headers["HX-Trigger"] == "conversations:changed"
    assert f'hx-post="/c/{id}/undelete"' in answer.text and 'data-seconds="10"' in answer.text
    assert browser.get(f"/c/{id}").status_code == 404
    assert "Undo" not in post_form(browser, f"/c/{id}/undelete", headers=HTMX).text
    assert browser.get(f"/c/{id}").status_code == 200


def test_archive_moves_between_the_lists(browser, user, talk):
    id = talk(user, "Old stuff")
    assert post_form(browser, f"/c/{id}/archive").location == "/"
    assert "Old stuff" not in browser.get("/sidebar", headers=HTMX).text
    assert "Old stuff" in browser.get("/archive").text
    assert "Old stuff" in browser.get("/find?q=old", headers=HTMX).text.replace("<mark>", "").replace("</mark>", "")
    assert post_form(browser, f"/c/{id}/unarchive").location == f"/c/{id}"
    assert "Old stuff" in browser.get("/sidebar", headers=HTMX).text


def test_the_sidebar_pages_without_gaps_or_repetitions(browser, user, talk):
    expected = [talk(user, f"Talk {number}") for number in range(7)][::-1]
    found, path = [], "/sidebar?count=3"
    while path:
        part = browser.get(path, headers=HTMX).text
        found += [int(id) for id in re.findall(r'id="side-(\d+)"', part)]
        more = re.search(r'hx-get="(/sidebar\?[^"]+)"', part)
        if found[3:]:
            assert 'class="side-heading"' not in part  # the day goes on, so its heading is not repeated
        path = more[1].replace("&amp;", "&") + "&count=3" if more else None
    assert found == expected


def test_odd_positions_and_requests_for_the_sidebar_are_answered(browser, user, talk):
    for query in ("cursor=garbage", "count=-1", "count=x", "count=99999999999", "after=" + "x" * 5000):
        assert browser.get(f"/sidebar?{query}", headers=HTMX).status_code in (200, 422), query
    place = f"/c/{talk(user)}"
    for query in ("at=abc", "at=-1", "at=99999999999", "before=x", "before=0"):
        assert browser.get(f"{place}?{query}").status_code == 200, query


def test_the_sidebar_has_four_rooms_one_search_and_the_account_alone_at_its_foot(browser, user):
    side = re.search(r'<side-panel class="sidebar".*?</side-panel>', browser.get("/memory").text, re.DOTALL)[0]
    rooms = re.findall(r'class="side-room"\s+href="([^"]+)"(?:\s+(aria-current="page"))?', side)
    assert rooms == [("/memory", 'aria-current="page"'), ("/journeys", ""), ("/spaces", ""), ("/organise", "")]
    portrait = browser.get("/memories/portrait").text
    # The room one is in, on any of its pages.
    assert re.search(r'class="side-room"\s+href="/memory"\s+aria-current="true"', portrait)
    assert side.count('role="search"') == 1 and 'role="search" action="/find"' in side
    foot = side[side.index('class="side-foot"') :]
    assert foot.index("</menu-button>") > foot.rindex("<a ")
    assert f">{user.name}</span>" in foot and 'href="/archive"' in foot


def test_the_list_is_divided_in_the_readers_time_zone_and_language(app, browser, user, talk):
    id = talk(user, "Late at night")
    zone = ZoneInfo("Pacific/Kiritimati")  # 14 hours ahead of UTC
    begins = datetime.now(zone).replace(hour=0, minute=0, second=0, microsecond=0).astimezone(UTC)
    browser.set_cookie("tz", "Pacific/Kiritimati")
    for at, heading in ((begins, "Heute"), (begins - timedelta(seconds=1), "Gestern")):
        execute(app, update(Conversation).where(Conversation.conversation_id == id).values(updated_at=at))
        answer = browser.get("/sidebar", headers={**HTMX, "Accept-Language": "de"})
        assert re.findall(r'class="side-heading">([^<]+)<', answer.text) == [heading]


def test_the_panel_is_closed_until_it_holds_something(browser, user, talk, client, login, make_user):
    def state(path, person=browser):
        return re.search(r'data-panel="([^"]*)"', person.get(path).text)[1]

    place = f"/c/{talk(user)}"
    assert [state("/"), state(place)] == ["closed", "closed"]
    client.post("/api/memories", json={"memory_type": "fact", "content": "Plays the cello"})
    assert [state("/"), state(place)] == ["auto", "auto"]
    browser.set_cookie("panel", "closed")
    assert state(place) == "closed"
    browser.set_cookie("panel", "open")
    assert state("/") == "open"
    assert state("/", login(make_user())) == "closed"


def test_search_marks_escapes_and_reads_without_markup(app, browser, user, talk):
    add_messages(app, talk(user, "A <script> about herons"), 1, text="Before\n\nOld [heron](https://example.org/a)")
    page = browser.get("/find?q=heron").text
    assert "A &lt;script&gt; about <mark>heron</mark>s" in page and "Old <mark>heron</mark> 0</span>" in page
    assert "](https://<mark>example</mark>.org/a)" in browser.get("/find?q=example").text, "by the markup alone"
    assert "Nothing found for “%”" in browser.get("/find?q=%25").text
    assert "Type a word" in browser.get("/find?q=", headers=HTMX).text


def test_the_former_address_of_search_leads_to_the_one_there_is(browser):
    moved = browser.get("/search?q=two+herons")
    assert (moved.status_code, moved.location) == (301, "/find?q=two+herons")
    assert browser.get("/search").location == "/find"


def test_a_temporary_conversation_offers_nothing_that_would_put_it_into_a_list(app, browser, user):
    with app.app_context(), write_transaction():
        kept, passing = (
            create_conversation(user.user_id, NewConversation(title="Talk", is_temporary=flag)).conversation_id
            for flag in (False, True)
        )
    shown, fleeting = browser.get(f"/c/{kept}").text, browser.get(f"/c/{passing}").text
    for place in ("pin", "organise", "move", "share", "archive"):
        assert f"/c/{kept}/{place}" in shown, place
        assert f"/c/{passing}/{place}" not in fleeting, place
    assert f'data-delete="{passing}"' in fleeting and "/exports/chosen" in fleeting


def spans(page: str) -> list[dict[str, object]]:
    value = re.search(r'data-spans="given"\s+value="([^"]+)"', page)
    return json.loads(unescape(value[1])) if value else []


@pytest.mark.cases("query", "draft")
def test_it_fills_the_composer_as_a_text_of_others(user, login, query, draft):
    page = login(user).get(f"/?{query}").text
    assert f">{draft}</textarea>" in page
    wanted = [{"start": 0, "end": len(draft), "origin": "pasted"}] if draft else []
    assert spans(page) == wanted


def test_a_long_one_is_cut_and_markup_stays_text(user, login):
    page = login(user).get("/", query_string={"text": "<b>" + "x" * 9_000}).text
    assert "&lt;b&gt;xxx" in page and spans(page)[0]["end"] == 8_000


def test_sent_without_scripts_it_is_stored_as_pasted(app, user, login, client):
    browser = login(user)
    page = browser.get("/?draft=I am allergic to walnuts").text
    form = {"content": "I am allergic to walnuts", "spans": json.dumps(spans(page)), "csrf_token": csrf_token(page)}
    assert browser.post("/conversations", data=form).status_code in (200, 303)
    asked = scalar(app, db.select(Message).where(Message.role == "user"))
    assert [list(span) for span in asked.spans] == [[0, 24, "pasted"]] and asked.is_tainted


def test_the_bookmark_leads_here(user, login):
    page = unescape(login(user).get("/settings").text)
    assert "javascript:location=\"http://localhost/\"+'?title='+encodeURIComponent(document.title)" in page
    assert 'data-copy-from="bookmark"' in page
