"""Shipped journeys in the languages of the interface: read in one's own; kept, sent and exported as written."""

import pytest
from flask import Flask
from markupsafe import escape

from testkit.people import Person, csrf_token
from tests.journeys.rows import SMALL, load
from tests.support.queries import get_row
from webapp.accounts.models import User
from webapp.conversations.models import Conversation
from webapp.db.base import db
from webapp.i18n import LANGUAGES, SOURCE
from webapp.journeys.definitions import DEFAULT_QUESTIONS, EARLIER_TEXTS, definition_of, texts_in, translate_text
from webapp.journeys.journey_files import read_fixtures
from webapp.journeys.reports import source_of

CODES = [code for code in LANGUAGES if code != SOURCE]
GERMAN = {"Accept-Language": "de"}


def _shown_texts() -> set[str]:
    """Every text of the shipped journeys that people read."""
    texts = set(DEFAULT_QUESTIONS)
    for journey, _digest in read_fixtures():
        texts |= {journey.title, journey.description, *filter(None, [journey.front_page])}
        for point in journey.points:
            texts |= {point.title, point.description, point.curiosity_prompt}
            texts |= {*point.suggested_questions, *point.completion_criteria}
    return texts


@pytest.mark.once
@pytest.mark.parametrize("code", CODES)
def test_no_text_is_left_out_and_none_is_left_over(code):
    texts = texts_in(code)
    assert set(texts) == _shown_texts()
    assert all(text.strip() for text in texts.values())
    assert not [text for text in texts if len(text) > 20 and texts[text] == text]


def test_a_journey_loaded_earlier_reads_like_one_loaded_now():
    assert translate_text("Why you go", "en") == "Why you're going"
    assert translate_text("Why you go", "de") == "Warum du hingehst"
    shown = _shown_texts()
    former = texts_in(EARLIER_TEXTS)
    assert [new for new in former.values() if new not in shown] == []
    assert not shown & set(former)


def test_what_is_not_shipped_stays_as_it_was_written():
    assert translate_text(str(SMALL["title"]), "de") == SMALL["title"]
    assert translate_text("Weekly review", "en") == translate_text("Weekly review", "xx") == "Weekly review"


def test_a_person_reads_a_journey_in_their_language_and_the_api_stays_english(app, client, browser):
    load(app)
    page = browser.get("/journeys", headers=GERMAN).text
    assert "Wochenrückblick" in page and "Was gut lief" in page and "Weekly review" not in page
    data = {"csrf_token": csrf_token(page)}
    begun = browser.post("/journeys/weekly-review/start", data=data, headers=GERMAN)
    shown = browser.get(begun.location, headers=GERMAN).text
    for text in ("Wochenrückblick", "Ich möchte hören, was an deiner Woche gut war.", "Was gut lief"):
        assert text in shown
    assert "I&#39;d like to hear what was good about your week." not in shown
    assert "Kannst du mir mehr erzählen" in shown
    assert client.get("/api/journeys/weekly-review").get_json()["title"] == "Weekly review"
    conversation_id = int(begun.location.partition("?")[0].rpartition("/")[2])
    assert get_row(app, Conversation, conversation_id).title == "Wochenrückblick"


def report_in_german(app: Flask, user: Person, conversation_id: int) -> tuple[str, ...]:
    """The journey, front page and first point of a person's summary once they have chosen German."""
    with app.app_context():
        db.session.get_one(User, user.user_id).settings = {"language": "de"}
        with db.session.no_autoflush:  # nothing is to be written, while others may be writing
            report = source_of(db.session.get_one(Conversation, conversation_id)).report
        db.session.rollback()
    return report.journey, report.front_page, report.answers[0].title


def test_the_summary_is_in_the_language_of_its_person(app, client, user):
    load(app)
    begun = client.post("/api/conversations", json={"journey": "doctor-visit"}).get_json()
    assert begun["title"] == "Prepare for a doctor's visit"
    with app.app_context():
        assert source_of(db.session.get_one(Conversation, begun["conversation_id"])).report.journey == begun["title"]
    expected = ("Einen Arztbesuch vorbereiten", "Für den Termin", "Warum du hingehst")
    assert report_in_german(app, user, begun["conversation_id"]) == expected


def test_what_a_person_wrote_is_shown_as_they_wrote_it_though_a_shipped_journey_says_the_same(
    app, client, user, browser
):
    shipped = next(journey for journey, _digest in read_fixtures() if journey.slug == "weekly-review")
    body = {**definition_of(shipped), "slug": "mine", "front_page": "For your appointment"}
    assert client.post("/api/journeys", json=body).status_code == 201
    assert client.post("/api/journeys/mine/publish", json={}).status_code == 200
    page = browser.get("/journeys", headers=GERMAN).text
    assert "Weekly review" in page and "What went well" in page and "Wochenrückblick" not in page
    begun = browser.post("/journeys/mine/start", data={"csrf_token": csrf_token(page)}, headers=GERMAN)
    first = shipped.points[0]
    shown = browser.get(f"{begun.location.partition('?')[0]}?point={first.slug}", headers=GERMAN).text
    for text in (first.curiosity_prompt, first.completion_criteria[0], first.suggested_questions[0]):
        assert str(escape(text)) in shown
    assert "Was gut lief" not in shown
    assert "Kannst du mir mehr erzählen" in shown, "what comes with the program is in the language of the page"
    conversation_id = int(begun.location.partition("?")[0].rpartition("/")[2])
    assert get_row(app, Conversation, conversation_id).title == "Weekly review"
    expected = ("Weekly review", "For your appointment", "What went well")
    assert report_in_german(app, user, conversation_id) == expected


def test_a_copy_of_a_shipped_journey_reads_as_the_one_it_was_made_of(app, browser):
    load(app)
    token = csrf_token(browser.get("/journeys", headers=GERMAN).text)
    copied = browser.post("/journeys/weekly-review/duplicate", data={"csrf_token": token}, headers=GERMAN)
    shown = browser.get(copied.location, headers=GERMAN).text
    assert "Wochenrückblick" in shown and "Was gut lief" in shown and "What went well" not in shown
    assert "went well" in shown, "what it is recognized by stays as it was"


def test_the_editor_of_a_journey_from_a_file_only_shows_it(app, make_user, login):
    load(app)
    page = login(make_user(is_admin=True)).get("/journeys/weekly-review/edit").text
    assert "kept in a file" in page and '<fieldset class="plain" disabled>' in page
    assert 'value="add"' not in page and 'value="publish"' not in page
