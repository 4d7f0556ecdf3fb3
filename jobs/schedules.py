"""Schedules: each message whose time has come, and the mail after it."""

from jobs.runner import job
from webapp.schedules import mails, runs


@job("scheduled_turn")
def send_scheduled(run_id: int) -> bool:
    """Send the message of a claimed run and wait for its reply."""
    return runs.run(run_id)


@job("schedule_mail")
def mail_end(run_id: int) -> str:
    """Mail its owner that a run has ended, unless that was done; returns the outcome."""
    return mails.send(run_id)
