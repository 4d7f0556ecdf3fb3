"""The original files of documents, and whether all their parts have vectors."""

from datetime import timedelta
from typing import NamedTuple

from sqlalchemy import ColumnElement, and_, or_, select, update

from webapp.db.base import db, now
from webapp.errors import NotFound
from webapp.spaces.models import DocumentChunk, SpaceDocument
from webapp.spaces.service import require_member


class Original(NamedTuple):
    """A stored file: the digest of its content, its kind and its name; all None for a text without a file."""

    digest: str | None = None
    media_type: str | None = None
    file_name: str | None = None


NO_FILE = Original()


class StoredOriginal(NamedTuple):
    """The original of a document, and how many pages its text has."""

    digest: str
    media_type: str
    file_name: str
    pages: int


def original_of(user_id: int, space_id: int, document_id: int) -> StoredOriginal:
    """Return the file that a document was read from, for members. Raises NotFound, also if only the text is kept."""
    require_member(user_id, space_id)
    row = db.session.execute(
        select(SpaceDocument.digest, SpaceDocument.media_type, SpaceDocument.file_name, SpaceDocument.pages).where(
            SpaceDocument.space_id == space_id, SpaceDocument.document_id == document_id
        )
    ).one_or_none()
    if row is None:
        raise NotFound("There is no such document.")
    if not (row.digest and row.media_type and row.file_name):
        raise NotFound("The original of this document is not kept, only its text.")
    return StoredOriginal._make(row)


STALL_SECONDS = 120
"""After this long without progress, no job is working on a document."""


def queue_outdated_documents(model: str) -> None:
    """Queue every document with vectors from another model, which stay in use until then."""
    other = select(DocumentChunk.document_id).where(
        DocumentChunk.document_id == SpaceDocument.document_id, DocumentChunk.embedding_model != model
    )
    db.session.execute(
        update(SpaceDocument)
        .where(SpaceDocument.status.in_(("indexing", "ready")), other.exists())
        .values(status="queued", updated_at=now() - timedelta(seconds=STALL_SECONDS))
        .execution_options(synchronize_session=False)
    )


def lacks_vector(model: str) -> ColumnElement[bool]:
    """Return whether a part of a document has no vector from this model."""
    return or_(DocumentChunk.embedding.is_(None), DocumentChunk.embedding_model != model)


IS_WHOLE = and_(SpaceDocument.chunks_total > 0, SpaceDocument.chunks_done == SpaceDocument.chunks_total)
"""Whether all parts have a vector, even if from an older model."""


def has_older_vectors(document_id: int) -> bool:
    """Return whether all parts of a document have vectors by which it can be found until the embedder is back."""
    document = select(SpaceDocument.document_id).where(SpaceDocument.document_id == document_id, IS_WHOLE)
    exists = db.session.scalar(document) is not None
    db.session.remove()
    return exists
