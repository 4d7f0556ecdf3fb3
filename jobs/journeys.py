"""The summary of a guided conversation."""

from jobs.runner import job, report
from webapp.journeys.relevance import embed_points
from webapp.journeys.report_job import make_report


@job("journey_report")
def make_journey_report(conversation_id: int) -> bool:
    """Set the summary of a conversation as a PDF, unless the one there is says the same."""
    result = make_report(conversation_id)
    if result:
        report("summary_complete", {"conversation_id": conversation_id, "report": True})
    return result


@job("point_vectors")
def embed_journey_points() -> int:
    """Make the vectors that points need and do not have yet."""
    return embed_points()
