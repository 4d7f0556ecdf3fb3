"""The page of webhooks."""

from typing import Any

from flask import render_template, request, url_for

from webapp.accounts.auth import current_user_id, password_required
from webapp.audit.targets import reason
from webapp.http.forms import redisplay_form, validate
from webapp.http.validation import parse_id
from webapp.http.views import PageBlueprint, ViewResult, commit_and_redirect, pop_values, show_once
from webapp.i18n.marks import N_
from webapp.i18n.request_language import gettext as _
from webapp.webhooks import service
from webapp.webhooks.schemas import ALL_KINDS, NewWebhook, WebhookChanges

blueprint = PageBlueprint("webhooks_pages", __name__, access="user")

LABELS = N_({"url": "The address", "kinds": "An event"})
KIND_LABELS = N_(
    {
        "conversation.started": "A conversation began",
        "conversation.deleted": "A conversation was deleted",
        "reply.finished": "A reply is finished",
        "memory.changed": "Memories changed",
        "memory.forgotten": "Memories were forgotten",
        "journey.summarised": "A journey’s summary is ready",
        "schedule.finished": "A schedule has run",
        "schedule.failed": "A schedule’s run failed",
        "schedule.paused": "A schedule paused itself",
        "ping": "Test",
    }
)


@blueprint.get("/settings/webhooks")
@password_required
def index() -> ViewResult:
    """The webhooks, their latest deliveries, and the form for a new one."""
    return _page(**pop_values())


@blueprint.post("/settings/webhooks")
@password_required
@redisplay_form(lambda errors: _page(errors=errors), LABELS, otherwise="url")
def create() -> ViewResult:
    """Add a webhook; the page shows its secret, only this once."""
    row, secret = service.create_webhook(current_user_id(), validate(NewWebhook, _fields()))
    return show_once(url_for(".index"), secret=secret, fresh=row.webhook_id)


@blueprint.post("/settings/webhooks/<int:webhook_id>")
@password_required
def change(webhook_id: int) -> ViewResult:
    """Switch on or off, test, or delete."""
    user_id, message = current_user_id(), ""
    match request.form.get("do"):
        case "delete":
            service.delete_webhook(user_id, webhook_id)
            message = _("The webhook has been deleted.")
        case "test":
            service.ping(user_id, webhook_id)
            message = _("A test is on its way. Reload the page to see the answer.")
        case "secret":
            _row, secret = service.renew_secret(user_id, webhook_id)
            return show_once(url_for(".index"), secret=secret, fresh=webhook_id)
        case "on" | "off" as do:
            service.change_webhook(user_id, webhook_id, WebhookChanges(is_active=do == "on"))
    return commit_and_redirect(url_for(".index"), message)


def _fields() -> dict[str, Any]:
    """Return the posted webhook."""
    form = request.form
    return {"url": form.get("url", ""), "kinds": form.getlist("kinds"), "with_content": "with_content" in form}


def _page(*, errors: dict[str, str] | None = None, secret: str = "", fresh: int = 0) -> str:
    rows = service.list_webhooks(current_user_id())
    webhook_id = parse_id(request.args.get("show", "")) or fresh
    deliveries = (
        service.list_deliveries(current_user_id(), webhook_id) if any(r.webhook_id == webhook_id for r in rows) else []
    )
    return render_template(
        "webhooks/page.html",
        rows=rows,
        kinds=ALL_KINDS,
        words=KIND_LABELS,
        translate_reason=reason,
        errors=errors or {},
        values=_fields() if errors else {"kinds": ALL_KINDS},
        secret=secret,
        chosen=webhook_id,
        deliveries=deliveries,
    )
