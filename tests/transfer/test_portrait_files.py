"""Portraits as PDF, read by a reader of PDFs: what stands in them, in which scripts, for whom, and for how long."""

import re
import subprocess
from base64 import b64encode
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select

from fakemodel.testing import ServerHandle
from testkit.people import ApiClient, Person
from tests.spaces.helpers import join, make_space
from webapp.conversations.messages import add_past_messages
from webapp.conversations.models import Message
from webapp.conversations.schemas import NewConversation
from webapp.conversations.service import create_conversation
from webapp.db.base import db, write_transaction
from webapp.memories.models import MemoryEvidence
from webapp.transfer import portrait_files
from webapp.transfer.writers.pdf import make_pdf
from webapp.transfer.writers.portrait_data import PrintedPortrait, PrintedSource, read_printed

PLACE = "/memories/portrait/pdf"
DAUGHTER, BOAT = "I have a daughter, Ada", "I own a boat called Kestrel"
ADA, KESTREL = "You have a daughter, Ada.", "You own a boat, Kestrel."
SAID = datetime(2026, 5, 3, 9, tzinfo=UTC)


def text_of(pdf: bytes, folder: Path) -> str:
    path = folder / "found.pdf"
    path.write_bytes(pdf)
    done = subprocess.run(["pdftotext", "-layout", path, "-"], capture_output=True, text=True, check=True, timeout=30)
    return done.stdout


def add(client: ApiClient, content: str, **more: Any) -> int:
    answer = client.post("/api/memories", json={"memory_type": "fact", "content": content, **more})
    assert answer.status_code == 201, answer.text
    return answer.json["memory_id"]


def tell(app: Flask, person: Person, memory_id: int, quote: str) -> None:
    """Have a memory rest on a message."""
    with app.app_context(), write_transaction():
        row = create_conversation(person.user_id, NewConversation(title="At the harbour"))
        add_past_messages(row, [Message(role="user", content=f"{quote}.", created_at=SAID)])
        said = select(Message.message_id).where(Message.conversation_id == row.conversation_id)
        message_id = db.session.scalars(said).one()
        place = {"message_id": message_id, "quote": quote, "start": 0, "end": len(quote), "said_at": SAID}
        db.session.add(MemoryEvidence(memory_id=memory_id, **place))


