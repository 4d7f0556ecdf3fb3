"""The summary: what stands in it, that it is never out of date, and that any words can be printed."""

import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from sqlalchemy import delete, func, select, update

from testkit.people import ApiClient, page_token
from tests.conversations.test_api import assert_problem
from tests.journeys.rows import assessment, begin, points
from webapp.conversations.models import Message
from webapp.db.base import db, write_transaction
from webapp.i18n import LANGUAGES
from webapp.journeys.models import ConversationReport, JourneyGuide
from webapp.journeys.report_content import ENGLISH, Answer, Quotation, Report, as_markdown, file_name, fingerprint
from webapp.journeys.report_fonts import printable
from webapp.journeys.report_pdf import make_pdf
from webapp.journeys.reports import report_texts
from webapp.shell.upkeep import purge, sweep

once = pytest.mark.once
"""About how a report is written and printed; what is stored of it, and owed, is asked of both databases."""

AT = datetime(2026, 11, 20, 10, tzinfo=UTC)
DAY = date(2026, 11, 21)
PLACE, WISH = "a balcony of six square metres", "tomatoes and basil"


def text_of(pdf: bytes, folder: Path) -> str:
    """The words of a PDF, line breaks as spaces."""
    path = folder / "found.pdf"
    path.write_bytes(pdf)
    done = subprocess.run(["pdftotext", "-layout", path, "-"], capture_output=True, text=True, check=True, timeout=30)
    return re.sub(r"\s+", " ", done.stdout)


def report(*answers: Answer, person: str = "Ada") -> Report:
    """A report about the garden."""
    return Report("A garden", "What to plant.", person, "My garden", answers)


@pytest.fixture
def complete(garden: Path, client: ApiClient, learn: Callable) -> int:
    """A conversation whose two points are addressed, its summary made."""
    conversation_id = begin(client)
    balcony = assessment(1, PLACE, says="The garden is a balcony", size="6 m²")
    wish = assessment(2, WISH, says="Wants tomatoes")
    learn(conversation_id, f"I have {PLACE} and want to grow {WISH}.", balcony, wish)
    return conversation_id


@once
def test_it_is_made_once_when_all_points_are_addressed(complete, client, run_jobs, tmp_path):
    base = f"/memory/conversation/{complete}/summary"
    status = client.get(f"{base}/status/").json
    assert (status["ready"], status["status"], status["all_addressed"]) == (True, "ready", True)
    assert status["download_url"] == f"{base}/download/"
    found = client.get(status["download_url"])
    assert (found.status_code, found.content_type) == (200, "application/pdf")
    assert found.headers["Cache-Control"] == "private, no-store"
    assert re.fullmatch(r'attachment; filename="a-garden-\d{4}-\d\d-\d\d\.pdf"', found.headers["Content-Disposition"])
    text = text_of(found.data, tmp_path)
    for words in (
        "A garden",
        client.person.name,
        "1. The place",
        "The garden is a balcony",
        "Size",
        "6 m²",
        f"“{PLACE}”",
        "2. Your wishes",
        "Wants tomatoes",
        f"“{WISH}”",
        "2 of 2 topics covered",
    ):
        assert words in text
    run_jobs()
    assert client.get(f"{base}/status/").json["created_at"] == status["created_at"]


@once
def test_the_turn_is_told(garden, client, learn):
    conversation_id = begin(client)
    found = assessment(1, PLACE), assessment(2, WISH)
    reply = learn(conversation_id, f"I have {PLACE} and want to grow {WISH}.", *found)["reply"]
    stream = client.get(f"/api/chat/turns/{reply['message_id']}/stream?follow=jobs").text
    kinds = re.findall(r"^event: (\w+)$", stream, re.MULTILINE)
    after = [kind for kind in kinds if kind not in ("delta", "title")]
    assert after == ["turn", "done", "extraction_start", "extraction_complete", "summary_complete", "settled"]
    assert '"summary_triggered":true' in stream


@once
def test_a_summary_in_between_is_made_when_asked_for(garden, client, run_jobs, monkeypatch, learn, caplog):
    conversation_id = begin(client)
    path = f"/memory/conversation/{conversation_id}/summary"
    assert_problem(client.get(f"{path}/download/"), 409)
    learn(conversation_id, f"I have {PLACE}.", assessment(1, PLACE))
    assert client.get(f"{path}/status/").json["status"] == "none"
    monkeypatch.setattr("webapp.journeys.reports.wait_for_report.__defaults__", (0.0,))
    waiting = client.get(f"{path}/download/")
    assert (waiting.status_code, waiting.json["status"], waiting.headers["Retry-After"]) == (202, "pending", "3")
    run_jobs()
    assert "subset" not in caplog.text  # the fonts are logged by hundreds of lines
    assert client.get(f"{path}/download/").data.startswith(b"%PDF-")


