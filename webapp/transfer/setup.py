"""What imports, exports and leaving do whenever an account ends, and imports for the review."""

from __future__ import annotations

from webapp.transfer.leaving import init_leaving
from webapp.transfer.outdated import init_outdated
from webapp.transfer.proposals import init_proposals
from webapp.transfer.service import init_files


def init_transfer() -> None:
    """Follow accounts that end, and tell the review what came together."""
    init_files()
    init_leaving()
    init_outdated()
    init_proposals()
