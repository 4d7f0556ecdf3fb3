"""The parts of a document and their vectors."""

from __future__ import annotations

from jobs.runner import is_last_try, job
from webapp.queueing import enqueue
from webapp.spaces import documents


@job("index_document")
def index_document(document_id: int) -> int:
    """Cut a document and make the vectors it lacks; those of a long one by several jobs, one after the other."""
    made = documents.index_document(document_id, last_try=is_last_try(), at_most=documents.AT_MOST)
    if made >= documents.AT_MOST:
        enqueue("index_document", document_id=document_id)
    return made
