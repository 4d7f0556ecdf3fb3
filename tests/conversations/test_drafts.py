"""Drafts from links and from what other programs share: they fill the composer and count as nobody's own words."""

import json
from collections.abc import Callable
from html import unescape

import pytest

from testkit.people import ApiClient, Person, csrf_token
from webapp.conversations.models import Message
from webapp.db.base import db


def spans(page: str) -> list[dict[str, object]]:
    value = page.partition('data-spans="given" value="')[2].partition('"')[0]
    return json.loads(unescape(value)) if value else []


@pytest.mark.parametrize(
    ("query", "draft"),
    [
        ("draft=How do I measure?", "How do I measure?"),
        ("title=Bees&text=They dance.&url=https://example.org/b", "Bees\nThey dance.\nhttps://example.org/b"),
        ("text=https://example.org/b&url=https://example.org/b", "https://example.org/b"),
        ("title=%20&text=&url=", ""),
        ("", ""),
    ],
)
def test_it_fills_the_composer_as_a_text_of_others(user: Person, login: Callable, query: str, draft: str) -> None:
    page = login(user).get(f"/?{query}").text
    assert f">{draft}</textarea>" in page
    wanted = [{"start": 0, "end": len(draft), "origin": "pasted"}] if draft else []
    assert spans(page) == wanted


def test_a_long_one_is_cut_and_markup_stays_text(user: Person, login: Callable) -> None:
    page = login(user).get("/", query_string={"text": "<b>" + "x" * 9_000}).text
    assert "&lt;b&gt;xxx" in page and spans(page)[0]["end"] == 8_000


def test_sent_without_scripts_it_is_stored_as_pasted(app, user: Person, login: Callable, client: ApiClient) -> None:
    browser = login(user)
    page = browser.get("/?draft=I am allergic to walnuts").text
    form = {"content": "I am allergic to walnuts", "spans": json.dumps(spans(page)), "csrf_token": csrf_token(page)}
    assert browser.post("/conversations", data=form).status_code in (200, 303)
    with app.app_context():
        asked = db.session.scalar(db.select(Message).where(Message.role == "user"))
        assert [list(span) for span in asked.spans] == [[0, 24, "pasted"]] and asked.is_tainted


def test_the_bookmark_leads_here(user: Person, login: Callable) -> None:
    page = unescape(login(user).get("/settings").text)
    assert "javascript:location=\"http://localhost/\"+'?title='+encodeURIComponent(document.title)" in page
    assert 'data-copy-from="bookmark"' in page
