"""A user's files: take in, list, read page by page, delete. Somebody else's behave as unknown."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Select, delete, func, insert, select

from webapp.accounts.signals import account_deleted
from webapp.database import after_commit, db
from webapp.errors import Conflict, Invalid, NotFound, TooLarge
from webapp.extensions import app_settings
from webapp.files import pictures
from webapp.files.bounded import run_bounded
from webapp.files.citing import Citable
from webapp.files.kinds import PDF, Refused, kind_of, safe_name
from webapp.files.models import File, FilePage, MessageFile
from webapp.languages.marks import say
from webapp.text.tokens import estimate_tokens
from webapp.validation import MAX_ID
from webapp.web import Cursor, Page, PageQuery

MOST_FILES = 2_000
MOST_ATTACHED = 20
"""Files that one message may carry."""


def init_files() -> None:
    """Follow accounts that end."""
    account_deleted.connect(_account_deleted)


def take_in(user_id: int, name: str, data: bytes) -> File:
    """Store a file and read it. Raises Invalid, TooLarge, Conflict, Unavailable. No connection is held meanwhile."""
    if len(data) > app_settings().max_file_bytes:
        raise TooLarge(say("The file is larger than %(size)s MB.", size=app_settings().max_file_bytes // 1024**2))
    name = safe_name(name)
    try:
        media_type = kind_of(name, data)
    except Refused as refusal:
        raise Invalid.field("file", str(refusal)) from None
    if (db.session.scalar(select(func.count()).where(File.user_id == user_id)) or 0) >= MOST_FILES:
        raise Conflict(say("You have %(most_files)s files already. Delete some first.", most_files=MOST_FILES))
    db.session.rollback()
    digest = hashlib.sha256(data).hexdigest()
    path = _keep(digest, data)
    seen = 0
    pages: list[str]
    if media_type.startswith("image/"):
        pages = []
        reason, seen = _look(digest, media_type)
    else:
        pages, reason = _read(path, media_type)
    tokens = [estimate_tokens(text) if text else pictures.page_tokens() for text in pages]
    row = File(
        user_id=user_id,
        digest=digest,
        name=name,
        media_type=media_type,
        size=len(data),
        status="unreadable" if reason else "ready",
        reason=reason,
        pages=len(pages),
        tokens=sum(tokens) + seen,
        picture_pages=sum(not text for text in pages),
    )
    db.session.add(row)
    db.session.flush()
    if pages:
        parts = [
            {"file_id": row.file_id, "page": number, "text": text, "tokens": count}
            for number, (text, count) in enumerate(zip(pages, tokens, strict=True), 1)
        ]
        db.session.execute(insert(FilePage), parts)
    after_commit(lambda: _keep(digest, data))  # the last other file of this content may have gone meanwhile
    return row


def get_file(user_id: int, file_id: int) -> File:
    """One of the user's files. Raises NotFound."""
    row = db.session.scalar(_owned(user_id).where(File.file_id == file_id))
    if row is None:
        raise NotFound("There is no such file.")
    return row


def list_files(user_id: int, query: PageQuery) -> Page[File]:
    """The user's files, newest first. Raises Invalid for a foreign cursor."""
    statement = _owned(user_id).order_by(File.file_id.desc()).limit(query.limit + 1)
    if query.cursor:
        try:
            (last_id,) = Cursor.decode(query.cursor, int)
        except ValueError:
            raise Invalid.field("cursor", "is not a cursor of this list") from None
        statement = statement.where(File.file_id < min(last_id, MAX_ID))
    return Page.of(db.session.scalars(statement).all(), query.limit, lambda row: (row.file_id,))


def page_of(user_id: int, file_id: int, number: int) -> FilePage:
    """One page of a file. Raises NotFound."""
    get_file(user_id, file_id)
    row = db.session.get(FilePage, (file_id, number))
    if row is None:
        raise NotFound("There is no such page.")
    return row


def path_of(row: File) -> Path:
    """Where the bytes of a file lie."""
    return _place(row.digest)


def picture_path(user_id: int, file_id: int, *, page: int = 0, words: str = "", small: bool = False) -> Path:
    """Where a picture of a file lies: of a page, with some words marked, or of a file that is one.

    Raises NotFound, Invalid where it cannot be drawn, Unavailable.
    """
    row = get_file(user_id, file_id)
    is_page = row.media_type == PDF and 1 <= page <= row.pages
    if not is_page and (page or not row.is_picture):
        raise NotFound("There is no picture of this.")
    digest, media_type = row.digest, row.media_type
    db.session.rollback()  # drawing takes a moment
    edge = pictures.THUMBNAIL if small else pictures.size_of_views()
    return pictures.drawn(digest, media_type, [pictures.Wish(page, edge, words)])[0]


