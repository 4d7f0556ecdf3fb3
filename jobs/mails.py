"""E-mail about accounts, after the request that asked for it was committed."""

from jobs.runner import job
from webapp.accounts import mails


@job("mail")
def send_mail(mail_id: int) -> str:
    """Send it, unless it has been sent; returns the outcome."""
    return mails.send(mail_id)
