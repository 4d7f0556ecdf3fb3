"""Documents of a space: adding, listing, reading and deleting them, and splitting and indexing them."""

import logging
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import ColumnElement, Select, delete as delete_rows, func, insert, select, update

from webapp.accounts.models import User
from webapp.background.queues import enqueue_after_commit
from webapp.background.time_slices import Slice
from webapp.db.base import add_row, count_rows, db, now, rows_changed, write_transaction
from webapp.errors import Conflict, Forbidden, NotFound, require
from webapp.http.paging import read_page
from webapp.http.validation import Page, PageQuery
from webapp.llm.errors import ModelError
from webapp.providers.clients import embedder
from webapp.spaces.chunks import parts_of
from webapp.spaces.members import display_name
from webapp.spaces.models import DocumentChunk, Space, SpaceDocument, SpaceMember
from webapp.spaces.originals import NO_FILE, STALL_SECONDS, Original, has_older_vectors, lacks_vector
from webapp.spaces.schemas import MAX_DOCUMENTS, DocumentOut
from webapp.spaces.service import get_space, require_member
from webapp.spaces.signals import originals_deleted, touch

log = logging.getLogger(__name__)

_COLUMNS = tuple(
    getattr(SpaceDocument, name) for name in DocumentOut.model_fields if name not in ("added_by", "is_yours")
)


class VectorProgress(NamedTuple):
    """The number of a document's vectors, and whether some are still to be made."""

    vectors: int
    has_more: bool


def add_document(
    user_id: int, space_id: int, title: str, content: str, pages: int = 0, original: Original = NO_FILE
) -> DocumentOut:
    """Add a text, its `pages` with PAGE_END between them; a job indexes it. Raises NotFound, Conflict."""
    get_space(user_id, space_id, lock=True)
    if count_rows(SpaceDocument.space_id == space_id) >= MAX_DOCUMENTS:
        raise Conflict("A space can hold %(max_documents)s documents.", max_documents=MAX_DOCUMENTS)
    moment = now()
    row = SpaceDocument(
        space_id=space_id,
        user_id=user_id,
        title=title,
        content=content,
        size=len(content),
        pages=pages,
        **original._asdict(),
        created_at=moment,
        updated_at=moment,
    )
    add_row(row)
    enqueue_after_commit("index_document", document_id=row.document_id)
    return view_document(user_id, space_id, row.document_id)


def list_documents(user_id: int, space_id: int, query: PageQuery) -> Page[DocumentOut]:
    """Return the documents of a space, newest first, keyset-paged, without their text. Raises NotFound, Invalid."""
    require_member(user_id, space_id)
    statement = _select_documents(user_id, space_id)
    page = read_page("documents of a space", query, statement, SpaceDocument.document_id, scope=space_id)
    return page.map(_out)


def view_document(user_id: int, space_id: int, document_id: int) -> DocumentOut:
    """Return a document without its text. Raises NotFound."""
    require_member(user_id, space_id)
    statement = _select_documents(user_id, space_id).where(SpaceDocument.document_id == document_id)
    return _out(require(db.session.execute(statement).one_or_none(), "There is no such document."))


def text_of(user_id: int, space_id: int, document_id: int) -> str:
    """Return the text of a document; if it has pages, with PAGE_END between them. Raises NotFound."""
    require_member(user_id, space_id)
    row = db.session.scalar(
        select(SpaceDocument.content).where(
            SpaceDocument.space_id == space_id, SpaceDocument.document_id == document_id
        )
    )
    return require(row, "There is no such document.")


def delete_document(user_id: int, space_id: int, document_id: int) -> None:
    """Delete a document with its parts, by the person who added it or the owner. Raises NotFound, Forbidden."""
    get_space(user_id, space_id)
    row = db.session.execute(
        select(SpaceDocument.user_id, SpaceDocument.digest, SpaceMember.role)
        .join(SpaceMember, SpaceMember.space_id == SpaceDocument.space_id)
        .where(
            SpaceDocument.space_id == space_id,
            SpaceDocument.document_id == document_id,
            SpaceMember.user_id == user_id,
        )
    ).one_or_none()
    if row is None:
        raise NotFound("There is no such document.")
    if row.user_id != user_id and row.role != "owner":
        raise Forbidden("Only the owner of the space, or the person who added it, can delete a document.")
    db.session.execute(delete_rows(SpaceDocument).where(SpaceDocument.document_id == document_id))
    if row.digest:
        originals_deleted.send(None, digests=[row.digest])
    touch(space_id)


def retry_document(user_id: int, space_id: int, document_id: int) -> None:
    """Index a failed document again. Raises NotFound."""
    if view_document(user_id, space_id, document_id).status == "failed":
        _update(document_id, status="queued")
        enqueue_after_commit("index_document", document_id=document_id)


