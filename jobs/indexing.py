"""Vectors for search."""

from jobs.runner import job
from webapp.background.queues import enqueue
from webapp.retrieval import vector_jobs


@job("index")
def index(user_id: int) -> dict[str, int]:
    """Make the vectors that are owed to a user."""
    result = vector_jobs.index_user(user_id)
    if result.has_more:
        enqueue("index", user_id=user_id)
    return {"messages": result.messages, "chunks": result.chunks, "memories": result.memories}
