"""JSON endpoints of notifications."""

from webapp.accounts import idempotency
from webapp.accounts.auth import current_user_id, session_only
from webapp.accounts.identity import require_identity
from webapp.http.json_api import api_blueprint
from webapp.push import service
from webapp.push.schemas import EndedSubscription, NewSubscription, PushOut, SubscriptionOut

blueprint = api_blueprint("push_api", __name__, tag="Events", access="user")


@blueprint.get("/push")
def get_push() -> PushOut:
    """Return the key that browsers subscribe to notifications with, and which of yours have."""
    rows = [SubscriptionOut.from_row(row) for row in service.list_subscriptions(current_user_id())]
    return PushOut(public_key=service.public_key(), subscriptions=rows)


@blueprint.post("/push/subscriptions", status=201)
@session_only
@idempotency.idempotent
def subscribe(body: NewSubscription) -> SubscriptionOut:
    """Notify this browser of replies that come while nobody looks, until it signs out."""
    session_id = require_identity().session_id
    assert session_id is not None, "only sessions call this"
    row = service.subscribe(current_user_id(), session_id, body.endpoint, body.keys.p256dh, body.keys.auth)
    return SubscriptionOut.from_row(row)


@blueprint.delete("/push/subscriptions")
@session_only
def unsubscribe(body: EndedSubscription) -> None:
    """Notify this browser no more."""
    service.unsubscribe(current_user_id(), body.endpoint)
