"""What templates can use, and how assets are served."""

from datetime import UTC, datetime

import pytest
from sqlalchemy import update

from tests.support.queries import execute
from webapp.accounts.models import User
from webapp.rendering import asset, highlight, model_name, time_tag


def test_times_are_the_readers(app):
    at = datetime(2020, 6, 1, 23, 30, tzinfo=UTC)
    with app.test_request_context(headers={"Cookie": "tz=Asia/Tokyo"}):
        assert time_tag(at) == (
            '<time datetime="2020-06-02T08:30:00+09:00" title="Tuesday, 2 June 2020, 08:30:00">2 June 2020</time>'
        )
    with app.test_request_context(headers={"Cookie": "tz=nonsense"}):
        assert 'datetime="2020-06-01T23:30:00+00:00"' in time_tag(at)
        assert time_tag(None) == ""


@pytest.mark.cases("text", "words", "shown")
def test_highlight(text, words, shown):
    assert highlight(text, words) == shown


def test_highlight_shows_the_part_around_the_words():
    shown = highlight("x" * 500 + " heron " + "y" * 500, "heron", around=10)
    assert shown == "…" + "x" * 9 + " <mark>heron</mark> " + "y" * 9 + "…"


def test_the_screen_tour_says_what_it_is_and_a_model_its_name():
    assert model_name("screen-tour") == "Screen tour, no language model"
    assert model_name("offline-demo") == "offline-demo"


def test_assets_may_be_kept_for_ever_while_their_version_is_current(app, anonymous):
    with app.test_request_context():
        address = asset("css/tokens.css")
    with anonymous.get(address) as answer:
        assert answer.status_code == 200
        assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    with anonymous.get("/static/v-000000000000/css/tokens.css") as old:
        assert old.status_code == 200
        assert "immutable" not in old.headers["Cache-Control"]
    assert anonymous.get("/static/v-x/../factory.py").status_code == 404
    assert anonymous.get("/static/v-x/css/none.css").status_code == 404


def test_what_anybodys_cache_may_keep_comes_without_a_session(app, browser):
    """A shared cache would hand it to others, and a browser whose cookie differs would fetch the file again."""
    execute(app, update(User).values(last_seen_at=None))  # a visit is due, with which a cookie is sent
    for name in ("css/tokens.css", "icon.svg"):
        with app.test_request_context():
            address = asset(name)
        with browser.get(address) as kept:
            assert kept.cache_control.public, name
            assert "Set-Cookie" not in kept.headers and "Cookie" not in kept.vary, name
    page = browser.get("/")
    assert "session=" in page.headers["Set-Cookie"] and "Cookie" in page.vary


def test_pages_hold_no_inline_script_or_style(browser):
    for path in ("/", "/settings", "/archive", "/find?q=x", "/c/0"):
        page = browser.get(path).text
        assert "<style" not in page and " style=" not in page
        assert " onclick=" not in page and "hx-on" not in page
        for script in page.split("<script")[1:]:
            assert script.lstrip().startswith("src="), path
