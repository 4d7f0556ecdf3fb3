"""The parts of a document and their vectors."""

from __future__ import annotations

from jobs.runner import is_last_try, job
from webapp.spaces import documents


@job("index_document")
def index_document(document_id: int) -> int:
    """Cut a document and make the vectors it lacks."""
    return documents.index_document(document_id, last_try=is_last_try())
