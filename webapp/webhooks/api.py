"""JSON endpoints of webhooks, and the stream of events."""

from typing import Any

from webapp.accounts import idempotency
from webapp.accounts.auth import current_user_id, login_required, password_required
from webapp.http.answers import commit_empty, commit_json
from webapp.http.views import Responses, ViewResult, api_blueprint
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
    WebhookPath,
)

blueprint = api_blueprint("webhooks_api", __name__, tag="Events")

STREAM: Responses = {
    200: {"description": "Server-sent events", "content": {"text/event-stream": {"schema": {"type": "string"}}}}
}


@blueprint.get("/events", responses=STREAM)
@login_required
def events(query: EventQuery) -> ViewResult:
    """Return what happens to your conversations, memories and journeys, as it happens; ids only.

    `Last-Event-ID` goes on where a stream ended; `missed` says that something in between is lost.
    """
    return events_api.response(current_user_id(), query)


@blueprint.get("/webhooks", responses={200: WebhookList})
@login_required
def list_webhooks() -> dict[str, Any]:
    """Your webhooks, newest first."""
    hooks = [WebhookOut.of(row) for row in service.list_webhooks(current_user_id())]
    return WebhookList(webhooks=hooks).model_dump(mode="json")


@blueprint.post("/webhooks", responses={201: CreatedWebhook})
@login_required
@password_required
@idempotency.idempotent
def create_webhook(body: NewWebhook) -> tuple[Any, int]:
    """Have a URL told what happens. The answer holds the secret, this once. One made by a token ends with it."""
    row, secret = service.create_webhook(current_user_id(), body)
    return idempotency.commit_json(CreatedWebhook.of(row, secret=secret), 201)


@blueprint.patch("/webhooks/<int:webhook_id>", responses={200: WebhookOut})
@login_required
@password_required
def change_webhook(path: WebhookPath, body: WebhookChanges) -> ViewResult:
    """Change a webhook; only the given fields."""
    row = service.change_webhook(current_user_id(), path.webhook_id, body)
    return commit_json(WebhookOut.of(row))


@blueprint.delete("/webhooks/<int:webhook_id>", responses={204: None})
@login_required
def delete_webhook(path: WebhookPath) -> ViewResult:
    """End a webhook at once, and what waits for it."""
    service.delete_webhook(current_user_id(), path.webhook_id)
    return commit_empty()


@blueprint.post("/webhooks/<int:webhook_id>/secret", responses={200: CreatedWebhook})
@login_required
@password_required
def renew_secret(path: WebhookPath) -> ViewResult:
    """A new secret; the old one signs nothing any more."""
    row, secret = service.renew_secret(current_user_id(), path.webhook_id)
    return commit_json(CreatedWebhook.of(row, secret=secret))


@blueprint.post("/webhooks/<int:webhook_id>/test", responses={202: DeliveryOut})
@login_required
def test_webhook(path: WebhookPath) -> ViewResult:
    """Send a `ping`."""
    return commit_json(DeliveryOut.from_row(service.ping(current_user_id(), path.webhook_id)), 202)


@blueprint.get("/webhooks/<int:webhook_id>/deliveries", responses={200: DeliveryList})
@login_required
def list_deliveries(path: WebhookPath) -> dict[str, Any]:
    """Return what a webhook was told last, and how it answered."""
    rows = service.list_deliveries(current_user_id(), path.webhook_id)
    return DeliveryList(deliveries=[DeliveryOut.from_row(row) for row in rows]).model_dump(mode="json")
