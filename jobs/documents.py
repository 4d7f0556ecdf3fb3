"""The parts of a document and their vectors."""

from jobs.runner import is_last_try, job
from webapp.background.queues import enqueue
from webapp.spaces import documents


@job("index_document")
def index_document(document_id: int) -> int:
    """Split a document and make its missing vectors; for a long one, in several jobs, one after another."""
    result = documents.index_document(document_id, last_try=is_last_try())
    if result.has_more:
        enqueue("index_document", document_id=document_id)
    return result.vectors