def index_document(document_id: int, *, last_try: bool = False) -> VectorProgress:
    """Split a document and make its missing vectors, as far as a slice goes; safe to repeat. Raises ModelError.

    On the last try, or if trying again cannot help, the document counts as failed and is found by its words alone.
    """
    turn = Slice()
    if not _cut(document_id):
        return VectorProgress(0, False)
    count = 0
    while True:
        client = embedder()
        rows = db.session.execute(
            select(DocumentChunk.document_chunk_id, DocumentChunk.content)
            .where(DocumentChunk.document_id == document_id, lacks_vector(client.model))
            .order_by(DocumentChunk.position)
            .limit(turn.portion)
        ).all()
        db.session.remove()
        if not rows:
            _set_outcome(document_id, "ready")
            return VectorProgress(count, False)
        try:
            vectors = client.embed_passages([row.content for row in rows])
        except ModelError as error:
            if (last_try or not error.retryable) and not has_older_vectors(document_id):
                _set_outcome(document_id, "failed")
            raise
        with write_transaction():
            for row, vector in zip(rows, vectors, strict=True):
                db.session.execute(
                    update(DocumentChunk)
                    .where(DocumentChunk.document_chunk_id == row.document_chunk_id)
                    .values(embedding=np.asarray(vector, np.float32).tobytes(), embedding_model=client.model)
                )
            _count(document_id)
        count += len(rows)
        if not turn.has_time():
            return VectorProgress(count, True)


def documents_awaiting_index() -> Sequence[int]:
    """Return documents waiting for their index that no job is working on, longest waiting first."""
    return db.session.scalars(
        select(SpaceDocument.document_id)
        .where(
            SpaceDocument.status.in_(("queued", "indexing")),
            SpaceDocument.updated_at < now() - timedelta(seconds=STALL_SECONDS),
        )
        .order_by(SpaceDocument.updated_at)
    ).all()


def _cut(document_id: int) -> bool:
    """Create the parts of a document unless they exist; False if it is gone or done."""
    with write_transaction():
        row = db.session.execute(
            select(
                SpaceDocument.space_id,
                SpaceDocument.title,
                SpaceDocument.pages,
                SpaceDocument.media_type,
                SpaceDocument.status,
            )
            .join(Space, Space.space_id == SpaceDocument.space_id)
            .where(SpaceDocument.document_id == document_id)
            .with_for_update(of=SpaceDocument)
        ).one_or_none()
        if row is None or row.status == "ready":
            return False
        if not count_rows(DocumentChunk.document_id == document_id):
            content = db.session.scalar(select(SpaceDocument.content).where(SpaceDocument.document_id == document_id))
            add_parts(document_id, row.space_id, parts_of(content or "", row.pages, row.title, row.media_type))
            touch(row.space_id)
        _update(document_id, status="indexing", updated_at=now())
        _count(document_id)
    return True


def add_parts(document_id: int, space_id: int, parts: Iterable[tuple[int | None, str]]) -> None:
    """Add the parts of a document, as `parts_of` returns them."""
    rows = [
        {"document_id": document_id, "space_id": space_id, "position": position, "page": page, "content": part}
        for position, (page, part) in enumerate(parts)
    ]
    if rows:
        db.session.execute(insert(DocumentChunk), rows)


def _count(document_id: int) -> None:
    total, done_count = db.session.execute(
        select(func.count(), func.count(DocumentChunk.embedding)).where(DocumentChunk.document_id == document_id)
    ).one()
    _update(document_id, chunks_total=total, chunks_done=done_count, updated_at=now())


def _set_outcome(document_id: int, status: str) -> None:
    """End the indexing of a document, unless it has been queued again since: then another job begins anew."""
    with write_transaction():
        space_id = db.session.scalar(select(SpaceDocument.space_id).where(SpaceDocument.document_id == document_id))
        if space_id is None:
            return
        if not _update(document_id, SpaceDocument.status == "indexing", status=status, updated_at=now()):
            return
        touch(space_id)  # the vectors exist now
    log.info("document indexed", extra={"document_id": document_id, "status": status})


def _update(document_id: int, *conditions: ColumnElement[bool], **values: Any) -> int:
    return rows_changed(
        update(SpaceDocument).where(SpaceDocument.document_id == document_id, *conditions).values(**values)
    )


def _select_documents(user_id: int, space_id: int) -> Select[*tuple[Any, ...]]:
    is_yours = SpaceDocument.user_id.is_not_distinct_from(user_id).label("is_yours")
    return (
        select(*_COLUMNS, is_yours, User.name, User.email)
        .outerjoin(User, User.user_id == SpaceDocument.user_id)
        .where(SpaceDocument.space_id == space_id)
    )


def _out(row: Any) -> DocumentOut:
    return DocumentOut.from_row(row, added_by=display_name(row.name, row.email) if row.email else None)