def delete_file(user_id: int, file_id: int) -> None:
    """Delete a file with its text; conversations it was attached to lose it. Raises NotFound."""
    row = get_file(user_id, file_id)
    digest = row.digest
    db.session.delete(row)
    db.session.flush()
    _drop_unnamed(digest)


def attach(user_id: int, conversation_id: int, message_id: int, file_ids: Mapping[int, str]) -> list[dict[str, Any]]:
    """Attach files, by id with a mode, to a message; their ids and names.

    Raises NotFound for a file that is not the user's, Invalid for too many.
    """
    if len(file_ids) > MOST_ATTACHED:
        raise Invalid.field("file_ids", say("names more than %(most_attached)s files", most_attached=MOST_ATTACHED))
    names = []
    for file_id, mode in file_ids.items():
        row = get_file(user_id, file_id)
        db.session.add(
            MessageFile(message_id=message_id, file_id=row.file_id, conversation_id=conversation_id, mode=mode)
        )
        names.append({"file_id": row.file_id, "name": row.name} | ({"picture": True} if row.is_picture else {}))
    db.session.flush()
    return names


def citable(conversation_id: int) -> list[Citable]:
    """The files of a conversation whose pages can be opened."""
    rows = db.session.execute(
        select(File.file_id, File.name, File.pages)
        .join(MessageFile, MessageFile.file_id == File.file_id)
        .where(MessageFile.conversation_id == conversation_id, File.pages > 0)
        .distinct()
        .order_by(File.file_id)
    )
    return [Citable(*row) for row in rows]


def attach_again(source_id: int, conversation_id: int, file_ids: Mapping[int, Sequence[int]]) -> bool:
    """Attach files of a conversation, by message, to messages of another one as they were; whether any is left."""
    attached = select(MessageFile.file_id, MessageFile.mode).where(MessageFile.conversation_id == source_id)
    modes = {row.file_id: row.mode for row in db.session.execute(attached.order_by(MessageFile.message_id))}
    rows = [
        MessageFile(message_id=message_id, file_id=file_id, conversation_id=conversation_id, mode=modes[file_id])
        for message_id, wanted in file_ids.items()
        for file_id in wanted
        if file_id in modes
    ]
    db.session.add_all(rows)
    db.session.flush()
    return bool(rows)


def _look(digest: str, media_type: str) -> tuple[str | None, int]:
    """Why a picture cannot be shown, or what it takes of a prompt."""
    try:
        return None, pictures.first_look(digest, media_type)
    except Invalid as error:
        return str((error.errors or [{"msg": error.detail}])[0]["msg"]), 0


def _read(path: Path, media_type: str) -> tuple[list[str], str | None]:
    """The pages of a file, or why there are none; read in a process of its own, within limits."""
    answer = run_bounded("webapp.files.reading", str(path), media_type)
    return ([], str(answer["error"])[:255]) if "error" in answer else (answer["pages"], None)


def _keep(digest: str, data: bytes) -> Path:
    path = _place(digest)
    if not path.exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}.{os.urandom(4).hex()}")
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
        part.replace(path)
    return path


def _place(digest: str) -> Path:
    return pictures.place(digest)


def _account_deleted(_sender: object, *, user_id: int) -> None:
    """The bytes go with the account, as its rows do."""
    digests = db.session.scalars(select(File.digest).where(File.user_id == user_id).distinct()).all()
    db.session.execute(delete(File).where(File.user_id == user_id))
    for digest in digests:
        _drop_unnamed(digest)


def _drop_unnamed(digest: str) -> None:
    """Delete the bytes after the commit if no file names them."""
    if db.session.scalar(select(File.file_id).where(File.digest == digest).limit(1)) is None:
        path = _place(digest)
        after_commit(lambda: _drop(path, digest))


def _drop(path: Path, digest: str) -> None:
    with suppress(FileNotFoundError):
        path.unlink()
    pictures.drop(digest)


def _owned(user_id: int) -> Select[File]:
    return select(File).where(File.user_id == user_id)
