"""Records what other packages announce by signal: accounts come before the audit in the layers and cannot call it."""

from __future__ import annotations

from webapp.accounts.signals import account_event
from webapp.audit.service import record


def init_audit() -> None:
    """Record what happens to accounts."""
    account_event.connect(_record)


def _record(_sender: object, user_id: int, action: str, what: str = "") -> None:
    record(user_id, action, what)
