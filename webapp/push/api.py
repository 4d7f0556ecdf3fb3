"""JSON endpoints of notifications."""

from typing import Any

from webapp.accounts import idempotency
from webapp.accounts.auth import current_user_id, login_required, session_only
from webapp.accounts.identity import require_identity
from webapp.http.answers import commit_empty
from webapp.http.views import ViewResult, api_blueprint
from webapp.push import service
from webapp.push.schemas import EndedSubscription, NewSubscription, PushOut, SubscriptionOut

blueprint = api_blueprint("push_api", __name__, tag="Events")


@blueprint.get("/push", responses={200: PushOut})
@login_required
def get_push() -> dict[str, Any]:
    """Return the key that browsers subscribe to notifications with, and which of yours have."""
    rows = [SubscriptionOut.from_row(row) for row in service.list_subscriptions(current_user_id())]
    return PushOut(public_key=service.public_key(), subscriptions=rows).model_dump(mode="json")


@blueprint.post("/push/subscriptions", responses={201: SubscriptionOut})
@login_required
@session_only
@idempotency.idempotent
def subscribe(body: NewSubscription) -> ViewResult:
    """Notify this browser of replies that come while nobody looks, until it signs out."""
    session_id = require_identity().session_id
    assert session_id is not None, "only sessions call this"
    row = service.subscribe(current_user_id(), session_id, body.endpoint, body.keys.p256dh, body.keys.auth)
    return idempotency.commit_json(SubscriptionOut.from_row(row), 201)


@blueprint.delete("/push/subscriptions", responses={204: None})
@login_required
@session_only
def unsubscribe(body: EndedSubscription) -> ViewResult:
    """Notify this browser no more."""
    service.unsubscribe(current_user_id(), body.endpoint)
    return commit_empty()
