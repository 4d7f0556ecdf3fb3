"""Documents' vectors from an older model: they are used until replaced, and have to be made again."""

from datetime import timedelta

from sqlalchemy import ColumnElement, and_, or_, select, update

from webapp.db.base import db, now
from webapp.spaces.models import DocumentChunk, SpaceDocument

OWED_SECONDS = 120
"""After this long without progress, no job is working on a document."""


def owe_documents(model: str) -> None:
    """Queue every document with vectors from another model, so that it gets them from this one; until then the old ones
    stay in use. The caller commits."""
    other = select(DocumentChunk.document_id).where(
        DocumentChunk.document_id == SpaceDocument.document_id, DocumentChunk.embedding_model != model
    )
    db.session.execute(
        update(SpaceDocument)
        .where(SpaceDocument.status.in_(("indexing", "ready")), other.exists())
        .values(status="queued", updated_at=now() - timedelta(seconds=OWED_SECONDS))
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
