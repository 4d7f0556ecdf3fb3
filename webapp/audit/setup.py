"""Records what other packages announce by signal: accounts come before the audit in the layers and cannot call it."""

from __future__ import annotations

from flask import Flask

from webapp.accounts.signals import account_event
from webapp.audit.program_access import init_programs
from webapp.audit.service import record


def init_audit(app: Flask) -> None:
    """Record what happens to accounts, and what programs do with memory."""
    account_event.connect(_record)
    init_programs(app)


def _record(_sender: object, user_id: int, action: str, what: str = "") -> None:
    record(user_id, action, what)
