"""A user's files: list, read page by page, attach, delete. Other people's files count as unknown."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import delete, select

from webapp.accounts.signals import account_deleted
from webapp.db.base import db, delete_row, own_row
from webapp.errors import Invalid, NotFound, require
from webapp.files import drawing
from webapp.files.citations import Citable
from webapp.files.kinds import PDF
from webapp.files.models import File, FilePage, MessageFile
from webapp.files.schemas import PictureQuery
from webapp.files.uploads import delete_if_unused
from webapp.http.paging import read_rows
from webapp.http.validation import Page, PageQuery

MAX_ATTACHED = 20
"""The most files one message may have."""


def get_file(user_id: int, file_id: int, *, lock: bool = False) -> File:
    """Return one of the user's files; with `lock` it cannot be deleted before the transaction ends. Raises NotFound."""
    return require(own_row(File, user_id, file_id, lock=lock), "There is no such file.")


def list_files(user_id: int, query: PageQuery) -> Page[File]:
    """Return the user's files, newest first. Raises Invalid for a foreign cursor."""
    statement = select(File).where(File.user_id == user_id)
    return read_rows("files", query, statement, File.file_id, scope=user_id)


def page_of(user_id: int, file_id: int, number: int) -> FilePage:
    """Return one page of a file. Raises NotFound."""
    get_file(user_id, file_id)
    return require(db.session.get(FilePage, (file_id, number)), "There is no such page.")


def picture_of(user_id: int, file_id: int, query: PictureQuery) -> bytes:
    """Return a picture of a page of a file, or of a picture, as JPEG. Raises NotFound, Invalid, Unavailable."""
    row = get_file(user_id, file_id)
    is_page = row.media_type == PDF and 1 <= query.page <= row.pages
    if not is_page and (query.page or not row.is_picture):
        raise NotFound("There is no picture of this.")
    return drawing.draw_view(row.digest, row.media_type, query.page, query)


def delete_file(user_id: int, file_id: int) -> None:
    """Delete a file with its text; conversations it was attached to lose it. Raises NotFound."""
    row = get_file(user_id, file_id, lock=True)
    digest = row.digest
    delete_row(row)
    delete_if_unused(digest)


def attach(user_id: int, conversation_id: int, message_id: int, file_ids: Mapping[int, str]) -> list[dict[str, Any]]:
    """Attach files, by id with a mode, to a message; return ids and names. Raises NotFound, Invalid for too many."""
    if len(file_ids) > MAX_ATTACHED:
        raise Invalid.field("file_ids", "names more than %(most_attached)s files", most_attached=MAX_ATTACHED)
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
    """Return the files of a conversation whose pages can be opened."""
    rows = db.session.execute(
        select(File.file_id, File.name, File.pages)
        .join(MessageFile, MessageFile.file_id == File.file_id)
        .where(MessageFile.conversation_id == conversation_id, File.pages > 0)
        .distinct()
        .order_by(File.file_id)
    )
    return [Citable(*row) for row in rows]


def attach_again(source_id: int, conversation_id: int, file_ids: Mapping[int, Sequence[int]]) -> bool:
    """Attach files of a conversation, by message, to messages of another one; returns whether there are any."""
    attached = select(MessageFile.file_id, MessageFile.mode).where(MessageFile.conversation_id == source_id)
    modes = {row.file_id: row.mode for row in db.session.execute(attached.order_by(MessageFile.message_id))}
    rows = [
        MessageFile(message_id=message_id, file_id=file_id, conversation_id=conversation_id, mode=modes[file_id])
        for message_id, ids in file_ids.items()
        for file_id in ids
        if file_id in modes
    ]
    db.session.add_all(rows)
    db.session.flush()
    return bool(rows)


@account_deleted.connect
def _account_deleted(_sender: object, *, user_id: int) -> None:
    """Delete the user's files with the account, and the bytes that nobody else has."""
    digests = db.session.scalars(select(File.digest).where(File.user_id == user_id).distinct()).all()
    db.session.execute(delete(File).where(File.user_id == user_id))
    for digest in digests:
        delete_if_unused(digest)