@once
def test_it_follows_what_changes(complete, client, run_jobs, tmp_path, monkeypatch, browser, learn):
    monkeypatch.setattr("webapp.journeys.reports.wait_for_report.__defaults__", (0.0,))
    path = f"/memory/conversation/{complete}/summary"
    corrected = assessment(1, "twelve square metres", says="It has twelve square metres", size="12 m²")
    learn(
        complete,
        "Actually my garden is no balcony of six square metres, it has twelve square metres.",
        {**corrected, "corrects": [1]},
    )
    assert client.get(f"{path}/status/").json["status"] == "ready"
    text = text_of(client.get(f"{path}/download/").data, tmp_path)
    assert "12 m²" in text and "6 m²" not in text.replace("12 m²", "")
    token = page_token(browser)
    browser.post(f"/c/{complete}/points/wishes/confirm", data={"answer": "no", "csrf_token": token})
    assert client.get(f"{path}/status/").json["status"] == "stale"
    assert client.get(f"{path}/download/").status_code == 202
    run_jobs()
    text = text_of(client.get(f"{path}/download/").data, tmp_path)
    assert "tomatoes" not in text
    assert "Not covered yet." in text


def test_a_deleted_message_takes_the_stored_summary_along(app, complete, client):
    with app.app_context():
        assert db.session.scalar(select(func.count()).select_from(ConversationReport)) == 1
        with write_transaction():
            db.session.execute(delete(Message).where(Message.role == "user"))
        assert purge()["reports"] == 1
        assert db.session.scalar(select(func.count()).select_from(ConversationReport)) == 0
    assert points(client, complete)["by"]["place"]["was_reopened"] is True


@once
def test_the_same_as_markdown_json_and_a_page(complete, client, user, login):
    base = f"/memory/conversation/{complete}/summary/download/"
    text = client.get(f"{base}?format=md")
    assert text.content_type == "text/markdown; charset=utf-8" and "garden-" in text.headers["Content-Disposition"]
    assert "## 1. The place" in text.text and "- **Size**: 6 m²" in text.text and f"> {PLACE}" in text.text
    data = client.get(f"{base}?format=json").json
    assert (data["addressed"], data["points"][0]["values"]) == (2, {"Size": "6 m²"})
    assert data["points"][0]["quotes"][0]["text"] == PLACE
    assert_problem(client.get(f"{base}?format=doc"), 422)
    page = login(user).get(f"/c/{complete}/summary/page").text
    assert "data-print" in page and PLACE in page


@once
def test_what_a_memory_says_is_not_printed_as_the_persons_words(garden, client, user, run_jobs):
    made = client.post("/api/memories", json={"memory_type": "fact", "content": "Has a balcony in full sun."}).json
    conversation_id = begin(client)
    path = f"/api/conversations/{conversation_id}/points/place/answer"
    assert client.post(path, json={"memory_id": made["memory_id"], "answer": "yes"}).status_code == 200
    data = client.get(f"/memory/conversation/{conversation_id}/summary/download/?format=json").json
    place = data["points"][0]
    assert (place["statements"], place["quotes"], place["is_addressed"]) == (["Has a balcony in full sun."], [], False)


def test_a_second_conversation_and_another_name_are_never_waited_for_in_vain(complete, client, run_jobs):
    second = begin(client)
    status = f"/memory/conversation/{second}/summary/status/"
    assert client.get(status).json["status"] == "pending", "asking for it has it made"
    run_jobs()
    assert client.get(status).json["status"] == "ready"
    client.put(f"/api/conversations/{complete}", json={"title": "Another name"})
    status = f"/memory/conversation/{complete}/summary/status/"
    assert client.get(status).json["status"] == "pending"
    run_jobs()
    assert client.get(status).json["status"] == "ready"


def test_a_summary_that_is_owed_is_found_by_the_sweep(app, complete, run_jobs):
    with app.app_context():
        with write_transaction():
            db.session.execute(delete(ConversationReport))
            db.session.execute(update(JourneyGuide).values(report_due=True))
            if db.session.get(JourneyGuide, complete) is None:
                db.session.add(JourneyGuide(conversation_id=complete, report_due=True))
        sweep()
    run_jobs()
    with app.app_context():
        assert db.session.scalar(select(func.count()).select_from(ConversationReport)) == 1
        assert db.session.get_one(JourneyGuide, complete).report_due is False


def test_the_front_page_and_marks_on_every_page(tmp_path):
    long = Quotation("A very long story indeed. " * 260, datetime(2026, 3, 1, tzinfo=UTC))
    answer = Answer("Pain", "", ["In the neck"], [long], [("Score", "7 of 10")])
    made = make_pdf(Report("Back pain", "About it.", "Ada", "", [answer], "For your clinician"), DAY)
    path = tmp_path / "front.pdf"
    path.write_bytes(made)
    done = subprocess.run(["pdftotext", "-layout", str(path), "-"], capture_output=True, text=True, check=True)
    pages = [page.strip() for page in done.stdout.split("\f")]
    assert pages[0].startswith("For your clinician") and "In the neck" in pages[0]
    assert "Back pain" in pages[1] and "Score" in pages[1]
    assert "7 of 10" in next(line for line in pages[1].splitlines() if "Score" in line)


