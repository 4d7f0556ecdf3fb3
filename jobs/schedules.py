"""Schedules: what is due is claimed, and each message sent."""

from __future__ import annotations

from jobs.runner import job
from webapp.schedules import runs


@job("schedules")
def claim_schedules() -> int:
    """Claim what is due and queue it."""
    return runs.claim_due()


@job("scheduled_turn")
def send_scheduled(run_id: int) -> bool:
    """Send the message of a claimed run and wait for its reply."""
    return runs.run(run_id)
