"""JSON endpoint of usage."""

from __future__ import annotations

from typing import Any

from webapp.accounts.auth import current_identity, current_user_id, signed_in
from webapp.errors import Forbidden
from webapp.usage import service
from webapp.usage.schemas import UsageQuery, UsageReport
from webapp.web import api_blueprint

blueprint = api_blueprint("usage_api", __name__, tag="Models")


@blueprint.get("/usage", responses={200: UsageReport})
@signed_in
def read_usage(query: UsageQuery) -> dict[str, Any]:
    """What you used; all users' for admins."""
    identity = current_identity()
    everyone = query.everyone or query.by == "user"
    if everyone and not (identity and identity.is_admin):
        raise Forbidden("Only admins can see what everybody used.")
    return service.report(current_user_id(), query, everyone=everyone).model_dump(mode="json")
