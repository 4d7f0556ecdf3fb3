"""Files as documents of a space: stored and read like any attachment, and open to every member."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO

from blinker import Signal
from sqlalchemy import or_, select

from webapp.conversations.models import Conversation
from webapp.db.base import db
from webapp.errors import Conflict, Invalid, NotFound
from webapp.files import drawing
from webapp.files.citations import Citable
from webapp.files.kinds import PDF
from webapp.files.models import FilePage
from webapp.files.schemas import PictureQuery
from webapp.files.service import get_file
from webapp.files.uploads import delete_if_unused, keep_after_commit, store_and_read
from webapp.spaces import documents
from webapp.spaces.chunks import PAGE_END
from webapp.spaces.models import SpaceDocument
from webapp.spaces.originals import Original, original_of
from webapp.spaces.schemas import MAX_DOCUMENT, DocumentOut
from webapp.spaces.service import require_member, spaces_of
from webapp.spaces.signals import originals_deleted

collect_cited_documents = Signal()
"""`conversation_id=`: which documents of spaces did its replies draw on? Receivers return a list of their ids."""


@dataclass(frozen=True, slots=True)
class DocumentPage:
    """One page of a document, and whether it can be drawn."""

    document: DocumentOut
    number: int
    text: str
    is_drawn: bool


def add_to_space(user_id: int, space_id: int, file_id: int, title: str = "") -> DocumentOut:
    """Add one of the user's files to a space they belong to; it stays theirs. Raises NotFound, Conflict, Invalid."""
    row = get_file(user_id, file_id, lock=True)  # it cannot be deleted before the document names its bytes
    statement = select(FilePage.text).where(FilePage.file_id == file_id).order_by(FilePage.page)
    original = Original(row.digest, row.media_type, row.name)
    return _add(user_id, space_id, title.strip()[:255], original, db.session.scalars(statement).all(), row.reason)


def upload_to_space(user_id: int, space_id: int, name: str, data: BinaryIO) -> DocumentOut:
    """Store `data`, open until the commit, as a document of a space. Raises as `store_upload` and `add_to_space` do."""
    require_member(user_id, space_id)
    content = store_and_read(name, data)
    original = Original(content.digest, content.media_type, content.name)
    document = _add(user_id, space_id, "", original, content.pages, content.reason)
    keep_after_commit(content.digest, lambda: data)
    return document


def page_of_document(user_id: int, space_id: int, document_id: int, number: int) -> DocumentPage:
    """Return a page of a document, for members. Raises NotFound."""
    document = documents.view_document(user_id, space_id, document_id)
    if not 1 <= number <= document.pages:
        raise NotFound("There is no such page.")
    text = documents.text_of(user_id, space_id, document_id).split(PAGE_END)[number - 1]
    return DocumentPage(document, number, text, _is_drawn(document.media_type))


def picture_of_document(user_id: int, space_id: int, document_id: int, query: PictureQuery) -> bytes:
    """Return a page of a document as JPEG with words highlighted. Raises NotFound, Invalid, Unavailable."""
    original = original_of(user_id, space_id, document_id)
    if not _is_drawn(original.media_type) or not 1 <= query.page <= original.pages:
        raise NotFound("There is no picture of this.")
    page = query.page if original.media_type == PDF else 0
    return drawing.draw_view(original.digest, original.media_type, page, query)


def citable_documents(user_id: int, conversation_id: int) -> list[Citable]:
    """Return documents with pages, in the user's spaces, of the conversation's space or that its replies drew on."""
    statement = select(Conversation.space_id).where(Conversation.conversation_id == conversation_id)
    answers = collect_cited_documents.send(None, conversation_id=conversation_id)
    drawn_on = {document_id for _, ids in answers for document_id in ids}
    rows = db.session.execute(
        select(SpaceDocument.document_id, SpaceDocument.title, SpaceDocument.pages, SpaceDocument.space_id)
        .where(
            or_(SpaceDocument.space_id == statement.scalar_subquery(), SpaceDocument.document_id.in_(drawn_on)),
            SpaceDocument.space_id.in_(spaces_of(user_id)),
            SpaceDocument.pages > 0,
        )
        .order_by(SpaceDocument.document_id)
    )
    return [Citable(*row) for row in rows]


def _is_drawn(media_type: str | None) -> bool:
    return media_type is not None and (media_type == PDF or media_type.startswith("image/"))


def _add(
    user_id: int, space_id: int, title: str, original: Original, pages: Sequence[str], reason: str | None
) -> DocumentOut:
    if reason:
        raise Invalid.field("file_id", reason)
    if (original.media_type or "").startswith("image/"):
        pages = ("",)
    if sum(map(len, pages)) > MAX_DOCUMENT:
        raise Conflict("This file holds more than %(most)s characters. Add it in parts.", most=f"{MAX_DOCUMENT:,}")
    content = PAGE_END.join(page.replace(PAGE_END, "\n") for page in pages)
    return documents.add_document(user_id, space_id, title or original.file_name or "", content, len(pages), original)


@originals_deleted.connect
def _delete_bytes(_sender: object, *, digests: Sequence[str]) -> None:
    """Delete the bytes with the last row that names them."""
    for digest in digests:
        delete_if_unused(digest)
