"""The parts that the factory wires for imports, exports and leaving."""

from webapp.transfer.account_erasure import init_erasure
from webapp.transfer.export_jobs import init_export_expiry
from webapp.transfer.proposals import init_proposals
from webapp.transfer.service import init_files


def init_transfer() -> None:
    """React to accounts that are deleted, and tell the review which proposals came together."""
    init_files()
    init_erasure()
    init_export_expiry()
    init_proposals()
