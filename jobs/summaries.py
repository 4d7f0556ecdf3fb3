"""The rolling summary of a long conversation."""

from __future__ import annotations

from jobs.runner import follow_with, job, report
from webapp.llm.errors import ModelError
from webapp.queueing import enqueue
from webapp.summaries import service


@job("summary")
def summarise(conversation_id: int) -> dict[str, int] | None:
    """Close the oldest open messages of a conversation, and go on if there are many more."""
    try:
        closed = service.summarise(conversation_id)
    except ModelError:
        # The summary took the place of this turn's extraction; when it fails, that has its turn after all.
        follow_with("extract", conversation_id=conversation_id)
        raise
    if closed is None:
        return None
    found = {"chunk_id": closed.chunk_id, "start": closed.start, "end": closed.end}
    report("summary_complete", {"conversation_id": conversation_id, "range": [closed.start, closed.end]})
    if closed.more:
        enqueue("summary", conversation_id=conversation_id)
    return found
