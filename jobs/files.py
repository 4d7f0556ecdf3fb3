"""The text of scanned pages."""

from jobs.runner import job
from webapp.background.queues import enqueue
from webapp.files import scans


@job("read_scans")
def read_scans(file_id: int) -> bool:
    """Read pages that are pictures for a while; the rest is another job's."""
    has_more = scans.read_scans(file_id)
    if has_more:
        enqueue("read_scans", file_id=file_id)
    return has_more
