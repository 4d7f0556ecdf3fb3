"""Files as documents of a space: read like any attachment, and found page by page."""

from __future__ import annotations

from sqlalchemy import select

from webapp.database import db
from webapp.errors import Conflict, Invalid
from webapp.files.models import FilePage
from webapp.files.service import get_file
from webapp.languages.marks import say
from webapp.spaces import documents
from webapp.spaces.schemas import MAX_DOCUMENT, DocumentOut


def add_to_space(user_id: int, space_id: int, file_id: int, title: str = "") -> DocumentOut:
    """Add what one of the user's files says to a space, by any member; the file stays theirs.

    Raises NotFound, Conflict for a full space, Invalid for a file without text or with too much of it.
    """
    row = get_file(user_id, file_id)
    if row.status != "ready":
        raise Invalid.field("file_id", row.reason or "This file could not be read.")
    found = select(FilePage.text).where(FilePage.file_id == file_id).order_by(FilePage.page)
    pages = list(db.session.scalars(found))
    if not any(page.strip() for page in pages):
        raise Invalid.field("file_id", "There is no text in this file, only pictures.")
    if sum(map(len, pages)) > MAX_DOCUMENT:
        raise Conflict(say("This file holds more than %(most)s characters. Add it in parts.", most=f"{MAX_DOCUMENT:,}"))
    return documents.add_pages(user_id, space_id, title.strip()[:255] or row.name, pages)
