"""Pages that are pictures: read by machine where tesseract is, page by page, once, and marked as read so."""

import io
import os
import shutil
import stat
from pathlib import Path
from types import SimpleNamespace

import PIL.Image
import pytest
from flask import Flask

from testkit.people import post_form
from tests.files.test_files import _send
from tests.files.test_pictures import ask, chat_calls, photo, sent_pictures
from webapp.db.base import db
from webapp.files import scans
from webapp.files.models import File, FilePage
from webapp.files.readers.pdf import read_pdf

TESSERACT = """#!/bin/sh
if [ "$1" = --list-langs ]; then printf 'List of available languages (3):\\ndeu\\neng\\nosd\\n'; exit; fi
echo "$@" >> "{log}"
cat > /dev/null
{answer}
"""


@pytest.fixture
def tesseract(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """`tesseract(answer)`: a program of that name that says so; returns what it was called with."""
    log = tmp_path / "calls"

    def install(answer: str = "echo 'The hive is in the orchard.'") -> Path:
        program = tmp_path / "bin" / "tesseract"
        program.parent.mkdir(exist_ok=True)
        program.write_text(TESSERACT.format(log=log, answer=answer))
        program.chmod(program.stat().st_mode | stat.S_IEXEC)
        monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
        scans._languages.cache_clear()
        log.write_text("")
        return log

    yield install
    scans._languages.cache_clear()


def make_scan(pages: int = 2) -> bytes:
    """A PDF of pictures."""
    out = io.BytesIO()
    pictures = [PIL.Image.new("RGB", (300, 400), color) for color in ("white", "gray", "black")[:pages]]
    pictures[0].save(out, "PDF", save_all=True, append_images=pictures[1:])
    return out.getvalue()


def texts(app: Flask, file_id: int) -> list[tuple[str, bool]]:
    with app.app_context():
        rows = db.session.query(FilePage).filter_by(file_id=file_id).order_by(FilePage.page)
        return [(row.text, row.is_scanned) for row in rows]


def test_pages_are_read_in_the_background_once_each(app, client, run_jobs, tesseract):
    log = tesseract()
    sent = _send(client, make_scan(), "scan.pdf").get_json()
    assert sent["picture_pages"] == 2 and texts(app, sent["file_id"]) == [("", False)] * 2
    run_jobs()
    assert texts(app, sent["file_id"]) == [("The hive is in the orchard.", True)] * 2
    assert log.read_text().splitlines() == ["stdin stdout -l eng+deu"] * 2
    after = client.get(f"/api/files/{sent['file_id']}").get_json()
    assert after["tokens"] > sent["tokens"] and after["picture_pages"] == 2
    with app.app_context():
        assert scans.read_scans(sent["file_id"]) is False and scans.files_to_scan() == []
    assert len(log.read_text().splitlines()) == 2


def test_a_slice_ends_after_a_page_and_another_goes_on(app, client, tesseract):
    tesseract()
    sent = _send(client, make_scan(3), "scan.pdf").get_json()
    with app.app_context():
        assert scans.read_scans(sent["file_id"], seconds=0) is True
        assert scans.files_to_scan() == [sent["file_id"]]
    assert [read for _, read in texts(app, sent["file_id"])] == [True, False, False]
    with app.app_context():
        assert scans.read_scans(sent["file_id"], seconds=600) is False
    assert all(read for _, read in texts(app, sent["file_id"]))


def test_a_model_is_told_what_was_read_and_sees_the_page(app, client, model, run_jobs, tesseract):
    tesseract()
    file = _send(client, make_scan(1), "scan.pdf").get_json()
    run_jobs()
    ask(client, "Where is the hive?", file["file_id"])
    request = chat_calls(model)[-1]
    assert "Read by machine from a picture; it may have mistakes.]\nThe hive is in the orchard." in str(
        [part["text"] for message in request if isinstance(message["content"], list) for part in message["content"]
         if part["type"] == "text"] + [m["content"] for m in request if isinstance(m["content"], str)]
    ).replace("\\n", "\n")  # fmt: skip
    assert len(sent_pictures(request)) == 1


def test_a_picture_has_the_text_that_stands_on_it(app, client, run_jobs, tesseract, login, user):
    tesseract()
    file = _send(client, photo(), "sign.jpg").get_json()
    run_jobs()
    assert texts(app, file["file_id"]) == [("The hive is in the orchard.", True)]
    page = login(user).get(f"/files/{file['file_id']}").text
    assert "The hive is in the orchard." in page and "Read by machine" in page


@pytest.mark.parametrize("answer", ["exit 1", "true", "kill -9 $$"])
def test_what_cannot_be_read_stays_a_picture(app, client, run_jobs, tesseract, answer):
    tesseract(answer)
    files = [_send(client, data, name).get_json() for data, name in ((make_scan(), "a.pdf"), (photo(), "b.jpg"))]
    run_jobs()
    assert texts(app, files[0]["file_id"]) == [("", True)] * 2 and texts(app, files[1]["file_id"]) == []
    with app.app_context():
        assert scans.files_to_scan() == []
        assert not db.session.query(File).filter(File.scan_due).count()


def test_without_tesseract_nothing_is_owed(app, client, run_jobs, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    file = _send(client, make_scan(), "scan.pdf").get_json()
    run_jobs()
    assert texts(app, file["file_id"]) == [("", False)] * 2


def test_a_stamp_on_a_scan_is_no_text():
    made = _make_stamped_page(PIL.Image.new("RGB", (300, 400), "gray"))
    assert read_pdf(made).texts == [""]


def _make_stamped_page(picture: PIL.Image.Image) -> bytes:
    """A PDF with a page that a picture covers, and a few words over it."""
    from fpdf import FPDF

    made = FPDF(unit="pt", format=(300, 400))
    made.set_auto_page_break(False)
    made.add_page()
    made.image(picture, 0, 0, 300, 400)
    made.set_font("helvetica", size=8)
    made.text(10, 390, "Scanned with ScanApp")
    return bytes(made.output())


@pytest.mark.cases("model", "sees", "is_picture", "warned")
def test_the_composer_warns_before_a_model_is_told_only_a_name(
    login, user, monkeypatch, model, sees, is_picture, warned
):
    offered = SimpleNamespace(target=SimpleNamespace(id="blind", sees=sees, context_window=None), is_default=True)
    monkeypatch.setattr("webapp.providers.model_choice.choices", lambda: [offered])
    sent = (io.BytesIO(photo()), "sign.jpg") if is_picture else (io.BytesIO(b"Bees dance."), "bees.txt")
    chips = post_form(login(user), "/files", file=[sent], model=model).text
    assert ("This model does not see pictures" in chips) is warned