def test_the_front_page_says_the_same_in_every_form_and_is_left_out_with_nothing_on_it(tmp_path):
    quoted = Answer("Days", "", [], [Quotation("I cannot run.", AT)])
    with_quote = Report("Back pain", "", "Ada", "", [quoted, Answer("Signs", "", [], [])], "For your clinician")
    assert "## For your clinician\n\n- **Days**: “I cannot run.”" in as_markdown(with_quote, DAY)
    assert "For your clinician Ada" in text_of(make_pdf(with_quote, DAY), tmp_path)
    empty = replace(with_quote, answers=with_quote.answers[1:])
    assert "For your clinician" not in as_markdown(empty, DAY) + text_of(make_pdf(empty, DAY), tmp_path)
    values = replace(quoted, quotes=[], values=[("Score", "7 of 10")])
    assert "7 of 10" in text_of(make_pdf(replace(with_quote, answers=[values]), DAY), tmp_path).partition("Summary")[2]


def test_names_and_quotes_in_many_scripts(tmp_path):
    answer = Answer(
        "Τόπος · Место · 場所",
        "",
        ["Ελένη, Наталья, 山田太郎, 김철수, Łukasz, Đặng"],
        [Quotation("Я хочу помидоры 🍅", AT), Quotation("محمد عبد الله", AT)],
    )
    text = text_of(make_pdf(report(answer, person="Ελένη 山田"), DAY), tmp_path)
    for words in (
        "Ελένη 山田",
        "Место",
        "場所",
        "Наталья",
        "山田太郎",
        "김철수",
        "Łukasz",
        "Đặng",
        "Я хочу помидоры",
        "21 November 2026",
    ):
        assert words in text


@once
def test_it_speaks_the_language_of_its_person(complete, client, run_jobs, tmp_path):
    assert client.put("/api/account", json={"settings": {"language": "de"}}).status_code == 200
    assert client.get(f"/memory/conversation/{complete}/summary/status/").json["status"] == "pending"  # another by now
    run_jobs()
    status = client.get(f"/memory/conversation/{complete}/summary/status/").json
    text = text_of(client.get(status["download_url"]).data, tmp_path)
    assert "Zusammenfassung" in text and "2 von 2" in text
    assert "Summary" not in text and "You," not in text
    markdown = client.get(f"/memory/conversation/{complete}/summary/download/?format=md").text
    assert "2 von 2" in markdown and "You," not in markdown


@once
@pytest.mark.parametrize("code", LANGUAGES)
def test_every_language_has_words_that_can_be_printed(app, code, tmp_path):
    answer = Answer("One", "", ["A statement"], [Quotation("Said", AT)], [("Size", "6 m²")], unclear=["6 / 7"])
    with app.app_context():
        wording = report_texts(code)
    for words in (wording.heading, wording.open, wording.aside, wording.foot, wording.in_full(DAY)):
        assert printable(words) == words
    assert (wording == ENGLISH) == (code == "en") or code == "en"
    made = make_pdf(report(answer, Answer("Two", "", [], [], is_addressed=False)), DAY, wording)
    assert made.startswith(b"%PDF-") and f"/Lang ({wording.tag})".encode() in made
    text = text_of(made, tmp_path)
    assert "A statement" in text and "6 m²" in text


def test_long_answers_flow_over_pages(tmp_path):
    words = " ".join(f"word{number}" for number in range(1_500))
    answer = Answer("Long", "", [words, "x" * 400], [Quotation(words, AT)])
    text = text_of(make_pdf(report(answer), DAY), tmp_path)
    for number in (0, 750, 1_499):
        assert text.count(f"word{number} ") + text.count(f"word{number}”") >= 2
    assert int(re.search(r"\d ?/ ?(\d+)", text)[1]) >= 5


@settings(max_examples=3, suppress_health_check=list(HealthCheck))
@given(st.text(max_size=60), st.text(max_size=120))
def test_any_words_can_be_printed(title, words):
    answer = Answer(title, words, [words], [Quotation(words, AT)], [(title, words)])
    assert make_pdf(report(answer, person=title), DAY).startswith(b"%PDF-")


def test_what_no_font_has_is_left_out():
    assert printable("with my 👩‍👩‍👧 family 🎉!") == "with my [woman] family [party popper]!"
    assert printable("a\x00b\u200bc\ttab\u202e") == "abc tab"
    assert printable("two  spaces stay") == "two  spaces stay"


def test_the_fingerprint_follows_the_content():
    one = report(Answer("T", "", ["said"], []))
    assert fingerprint(one) == fingerprint(report(Answer("T", "", ["said"], [])))
    assert fingerprint(one) != fingerprint(report(Answer("T", "", ["Said"], [])))
    assert file_name(one, DAY) == "a-garden-2026-11-21.pdf"
    assert file_name(Report("場所", "", "", "", []), DAY) == "summary-2026-11-21.pdf"
