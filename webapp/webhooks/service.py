"""A person's webhooks: creating, changing, testing and deleting them, and noting what to tell them."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

from sqlalchemy import delete, exists, func, select, update

from webapp.accounts.access import BROWSER_ONLY
from webapp.accounts.access_kinds import Kind, add_kind
from webapp.accounts.identity import current_identity
from webapp.accounts.models import User
from webapp.audit.actions import Action
from webapp.audit.service import SYSTEM, record
from webapp.background.events import Kind as EventKind, event_recorded
from webapp.background.queues import enqueue_after_commit
from webapp.db.base import add_row, after_commit, db, now, own_row, rows_changed
from webapp.errors import Conflict, Forbidden, require
from webapp.extensions import app_settings
from webapp.i18n.marks import N_
from webapp.network import outbound
from webapp.providers.key_encryption import Secrets, seal
from webapp.webhooks import events_api
from webapp.webhooks.models import Webhook, WebhookDelivery
from webapp.webhooks.schemas import NewWebhook, WebhookChanges
from webapp.webhooks.signatures import new_event_id, new_secret

MAX_WEBHOOKS = 20
MAX_WAITING = 1_000
"""The most deliveries waiting for one webhook; further events are not delivered to it."""
MAX_LISTED = 20
PING = "ping"
RETENTION = timedelta(days=14)


def list_webhooks(user_id: int) -> Sequence[Webhook]:
    """Return a person's webhooks, newest first."""
    statement = select(Webhook).where(Webhook.user_id == user_id)
    return db.session.scalars(statement.order_by(Webhook.webhook_id.desc())).all()


def _hosts(user_id: int) -> list[str]:
    return [_host(row.url) for row in list_webhooks(user_id)]


def _delete_all(user_id: int) -> None:
    for row in list_webhooks(user_id):
        delete_webhook(user_id, row.webhook_id)


add_kind("webhooks", Kind(N_("Webhooks"), _hosts, _delete_all))


def get_webhook(user_id: int, webhook_id: int) -> Webhook:
    """Return one of a person's webhooks. Raises NotFound."""
    return require(own_row(Webhook, user_id, webhook_id), "There is no such webhook.")


def create_webhook(user_id: int, fields: NewWebhook) -> tuple[Webhook, str]:
    """Create a webhook; returns it and its secret, readable only this once. Raises Invalid, Conflict."""
    if len(list_webhooks(user_id)) >= MAX_WEBHOOKS:
        raise Conflict("There are already %(most)s webhooks.", most=MAX_WEBHOOKS)
    secret, identity = new_secret(), current_identity()
    row = Webhook(
        user_id=user_id,
        token_id=identity.token_id if identity else None,
        url=outbound.check_outside_url("url", fields.url, app_settings().outbound_allowed),
        kinds=_join_kinds(fields.kinds),
        with_content=bool(fields.with_content),
        secret=seal(Secrets(secret)),
    )
    add_row(row)
    _mark(user_id)
    record(user_id, Action.WEBHOOK_CREATED, _host(row.url))
    return row, secret


def change_webhook(user_id: int, webhook_id: int, changes: WebhookChanges) -> Webhook:
    """Change the given fields; a webhook that is switched on starts afresh. Raises NotFound, Invalid, Forbidden."""
    row = get_webhook(user_id, webhook_id)
    values = changes.model_dump(exclude_unset=True)
    if "url" in values:
        _require_maker(row)
        row.url = outbound.check_outside_url("url", values["url"], app_settings().outbound_allowed)
    if "kinds" in values:
        row.kinds = _join_kinds(values["kinds"])
    if "with_content" in values:
        row.with_content = values["with_content"]
    if "is_active" in values:
        row.is_active, row.disabled_reason, row.failing_since = values["is_active"], None, None
        if not row.is_active:
            _drop_waiting(webhook_id)
    db.session.flush()
    _mark(user_id)
    record(user_id, Action.WEBHOOK_CHANGED, _host(row.url))
    return row


def renew_secret(user_id: int, webhook_id: int) -> tuple[Webhook, str]:
    """Replace the secret; returns the new one. Raises NotFound, Forbidden."""
    row, secret = get_webhook(user_id, webhook_id), new_secret()
    _require_maker(row)
    row.secret = seal(Secrets(secret))
    db.session.flush()
    record(user_id, Action.WEBHOOK_CHANGED, _host(row.url))
    return row, secret