@pytest.fixture
def printed_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make PDFs in this process: loading the libraries in one of its own takes a second."""
    monkeypatch.setattr(portrait_files, "run_bounded", lambda _, data: {"pdf": b64encode(make_pdf(read_printed(data)))})


@pytest.fixture
def portraits(app: Flask, client: ApiClient, user: Person, model: ServerHandle, run_jobs: Callable) -> tuple[int, int]:
    """Two memories with a sentence each, the first with a quote."""
    ada, boat = add(client, DAUGHTER), add(client, BOAT)
    tell(app, user, ada, "I have a daughter, Ada")
    said = [{"text": ADA, "notes": [2]}, {"text": KESTREL, "notes": [1]}]
    model.script(match="portrait", structured={"sentences": said})
    client.post("/api/memories/portrait")
    run_jobs()
    return ada, boat


def test_it_has_each_sentence_with_its_mark_and_what_it_rests_on(
    user, login, make_user, portraits, tmp_path, monkeypatch
):
    for other in (make_user(), make_user(is_admin=True)):
        assert login(other).get(PLACE).status_code == 404
    answer = login(user).get(PLACE)
    assert answer.status_code == 200 and answer.mimetype == "application/pdf"
    assert answer.headers["Cache-Control"] == "private, no-store"
    assert re.fullmatch(r'attachment; filename="portrait-\d{4}-\d\d-\d\d\.pdf"', answer.headers["Content-Disposition"])
    text = " ".join(text_of(answer.data, tmp_path).split())
    assert "What I know about you" in text and f"{ADA}¹ {KESTREL}²" in text
    assert f"1. {DAUGHTER} “I have a daughter, Ada” 3 May 2026 · At the harbour 2. {BOAT}" in text
    assert text.endswith("1/1")
    monkeypatch.setattr(portrait_files, "WRITER", "webapp.transfer.writers.portrait_data")
    failed = login(user).get(PLACE)
    assert failed.status_code == 503 and "could not be made" in failed.text


def test_what_is_forgotten_or_corrected_is_not_in_the_next_one(client, user, login, portraits, printed_here, tmp_path):
    browser, (ada, boat) = login(user), portraits
    client.delete(f"/api/memories/{ada}")
    text = text_of(browser.get(PLACE).data, tmp_path)
    assert "Ada" not in text and "harbour" not in text and f"{KESTREL}¹" in text
    client.put(f"/api/memories/{boat}", json={"content": "I own a canoe"})
    assert browser.get(PLACE).status_code == 404, "nothing is left to print"


@pytest.mark.usefixtures("printed_here")
def test_a_spaces_is_its_members_and_has_no_quotes_of_others(app, api, make_user, login, model, run_jobs, tmp_path):
    anna, ben = api(make_user(name="Anna")), api(make_user(name="Ben"))
    space_id = make_space(anna, "The trip", "project")
    join(anna, space_id, ben)
    anna.put(f"/api/spaces/{space_id}", json={"has_portrait": True})
    tell(app, anna.person, add(anna, BOAT, space_id=space_id, visibility="shared"), BOAT)
    model.script(
        match="portrait", structured={"sentences": [{"text": "Anna owns a boat called Kestrel.", "notes": [1]}]}
    )
    anna.post(f"/api/memories/portrait?space_id={space_id}")
    run_jobs()
    place = f"/spaces/{space_id}/portrait/pdf"
    hers, his = (text_of(login(client.person).get(place).data, tmp_path) for client in (anna, ben))
    for text in (hers, his):
        assert "What is shared in The trip" in text and "Anna owns a boat called Kestrel.¹" in text
    assert "At the harbour" in hers and "Shared by Anna" not in hers
    assert "At the harbour" not in his and "Shared by Anna" in his
    ben.delete(f"/api/spaces/{space_id}/members/{ben.person.user_id}")
    assert login(ben.person).get(place).status_code == 404


ARABIC = PrintedPortrait(
    "ما أعرفه عنك", "صورة", "كُتبت في 28 نوفمبر 2026", "ما أعرفه عنك · 28 نوفمبر 2026", "ما تستند إليه",
    [("تعمل ممرضًا منذ 2019.", [1, 12])], [PrintedSource("أعمل ممرضًا", [("أعمل ممرضًا منذ 2019", "3 مايو 2026")])],
    "ar", True,
)  # fmt: skip
CHINESE = PrintedPortrait(
    "我对你的了解", "画像", "写于2026年11月28日。", "我对你的了解", "依据",
    [("你有一个女儿，名叫艾达，" * 8, [1])], [PrintedSource("我有一个女儿")], "zh-Hans",
)  # fmt: skip


def test_arabic_runs_from_the_right_and_a_mark_stays_apart_from_a_number(tmp_path):
    printed = read_printed(ARABIC.as_json())  # as the process that makes it does
    assert (printed.title, printed.is_rtl, printed.sources[0].content) == (ARABIC.title, True, "أعمل ممرضًا")
    made = make_pdf(printed)
    assert b"/Lang (ar)" in made
    path = tmp_path / "arabic.pdf"
    path.write_bytes(made)
    done = subprocess.run(["pdftotext", "-bbox", path, "-"], capture_output=True, text=True, check=True, timeout=30)
    places = re.findall(r'<word xMin="([\d.]+)"[^>]*xMax="([\d.]+)"[^>]*>([^<]*)<', done.stdout)
    year = next(float(left) for left, _, word in places if "2019" in word)
    mark = next(float(right) for _, right, word in places if "¹²" in word)
    assert mark < year, "the mark follows the number, to its left"
    assert max(float(right) for _, right, _ in places) > 520, "lines start at the right margin"


def test_chinese_ends_its_lines_anywhere(tmp_path):
    text = text_of(make_pdf(CHINESE), tmp_path)
    lines = [line for line in text.splitlines() if "女儿，" in line]
    assert len(lines) >= 2 and len(lines[0].strip()) > 30
    assert "艾达，¹" in text.replace("\n", "")


def test_long_ones_flow_over_pages_and_what_no_font_has_is_left_out(tmp_path):
    sources = [PrintedSource(f"Note {number} \x07🎉 {'x' * 300}", [("word " * 80, "today")]) for number in range(12)]
    portrait = PrintedPortrait("T", "H", "W", "F", "R", [("Much.", list(range(1, 13)))], sources)
    text = text_of(make_pdf(portrait), tmp_path)
    assert text.count("\f") > 2 and "Note 11" in text and "12." in text
    assert "[party popper]" in text and "\x07" not in text
