"""What imports, exports and leaving do whenever an account ends."""

from __future__ import annotations

from webapp.transfer.leaving import init_leaving
from webapp.transfer.outdated import init_outdated
from webapp.transfer.service import init_files


def init_transfer() -> None:
    """Follow accounts that end."""
    init_files()
    init_leaving()
    init_outdated()
