"""Notifying a user's browsers of a reply, encrypted for each; the text names the conversation, never what was said."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from datetime import timedelta
from io import BytesIO
from types import SimpleNamespace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from sqlalchemy import delete, select

from webapp.accounts.models import User, UserSession
from webapp.accounts.schemas import UserSettings
from webapp.accounts.sessions import active_sessions
from webapp.background.queues import enqueue
from webapp.conversations.models import Conversation, Message
from webapp.db.base import db, now, write_transaction
from webapp.errors import Unavailable
from webapp.extensions import app_settings
from webapp.i18n.request_language import gettext as _, use_language
from webapp.network import http_client, outbound
from webapp.push import service
from webapp.push.models import PushSubscription

if TYPE_CHECKING:
    from webpush import WebPush

log = logging.getLogger(__name__)

MAX_AGE = timedelta(days=1)
"""How long a browser that is away is waited for."""
TITLE_CHARS = 200
END_STATUSES = (403, 404, 410)
"""The browser has ended the subscription, or made it with another key."""


class PushUnavailable(Unavailable):
    """A browser could not be notified at the moment."""


def notify(message_id: int, subscription_id: int | None = None) -> int:
    """Notify a reply's owner, unless they have seen it; return how many browsers. Raises PushUnavailable.

    Of several browsers each has a job of its own, so that one that is away is asked again without the others.
    """
    letter = _letter(message_id, subscription_id)
    db.session.rollback()  # nothing is held while others are asked
    if letter is None:
        return 0
    text, rows = letter
    if len(rows) > 1:
        for row in rows:
            enqueue("push", message_id=message_id, subscription_id=row.subscription_id)
        return len(rows)
    status = _send(_sender(), rows[0], text, message_id)
    if status in END_STATUSES:
        with write_transaction():
            db.session.execute(
                delete(PushSubscription).where(PushSubscription.subscription_id == rows[0].subscription_id)
            )
    if status is None or status == 429 or status >= 500:
        raise PushUnavailable
    return int(200 <= status < 300)


def _letter(message_id: int, subscription_id: int | None) -> tuple[str, Sequence[PushSubscription]] | None:
    """Return what is sent of a reply and the browsers it goes to; None if nobody waits for it."""
    row = db.session.execute(
        select(Message, Conversation, User)
        .join(Conversation, Conversation.conversation_id == Message.conversation_id)
        .join(User, User.user_id == Conversation.user_id)
        .where(Message.message_id == message_id, Conversation.deleted_at.is_(None), User.is_active)
    ).one_or_none()
    if row is None:
        return None
    reply, conversation, owner = row
    if not conversation.is_unread:
        return None
    browsers = (
        select(PushSubscription)
        .join(UserSession, UserSession.session_id == PushSubscription.session_id)
        .join(User, User.user_id == PushSubscription.user_id)
        .where(User.user_id == owner.user_id, *active_sessions(now()))
    )
    if subscription_id is not None:
        browsers = browsers.where(PushSubscription.subscription_id == subscription_id)
    rows = db.session.scalars(browsers).all()
    if not rows:
        return None
    with use_language(UserSettings.of(owner.settings).language):
        text = {
            "title": (conversation.title or _("New conversation"))[:TITLE_CHARS],
            "body": _("The reply is done.") if reply.status == "complete" else _("The reply was interrupted."),
            "tag": f"turn-{message_id}",
            "place": f"/c/{conversation.conversation_id}",
        }
    return json.dumps(text, ensure_ascii=False), rows


def _sender() -> WebPush:
    from webpush import WebPush  # noqa: PLC0415 - only for whoever notifies

    private, public = service.key_pair()
    settings = app_settings()
    # Where makers of browsers reach whoever runs this.
    contact = settings.smtp_from or f"push@{urlsplit(settings.site_url).hostname or 'example.org'}"
    return WebPush(BytesIO(private), BytesIO(public), subscriber=contact, ttl=int(MAX_AGE.total_seconds()))


def _send(sender: WebPush, row: PushSubscription, text: str, message_id: int) -> int | None:
    """Return how a browser's maker answered; None without an answer."""
    import httpx2  # noqa: PLC0415 - as above
    from webpush import WebPushSubscription  # noqa: PLC0415 - as above

    keys = {"p256dh": row.p256dh, "auth": row.auth}
    message = sender.get(text, WebPushSubscription.model_validate({"endpoint": row.endpoint, "keys": keys}))
    url = httpx2.URL(row.endpoint)
    # For the endpoint's origin (RFC 8292); the library's own header leaves out the port.
    origin = SimpleNamespace(scheme=url.scheme, host=url.netloc.decode())
    signed = sender.vapid.get_authorization_header(origin, sender.subscriber, sender.expiration)
    about = {"authorization": signed, "content-type": "application/octet-stream", "topic": f"turn-{message_id}"}
    try:
        answer = http_client.request(
            "POST",
            row.endpoint,
            body=message.encrypted,
            headers={**message.headers, **about},
            max_bytes=0,
            allowed=app_settings().outbound_allowed,
        )
    except outbound.RequestRefused:
        return END_STATUSES[0]  # it has moved into this network: nobody is asked there
    except outbound.RequestFailed as error:
        log.warning("browser not notified", extra={"subscription_id": row.subscription_id, "error": str(error)})
        return None
    return answer.status
