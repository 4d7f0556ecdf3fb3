"""Jobs that the scheduler asks for: finishing what died, queueing what is owed, closing the books on what is past."""

from jobs.runner import job
from webapp.files.uploads import sweep_storage
from webapp.shell import upkeep


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
    """Delete what is past its time, and add up what was used."""
    return upkeep.purge()
