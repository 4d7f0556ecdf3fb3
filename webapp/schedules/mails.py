"""Mail about runs that have ended: it names the conversation and links to it, never says what was said, and goes once.

Whoever sends it has it for a while, and clears the debt when the mail server is about to take it: after a crash before
that it is sent, after one in that moment it is not.
"""

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import select, update

from webapp.accounts import smtp
from webapp.accounts.mails import is_set_up
from webapp.accounts.models import User
from webapp.accounts.preferences import UserSettings
from webapp.background.queues import enqueue_after_commit
from webapp.conversations.models import Conversation, Message
from webapp.db.base import db, now, rows_changed, write_transaction
from webapp.errors import Conflict
from webapp.extensions import app_settings
from webapp.i18n.request_language import gettext as _, use_language
from webapp.schedules.models import Schedule, ScheduleRun

log = logging.getLogger(__name__)

LEASE, WAIT, PAUSE = timedelta(minutes=3), timedelta(seconds=30), timedelta(minutes=5)
MAX_AGE = timedelta(hours=24)
"""How long a mail server that is away is waited for."""
TITLE_CHARS = 120
_OUTCOMES = {smtp.MailRefused: "refused", smtp.MailDeliveryUnknown: "lost", smtp.MailUnavailable: "away"}


class AlreadyClaimed(Conflict):
    """Somebody else sends this mail, or has sent it."""


def queue_mail(run: ScheduleRun, schedule: Schedule) -> None:
    """Owe the owner a mail about a run that has just ended, if they want one; it is sent after the commit."""
    if schedule.sends_mail and is_set_up():
        run.mail_due_at = now()
        enqueue_after_commit("schedule_mail", run_id=run.run_id)


def due_mails() -> Sequence[int]:
    """Return the runs about which a mail has been due for a while."""
    due = select(ScheduleRun.run_id).where(ScheduleRun.mail_due_at < now() - WAIT)
    return db.session.scalars(due.order_by(ScheduleRun.mail_due_at)).all()


def send(run_id: int) -> str:
    """Send the mail that a run owes, with no transaction open; return the outcome. It waits for a server away."""
    until, is_taken = _claim(run_id), False
    if until is None:
        return "nothing to do"
    mail = _mail_of(run_id)
    db.session.rollback()

    def take() -> None:
        nonlocal is_taken
        _end_debt(run_id, until)
        is_taken = True

    try:
        if mail is None:
            take()
            return "nothing to do"
        smtp.send(app_settings(), *mail, f"run {run_id}", before=take)
    except AlreadyClaimed:
        return "nothing to do"
    except (smtp.MailRefused, smtp.MailUnavailable) as error:
        outcome = _OUTCOMES[type(error)]
        log.warning("mail %s", outcome, extra={"run_id": run_id, "error": str(error)})
        if outcome == "away":
            _postpone(run_id, until, is_taken=is_taken)
        return outcome
    return "sent"


def _claim(run_id: int) -> datetime | None:
    """Return until when this process has a mail that is due; None if there is none, or it is too late for it."""
    until = now() + LEASE
    with write_transaction():
        due = (ScheduleRun.run_id == run_id, ScheduleRun.mail_due_at <= now())
        old = update(ScheduleRun).where(*due, ScheduleRun.ended_at < now() - MAX_AGE)
        if rows_changed(old.values(mail_due_at=None)):
            log.warning("mail given up", extra={"run_id": run_id})
            return None
        count = rows_changed(update(ScheduleRun).where(*due).values(mail_due_at=until))
    return until if count else None


def _end_debt(run_id: int, until: datetime) -> None:
    """End the debt of a mail that this process has. Raises AlreadyClaimed if it has it no more."""
    with write_transaction():
        statement = update(ScheduleRun).where(ScheduleRun.run_id == run_id, ScheduleRun.mail_due_at == until)
        if rows_changed(statement.values(mail_due_at=None)) != 1:
            raise AlreadyClaimed


def _postpone(run_id: int, until: datetime, *, is_taken: bool) -> None:
    """Owe a mail again that was certainly not taken; if the mail server took none at all, so must the others wait."""
    condition = ScheduleRun.mail_due_at.is_(None) if is_taken else ScheduleRun.mail_due_at == until
    later = now() + PAUSE
    with write_transaction():
        rows_changed(update(ScheduleRun).where(ScheduleRun.run_id == run_id, condition).values(mail_due_at=later))
        if not is_taken:
            rows_changed(update(ScheduleRun).where(ScheduleRun.mail_due_at <= now()).values(mail_due_at=later))


def _mail_of(run_id: int) -> tuple[str, str, str] | None:
    """Return a mail's address, subject and text; None if nobody wants it any more, or the address may not be theirs."""
    row = db.session.execute(
        select(ScheduleRun, Schedule, User, Conversation)
        .join(Schedule, Schedule.schedule_id == ScheduleRun.schedule_id)
        .join(User, User.user_id == Schedule.user_id)
        .outerjoin(Message, Message.message_id == ScheduleRun.message_id)
        .outerjoin(Conversation, Conversation.conversation_id == Message.conversation_id)
        .where(ScheduleRun.run_id == run_id, Schedule.sends_mail, User.is_active, User.email_verified_at.is_not(None))
    ).one_or_none()
    if row is None:
        return None
    run, schedule, owner, conversation = row
    is_deleted = run.status == "done" if conversation is None else conversation.deleted_at is not None
    if is_deleted:
        return None  # it would lead nowhere
    with use_language(UserSettings.of(owner.settings).document_language):
        return owner.email, *_texts(run, schedule, conversation)


def _texts(run: ScheduleRun, schedule: Schedule, conversation: Conversation | None) -> tuple[str, str]:
    site = app_settings().site_url.rstrip("/")
    url = f"{site}/schedules/{schedule.schedule_id}"
    title = " ".join(((conversation and conversation.title) or schedule.title).split())[:TITLE_CHARS]
    place = f"{site}/c/{conversation.conversation_id}#m-{run.message_id}" if conversation else url
    if run.status == "done":
        subject = _("“%(title)s” has been answered", title=title)
        lines = [_("The message that you scheduled was sent and answered. Read the reply here:"), place]
    else:
        subject = _("“%(title)s” was not answered", title=title)
        lines = [_("The message that you scheduled was due, but was not answered. See why here:"), place]
    if run.is_late:
        lines.append(_("It ran late, because the server was not running at the scheduled time."))
    if not schedule.is_active and schedule.paused_why:
        lines.append(_("The schedule has paused itself. You can resume it."))
    lines += [_("You get this e-mail because you chose it for this schedule. Change that here:"), url]
    return subject, "\n\n".join(lines) + "\n"
