"""Webhooks."""

from jobs.runner import job
from webapp.webhooks import delivery


@job("deliver")
def deliver(webhook_id: int) -> int:
    """Deliver what a webhook is owed."""
    return delivery.deliver(webhook_id)
