"""Notifications of replies to browsers in which no page is open."""

from jobs.runner import job
from webapp.push import delivery


@job("push")
def notify_browsers(message_id: int) -> int:
    """Notify the browsers of a reply's owner."""
    return delivery.notify(message_id)
