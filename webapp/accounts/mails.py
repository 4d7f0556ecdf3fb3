"""E-mail about accounts: requested inside a transaction, sent by a job after it; and what its links do.

A link's token is derived from its row and SECRET_KEY, so the database alone opens nothing.
"""

import hmac
import logging
from collections.abc import Collection
from datetime import timedelta

from flask import current_app
from sqlalchemy import delete, select

from webapp.accounts import access_kinds, service, signals, smtp
from webapp.accounts.mail_texts import HOURS, JOIN, KNOWN, RESET, VERIFY, compose
from webapp.accounts.models import AccountMail, User
from webapp.accounts.schemas import Registration, UserSettings
from webapp.background.queues import enqueue_after_commit
from webapp.db.base import add_row, count_rows, db, get_or_raise, now, rows_changed
from webapp.db.encryption import keyed_hash
from webapp.errors import DomainError, Invalid, TooMany, require
from webapp.extensions import app_settings
from webapp.http.validation import parse_id
from webapp.i18n.marks import N_
from webapp.i18n.request_language import language_of, use_language

log = logging.getLogger(__name__)

PER_HOUR = 5
"""The most mails of one kind that an address gets in an hour, no matter who asks for them."""
RETENTION_DAYS = 30
MAX_DELAY_HOURS = 24


class InvalidLink(DomainError):
    """A link in a mail is not valid: it was used, has expired, or never existed."""

    status, title = 410, N_("This link no longer works")

    def __init__(self) -> None:
        super().__init__(N_("This link has already been used or has expired. Ask for a new one."))


def is_set_up() -> bool:
    """Return whether this installation sends mail."""
    return bool(app_settings().smtp_host)


def ask_to_join(email: str) -> None:
    """Send an address a link for a new account, or a note that it has one; the answer is not shown here."""
    account = _account(email)
    _request(KNOWN if account else JOIN, email, None, language=_language(account))


def invite(admin_id: int, email: str) -> None:
    """Invite somebody to an account, whether or not registration is open. Raises Invalid, TooMany."""
    if _account(email):
        raise Invalid.field("email", "already has an account")
    if _request(JOIN, email, None, invited_by=admin_id) is None:
        raise TooMany("We have sent several e-mails to this address already. Try again in an hour.", retry_after=3_600)


def ask_for_reset(email: str) -> None:
    """Send the account with this address, if there is one, a link for a new password; the request does as much."""
    user = _account(email)
    _request(RESET, email, user if user is not None and user.is_active else None)


def ask_to_verify(user_id: int) -> None:
    """Send the user a link that shows that their address is theirs. Raises TooMany."""
    user = service.get_user(user_id)
    if user.email_verified_at is None and _request(VERIFY, user.email, user) is None:
        raise TooMany("We have sent you several of these e-mails already. Try again in an hour.", retry_after=3_600)


def send(mail_id: int) -> str:
    """Send a mail unless it has been sent, with no transaction open; return the outcome. Raises MailUnavailable."""
    mail = db.session.get(AccountMail, mail_id)
    if mail is None or mail.sent_at is not None or mail.used_at is not None or _is_late(mail):
        return "nothing to do"
    settings = app_settings()
    inviter = db.session.get(User, mail.invited_by) if mail.invited_by else None
    name = (inviter.name or inviter.email) if inviter else ""
    with use_language(mail.language):
        text = compose(mail.kind, settings.site_url, token_of(mail), name)
    to = mail.email
    db.session.rollback()
    try:
        smtp.send(settings, to, text.subject, text.body, f"account {mail_id}")
        ended = "sent"
    except smtp.MailRefused as error:
        log.warning("mail refused", extra={"mail_id": mail_id, "error": str(error)})
        ended = "refused"
    mail = get_or_raise(AccountMail, mail_id)
    mail.sent_at, mail.is_refused = now(), ended == "refused"
    db.session.flush()
    return ended


