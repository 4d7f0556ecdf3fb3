"""The rolling summary of a long conversation, and at night the summaries of its summaries."""

from jobs.runner import follow_with, job, report
from webapp.background.queues import enqueue
from webapp.llm.errors import ModelError
from webapp.providers.catalogue import has_worker
from webapp.summaries import overviews, service


@job("summary")
def summarise(conversation_id: int) -> dict[str, int] | None:
    """Close the oldest open messages of a conversation, and continue if there are many more."""
    try:
        chunk = service.summarise(conversation_id)
    except ModelError:
        # The summary took the place of this turn's extraction; if it fails, the extraction runs after all.
        follow_with("extract", conversation_id=conversation_id)
        raise
    if chunk is None:
        return None
    result = {"chunk_id": chunk.chunk_id, "start": chunk.start, "end": chunk.end}
    report("summary_complete", {"conversation_id": conversation_id, "range": [chunk.start, chunk.end]})
    if chunk.has_more:
        enqueue("summary", conversation_id=conversation_id)
    return result


@job("overview")
def make_overview(conversation_id: int) -> bool:
    """Sum up the oldest summaries of a conversation, and continue if there are many more."""
    overview = overviews.make_overview(conversation_id)
    if overview:
        enqueue("overview", conversation_id=conversation_id)
    return overview


@job("overviews")
def request_overviews() -> int:
    """Queue the overviews that are due, for everybody; returns the number of conversations."""
    owed = overviews.conversations_awaiting_overview() if has_worker() else []
    for conversation_id in owed:
        enqueue("overview", conversation_id=conversation_id)
    return len(owed)
