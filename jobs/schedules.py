"""Schedules: each message whose time has come."""

from __future__ import annotations

from jobs.runner import job
from webapp.schedules import runs


@job("scheduled_turn")
def send_scheduled(run_id: int) -> bool:
    """Send the message of a claimed run and wait for its reply."""
    return runs.run(run_id)