def delete_webhook(user_id: int, webhook_id: int) -> None:
    """Delete a webhook and what waits for it. Raises NotFound."""
    row = get_webhook(user_id, webhook_id)
    record(user_id, Action.WEBHOOK_DELETED, _host(row.url))
    db.session.execute(delete(Webhook).where(Webhook.webhook_id == webhook_id))
    db.session.expunge(row)
    _mark(user_id)


def ping(user_id: int, webhook_id: int) -> WebhookDelivery:
    """Send a webhook a ping. Raises NotFound, Conflict if it is off."""
    if not get_webhook(user_id, webhook_id).is_active:
        raise Conflict("This webhook is off. Switch it on first.")
    return _add_deliveries([webhook_id], PING, {})[0]


def list_deliveries(user_id: int, webhook_id: int) -> Sequence[WebhookDelivery]:
    """Return a webhook's latest deliveries, newest first, waiting ones included. Raises NotFound."""
    get_webhook(user_id, webhook_id)
    statement = select(WebhookDelivery).where(WebhookDelivery.webhook_id == webhook_id)
    return db.session.scalars(statement.order_by(WebhookDelivery.delivery_id.desc()).limit(MAX_LISTED)).all()


def disable(row: Webhook, reason: str) -> None:
    """Switch off a webhook that does not work, and record that for its owner; what waits for it is not delivered."""
    row.is_active, row.disabled_reason = False, reason[:300]
    _drop_waiting(row.webhook_id)
    record(row.user_id, Action.WEBHOOK_DISABLED, f"{_host(row.url)}: {reason}", actor=SYSTEM)
    db.session.flush()
    _mark(row.user_id)


@event_recorded.connect
def _note(_sender: object, *, user_id: int, kind: EventKind, data: Mapping[str, Any], hooked: bool | None) -> None:
    """Something happened: publish it to listeners after the commit, and queue it for the webhooks that want it."""
    after_commit(partial(events_api.publish, user_id, kind, dict(data)))
    if hooked is False:
        return
    waiting = (
        select(func.count())
        .where(WebhookDelivery.webhook_id == Webhook.webhook_id, WebhookDelivery.status == "waiting")
        .scalar_subquery()
    )
    statement = select(Webhook.webhook_id).where(
        Webhook.user_id == user_id, Webhook.is_active, Webhook.kinds.contains(f",{kind},"), waiting < MAX_WAITING
    )
    _add_deliveries(db.session.scalars(statement).all(), kind, data)


def _add_deliveries(webhook_ids: Iterable[int], kind: str, data: Mapping[str, Any]) -> list[WebhookDelivery]:
    event_id = new_event_id()
    deliveries = [
        WebhookDelivery(webhook_id=webhook_id, event_id=event_id, kind=kind, data=dict(data))
        for webhook_id in webhook_ids
    ]
    if deliveries:
        db.session.add_all(deliveries)
        db.session.flush()
        for row in deliveries:
            enqueue_after_commit("deliver", webhook_id=row.webhook_id)
    return deliveries


def _drop_waiting(webhook_id: int) -> None:
    conditions = WebhookDelivery.webhook_id == webhook_id, WebhookDelivery.status == "waiting"
    rows_changed(
        update(WebhookDelivery).where(*conditions).values(status="skipped", answer="the webhook was switched off")
    )


def _mark(user_id: int) -> None:
    """Store on the account whether it has active webhooks, so that the end of a turn needs no query for that."""
    active = exists().where(Webhook.user_id == user_id, Webhook.is_active)
    db.session.execute(update(User).where(User.user_id == user_id).values(has_webhooks=active))


def _require_maker(row: Webhook) -> None:
    """Raise Forbidden for a token that did not create the webhook, whose URL and secret would outlive the token."""
    identity = current_identity()
    if identity is not None and identity.token_id not in (None, row.token_id):
        raise Forbidden(BROWSER_ONLY)


def _join_kinds(kinds: Iterable[str]) -> str:
    return "," + "".join(f"{kind}," for kind in sorted(set(kinds)))


def _host(url: str) -> str:
    return outbound.check_url(url).netloc


def purge() -> None:
    """Delete old deliveries that are no longer waiting: created more than a fortnight ago, a few thousand at most."""
    old = select(WebhookDelivery.delivery_id).where(
        WebhookDelivery.created_at < now() - RETENTION, WebhookDelivery.status != "waiting"
    )
    ids = db.session.scalars(old.limit(5_000)).all()
    if ids:
        db.session.execute(delete(WebhookDelivery).where(WebhookDelivery.delivery_id.in_(ids)))
