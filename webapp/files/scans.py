"""The text of pages that are pictures, by tesseract where installed: for search, quotes, and models that do not see."""

import base64
import logging
import os
import shutil
import subprocess
from functools import cache

from sqlalchemy import select

from webapp.background.queues import enqueue_after_commit
from webapp.background.time_slices import Slice
from webapp.db.base import db, write_transaction
from webapp.errors import Invalid
from webapp.files.citations import page_block, tokens_of_page
from webapp.files.drawing import PictureRequest, draw
from webapp.files.models import File, FilePage
from webapp.files.storage import file_storage, key_of

log = logging.getLogger(__name__)

EDGE = 2_400
"""The longer edge, in pixels, of what tesseract reads: about 200 dots an inch of a letter."""
SECONDS = 120
MAX_LANGUAGES = 6


def is_available() -> bool:
    """Return whether pages can be read on this machine."""
    return shutil.which("tesseract") is not None


def request_scan(row: File) -> None:
    """Request text recognition for a new file's scanned pages, if it is available here."""
    if row.status == "ready" and (row.picture_pages or row.is_picture) and is_available():
        row.scan_due = True
        db.session.flush()
        enqueue_after_commit("read_scans", file_id=row.file_id)


def files_to_scan() -> list[int]:
    """Return the files whose pages are still to be read; none where they cannot be."""
    return list(db.session.scalars(select(File.file_id).where(File.scan_due.is_(True)))) if is_available() else []


def read_scans(file_id: int, *, seconds: float | None = None) -> bool:
    """Read some of the pages of a file that are pictures, storing each at once; returns whether more are left."""
    part = Slice(seconds)
    while (next_page := _next_page(file_id)) is not None:
        digest, media_type, page = next_page
        db.session.rollback()  # no connection is held while a page is read
        text = _read_page(digest, media_type, page)
        with write_transaction():
            _store(file_id, page, text)
        if not part.has_time():
            return True
    with write_transaction():
        row = db.session.get(File, file_id, with_for_update=True)
        if row is not None:
            row.scan_due = False
    return False


def _next_page(file_id: int) -> tuple[str, str, int] | None:
    """Return the content, kind and number of the next page to read; 0 stands for a file that is itself a picture."""
    row = db.session.get(File, file_id)
    if row is None or not row.scan_due:
        return None
    if row.is_picture:
        return row.digest, row.media_type, 0
    page = db.session.scalar(
        select(FilePage.page)
        .where(FilePage.file_id == file_id, FilePage.text == "", FilePage.is_scanned.is_(False))
        .order_by(FilePage.page)
        .limit(1)
    )
    return None if page is None else (row.digest, row.media_type, page)


def _read_page(digest: str, media_type: str, page: int) -> str:
    """Return the text on a page; empty for one that cannot be drawn or read."""
    try:
        with file_storage().on_disk(key_of(digest)) as path:
            (picture,) = draw(path, media_type, [PictureRequest(page, EDGE)])
    except (FileNotFoundError, Invalid):
        return ""
    return _recognise(base64.b64decode(picture["data"]))


def _recognise(picture: bytes) -> str:
    """Return the text that tesseract reads in a JPEG; empty if it fails."""
    languages = "+".join(_languages())
    command = ["tesseract", "stdin", "stdout", *(["-l", languages] if languages else [])]
    environment = {"PATH": os.environ.get("PATH", ""), "OMP_THREAD_LIMIT": "1", "LANG": "C.UTF-8"}
    try:
        result = subprocess.run(
            command, input=picture, capture_output=True, timeout=SECONDS, check=False, env=environment
        )
    except subprocess.TimeoutExpired:
        return ""
    if result.returncode:
        log.warning("a page was not read", extra={"error": result.stderr.decode("utf-8", "replace")[-200:]})
        return ""
    return result.stdout.decode("utf-8", "replace").replace("\f", "").strip()


@cache
def _languages() -> tuple[str, ...]:
    """Return the languages that are installed, English first, at most so many: each more makes reading slower."""
    result = subprocess.run(["tesseract", "--list-langs"], capture_output=True, text=True, timeout=10, check=False)
    languages = [line.strip() for line in result.stdout.splitlines()[1:] if line.strip() not in ("", "osd", "equ")]
    return tuple(sorted(languages, key=lambda name: (name != "eng", name))[:MAX_LANGUAGES])


def _store(file_id: int, page: int, text: str) -> None:
    """Store what was read on a page, and count the file anew."""
    row = db.session.get(File, file_id, with_for_update=True)
    if row is None:
        return
    if page == 0:
        row.scan_due = False
        if text and not row.pages:
            first_page = FilePage(file_id=file_id, page=1, text=text, tokens=tokens_of_page(1, text), is_scanned=True)
            db.session.add(first_page)
            row.pages, row.tokens = 1, row.tokens + first_page.tokens
            row.characters = len(page_block(1, text))
        return
    stored = db.session.get(FilePage, (file_id, page))
    if stored is None or stored.is_scanned:
        return
    stored.is_scanned = True
    if text:
        stored.text, stored.tokens = text, tokens_of_page(page, text)
        row.tokens += stored.tokens
        row.characters += len(page_block(page, text)) + 1
