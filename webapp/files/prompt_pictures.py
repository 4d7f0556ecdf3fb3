"""A conversation's pictures, and the pages of its files that are pictures, as a prompt may show them."""

from collections.abc import Collection
from dataclasses import replace

from sqlalchemy import or_, select

from webapp.db.base import db
from webapp.files.models import File, FilePage, MessageFile
from webapp.files.picture import NOTE_TOKENS, Picture
from webapp.files.pictures import page_tokens

SHARE = 0.4
"""The share of a prompt that pictures together may take."""
MOST_SHOWN = 20


def pictures_of(message_ids: Collection[int], window: int) -> dict[int, tuple[Picture, ...]]:
    """Return the visible attachments by message, for one prompt of this many tokens.

    If there is not room for all, the newest message comes first; pictures that are not shown are named.
    """
    attached = db.session.execute(
        select(MessageFile.message_id, File, MessageFile.mode)
        .join(File, File.file_id == MessageFile.file_id)
        .where(
            MessageFile.message_id.in_(list(message_ids)),
            File.status == "ready",
            or_(File.media_type.startswith("image/"), File.picture_pages > 0),
        )
        .order_by(MessageFile.message_id, MessageFile.file_id)
    ).all()
    scans = _scans([row.file_id for _, row, mode in attached if row.picture_pages and mode == "whole"])
    pictures: dict[int, list[Picture]] = {}
    for message_id, row, _ in attached:
        item = Picture(row.file_id, row.digest, row.media_type, row.name)
        if row.picture_pages:
            pages = [replace(item, page=page, tokens=page_tokens()) for page in scans.get(row.file_id, ())]
        else:
            pages = [replace(item, tokens=row.tokens)]
        pictures.setdefault(message_id, []).extend(pages)
    room, left = int(window * SHARE), MOST_SHOWN
    selection: dict[int, tuple[Picture, ...]] = {}
    for message_id in sorted(pictures, reverse=True):
        chosen_pictures = []
        for picture in pictures[message_id]:
            fits = left > 0 and picture.tokens <= room
            chosen_pictures.append(picture if fits else replace(picture, is_shown=False, tokens=NOTE_TOKENS))
            room, left = (room - picture.tokens, left - 1) if fits else (room, left)
        selection[message_id] = _in_few_words(chosen_pictures)
    return selection


def _in_few_words(pictures: list[Picture]) -> tuple[Picture, ...]:
    """Return the pictures, with those not shown named once per file."""
    numbers: set[int] = set()
    fitting = []
    for picture in pictures:
        if not picture.is_shown and picture.file_id in numbers:
            continue
        if not picture.is_shown:
            numbers.add(picture.file_id)
        fitting.append(picture)
    return tuple(fitting)


def _scans(file_ids: list[int]) -> dict[int, list[int]]:
    """Return the pages without text of some files."""
    if not file_ids:
        return {}
    pages: dict[int, list[int]] = {}
    blank = select(FilePage.file_id, FilePage.page).where(
        FilePage.file_id.in_(file_ids), or_(FilePage.text == "", FilePage.is_scanned)
    )
    for file_id, page in db.session.execute(blank.order_by(FilePage.file_id, FilePage.page)):
        pages.setdefault(file_id, []).append(page)
    return pages
