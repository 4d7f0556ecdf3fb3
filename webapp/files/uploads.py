"""Adds files: identified, stored once per content, and read; and deletes bytes that nothing names."""

import hashlib
import logging
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from io import SEEK_END
from itertools import islice
from typing import Any, BinaryIO, cast

from sqlalchemy import insert, select, union_all

from webapp.db.base import add_row, after_commit, count_rows, db
from webapp.errors import Conflict, Invalid, TooLarge, Unavailable
from webapp.extensions import app_settings
from webapp.files import drawing
from webapp.files.citations import page_block, tokens_of_page
from webapp.files.kinds import FileRejected, kind_of, safe_name
from webapp.files.models import File, FilePage
from webapp.files.scans import request_scan
from webapp.files.storage import digest_of, file_storage, key_of
from webapp.files.subprocesses import run_bounded
from webapp.spaces.models import SpaceDocument

log = logging.getLogger(__name__)

MAX_FILES = 2_000


@dataclass(frozen=True, slots=True)
class StoredContent:
    """Content that is stored and read: its pages, or why there are none; `seen` tokens as a picture."""

    digest: str
    name: str
    media_type: str
    size: int
    pages: list[str] = field(default_factory=list)
    reason: str | None = None
    seen: int = 0


def store_upload(user_id: int, name: str, data: BinaryIO) -> File:
    """Store a file and read it; `data` stays open until the commit. Raises Invalid, TooLarge, Conflict, Unavailable."""
    if count_rows(File.user_id == user_id) >= MAX_FILES:
        raise Conflict("You already have %(most_files)s files. Delete some first.", most_files=MAX_FILES)
    content = store_and_read(name, data)
    row = _row_of(user_id, content)
    keep_after_commit(content.digest, lambda: data)
    return row


def store_and_read(name: str, data: BinaryIO) -> StoredContent:
    """Store and read content like `store_upload`; the caller writes its row and calls `keep_after_commit`."""
    content = _identify(name, data)
    db.session.rollback()
    # Written even if it exists: it might just be being deleted, with its last file or by the sweep.
    with file_storage().store(key_of(content.digest), data) as path:
        if content.media_type.startswith("image/"):
            try:
                return replace(content, seen=drawing.draw_new_picture(path, content.digest, content.media_type))
            except Invalid as error:
                return replace(content, reason=error.problem)
        answer = run_bounded("webapp.files.text_extraction", str(path), content.media_type)
    if "error" in answer:
        return replace(content, reason=str(answer["error"])[:255])
    return replace(content, pages=answer["pages"])


def store_content(name: str, data: BinaryIO) -> StoredContent:
    """Store content like `store_and_read`, but without extracting its text."""
    content = _identify(name, data)
    db.session.rollback()
    with file_storage().store(key_of(content.digest), data):
        return content


def _identify(name: str, data: BinaryIO) -> StoredContent:
    """Identify content before it is read. Raises Invalid, TooLarge."""
    size = data.seek(0, SEEK_END)
    if size > app_settings().max_file_bytes:
        raise TooLarge("The file is larger than %(size)s MB.", size=app_settings().max_file_bytes // 1024**2)
    name = safe_name(name)
    try:
        media_type = kind_of(name, data, size)
    except FileRejected as refusal:
        raise Invalid.field("file", str(refusal)) from None
    data.seek(0)
    return StoredContent(hashlib.file_digest(cast(Any, data), "sha256").hexdigest(), name, media_type, size)


def _row_of(user_id: int, content: StoredContent) -> File:
    """Add the person's file and its pages."""
    pages = content.pages
    tokens = [tokens_of_page(number, text) if text else drawing.page_tokens() for number, text in enumerate(pages, 1)]
    row = File(
        user_id=user_id,
        digest=content.digest,
        name=content.name,
        media_type=content.media_type,
        size=content.size,
        status="unreadable" if content.reason else "ready",
        reason=content.reason,
        pages=len(pages),
        tokens=sum(tokens) + content.seen,
        characters=sum(len(page_block(number, text)) + 1 for number, text in enumerate(pages, 1) if text),
        picture_pages=sum(not text for text in pages),
    )
    add_row(row)
    if pages:
        parts = [
            {"file_id": row.file_id, "page": number, "text": text, "tokens": count}
            for number, (text, count) in enumerate(zip(pages, tokens, strict=True), 1)
        ]
        db.session.execute(insert(FilePage), parts)
    request_scan(row)
    return row


def keep_after_commit(digest: str, open_data: Callable[[], BinaryIO]) -> None:
    """Store content again if it has been deleted in the meantime, with the last other row that named it."""

    def restore() -> None:
        if file_storage().size(key_of(digest)) is None:
            with file_storage().store(key_of(digest), open_data()):
                pass

    after_commit(restore)


def delete_if_unused(digest: str) -> None:
    """Delete the bytes after the commit if no file names them."""
    if not existing_contents(db.session, [digest]):
        after_commit(lambda: _drop(digest))


def existing_contents(connection: Any, digests: Collection[str]) -> set[str]:
    """Return which of some contents a file, or a document of a space, has."""
    files = select(File.digest).where(File.digest.in_(digests))
    documents = select(SpaceDocument.digest).where(SpaceDocument.digest.in_(digests))
    return set(connection.scalars(union_all(files, documents)))


def _drop(digest: str) -> None:
    """Delete the bytes unless a row names them again; if the storage is unavailable, the sweep does it."""
    with db.engine.connect() as connection:  # the session is between two transactions
        if existing_contents(connection, [digest]):
            return  # another row has named it since
    try:
        file_storage().delete(key_of(digest))
    except Unavailable:
        log.warning("the bytes of a deleted file stay for the moment: the storage is away")


MIN_AGE_SECONDS = 3_600
"""Seconds: newer content may belong to a row that is not committed yet."""
BATCH_SIZE = 500


def sweep_storage() -> int:
    """Delete content no file names and remains of interrupted writes; return how many. Raises Unavailable."""
    storage, before = file_storage(), time.time() - MIN_AGE_SECONDS
    count = storage.drop_parts(before)
    old = (
        (key, digest) for key, modified_at in storage.entries() if modified_at < before and (digest := digest_of(key))
    )
    while keys := list(islice(old, BATCH_SIZE)):
        stored = existing_contents(db.session, {digest for _, digest in keys})
        for key, digest in keys:
            # It may have been added again while others were being deleted.
            is_named = digest in stored or existing_contents(db.session, [digest])
            db.session.rollback()
            if not is_named:
                storage.delete(key)
                count += 1
    return count