def overdue_mails() -> list[int]:
    """Return mails that were requested a while ago and have not been sent."""
    moment = now()
    statement = select(AccountMail.mail_id).where(
        AccountMail.sent_at.is_(None),
        AccountMail.created_at > moment - timedelta(hours=MAX_DELAY_HOURS),
        AccountMail.created_at < moment - timedelta(seconds=30),
    )
    return list(db.session.scalars(statement))


def purge() -> int:
    """Delete old requests; returns how many."""
    return rows_changed(delete(AccountMail).where(AccountMail.created_at < now() - timedelta(days=RETENTION_DAYS)))


def check(kind: str, token: str) -> AccountMail:
    """Return the mail whose link was followed. Raises InvalidLink if it was used, has expired or never existed."""
    mail_id = parse_id(token.partition(".")[0])
    mail = db.session.get(AccountMail, mail_id) if mail_id is not None else None
    right = mail is not None and hmac.compare_digest(token_of(mail).encode(), token.encode("utf-8", "replace"))
    if mail is None or not right or mail.kind != kind or mail.used_at is not None or _is_late(mail):
        raise InvalidLink()
    if mail.user_id is not None:
        user = db.session.get(User, mail.user_id)
        if user is None or not user.is_active or user.auth_version != mail.auth_version or user.email != mail.email:
            raise InvalidLink()
    return mail


def join(token: str, name: str, password: str) -> User:
    """Create the requested account, with a verified address. Raises InvalidLink, Invalid."""
    mail = _use(JOIN, token)
    return service.create_user(Registration(email=mail.email, name=name, password=password))


def reset(token: str, password: str, *, kept_sessions: Collection[str] = ()) -> None:
    """Set a new password for the reader of the mail. All their sessions end, and whatever else gets into the account,
    except for the kinds of access they keep. Raises InvalidLink, Invalid."""
    mail = _use(RESET, token)
    user = service.reset_password(require(mail.user_id, "There is no such account."), password)
    access_kinds.end_access(user.user_id, but=kept_sessions)
    user.email_verified_at = now()
    db.session.flush()


def verify(token: str) -> None:
    """Mark the user's address as verified. Raises InvalidLink."""
    mail = _use(VERIFY, token)
    user = service.get_user(mail.user_id or 0)
    user.email_verified_at = now()
    signals.note(user.user_id, "email_verified")
    db.session.flush()


def token_of(mail: AccountMail) -> str:
    """Return the token in the link of a mail."""
    signed = f"{mail.mail_id}|{mail.kind}|{mail.email}|{mail.auth_version}|{mail.created_at.isoformat()}"
    return f"{mail.mail_id}.{keyed_hash(b'mail|' + signed.encode()).hexdigest()[:43]}"


def _use(kind: str, token: str) -> AccountMail:
    """Return the mail, marked as used; of two simultaneous requests, one comes too late."""
    mail = check(kind, token)
    db.session.refresh(mail, with_for_update=True)
    if mail.used_at is not None:
        raise InvalidLink()
    mail.used_at = now()
    db.session.flush()
    return mail


def _request(
    kind: str, email: str, user: User | None, *, invited_by: int | None = None, language: str = ""
) -> int | None:
    """Request a mail, sent after the commit; None if the address has had too many."""
    is_recent = AccountMail.created_at > now() - timedelta(hours=1)
    if count_rows(AccountMail.email == email, AccountMail.kind == kind, is_recent) >= PER_HOUR:
        return None
    mail = AccountMail(
        kind=kind,
        email=email,
        language=language or _language(user),
        user_id=user.user_id if user else None,
        auth_version=user.auth_version if user else 0,
        invited_by=invited_by,
        sent_at=now() if kind == RESET and user is None else None,  # nobody gets it
    )
    add_row(mail)
    enqueue_after_commit("mail", mail_id=mail.mail_id)
    return mail.mail_id


def _language(account: User | None) -> str:
    """Return the language of an account, otherwise that of the person asking."""
    return UserSettings.of(account.settings).document_language if account else language_of(current_app).code


def _is_late(mail: AccountMail) -> bool:
    return mail.created_at < now() - timedelta(hours=HOURS[mail.kind])


def _account(email: str) -> User | None:
    return db.session.scalar(select(User).where(User.email == email))
