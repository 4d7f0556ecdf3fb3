"""Jobs that the scheduler asks for: finishing what died, queueing what is owed, deleting what is past its time."""

from __future__ import annotations

from jobs.runner import job
from webapp.background.queues import enqueue
from webapp.files.uploads import sweep_storage
from webapp.shell import upkeep
from webapp.usage.sums import add_up


@job("sweep")
def sweep() -> dict[str, int]:
    """Finish dead turns and queue owed work."""
    return upkeep.sweep()


@job("sweep_files")
def sweep_files() -> int:
    """Delete the bytes that no file names."""
    return sweep_storage()


@job("purge")
def purge() -> dict[str, int]:
    """Delete what is past its time."""
    return upkeep.purge()


@job("usage_sums")
def add_up_usage() -> bool:
    """Add usage records to the sums of their day; what this slice leaves, the next one takes."""
    is_more = add_up()
    if is_more:
        enqueue("usage_sums")
    return is_more
