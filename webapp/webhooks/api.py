"""JSON endpoints of webhooks, and the stream of events."""

from webapp.accounts import idempotency
from webapp.accounts.auth import current_user_id, password_required
from webapp.chat.api import STREAM
from webapp.http.json_api import api_blueprint
from webapp.http.validation import Id
from webapp.http.views import ViewResult
from webapp.webhooks import events_api, service
from webapp.webhooks.events_api import EventQuery
from webapp.webhooks.schemas import (
    CreatedWebhook,
    DeliveryList,
    DeliveryOut,
    NewWebhook,
    WebhookChanges,
    WebhookList,
    WebhookOut,
)

blueprint = api_blueprint("webhooks_api", __name__, tag="Events", access="user")


@blueprint.get("/events", responses=STREAM)
def events(query: EventQuery) -> ViewResult:
    """Return what happens to your conversations, memories and journeys, as it happens; ids only.

    `Last-Event-ID` goes on where a stream ended; `missed` says that something in between is lost.
    """
    return events_api.response(current_user_id(), query)


@blueprint.get("/webhooks")
def list_webhooks() -> WebhookList:
    """Your webhooks, newest first."""
    return WebhookList(webhooks=[WebhookOut.of(row) for row in service.list_webhooks(current_user_id())])


@blueprint.post("/webhooks", status=201)
@password_required
@idempotency.idempotent
def create_webhook(body: NewWebhook) -> CreatedWebhook:
    """Register a URL for events. The answer holds the secret, this once. One made by a token ends with it."""
    row, secret = service.create_webhook(current_user_id(), body)
    return CreatedWebhook.of(row, secret=secret)


@blueprint.patch("/webhooks/<int:webhook_id>")
@password_required
def change_webhook(webhook_id: Id, body: WebhookChanges) -> WebhookOut:
    """Change a webhook; only the given fields."""
    return WebhookOut.of(service.change_webhook(current_user_id(), webhook_id, body))


@blueprint.delete("/webhooks/<int:webhook_id>")
def delete_webhook(webhook_id: Id) -> None:
    """End a webhook at once, and what waits for it."""
    service.delete_webhook(current_user_id(), webhook_id)


@blueprint.post("/webhooks/<int:webhook_id>/secret")
@password_required
def renew_secret(webhook_id: Id) -> CreatedWebhook:
    """A new secret; the old one signs nothing any more."""
    row, secret = service.renew_secret(current_user_id(), webhook_id)
    return CreatedWebhook.of(row, secret=secret)


@blueprint.post("/webhooks/<int:webhook_id>/test", status=202)
def test_webhook(webhook_id: Id) -> DeliveryOut:
    """Send a `ping`."""
    return DeliveryOut.from_row(service.ping(current_user_id(), webhook_id))


@blueprint.get("/webhooks/<int:webhook_id>/deliveries")
def list_deliveries(webhook_id: Id) -> DeliveryList:
    """Return what a webhook was told last, and how it answered."""
    rows = service.list_deliveries(current_user_id(), webhook_id)
    return DeliveryList(deliveries=[DeliveryOut.from_row(row) for row in rows])
