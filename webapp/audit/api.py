"""The audit over the API: one's own events."""

from typing import Any

from webapp.accounts.auth import current_user_id, login_required
from webapp.audit import service
from webapp.audit.schemas import AuditEventOut, AuditList
from webapp.http.paging import PageQuery
from webapp.http.views import api_blueprint

blueprint = api_blueprint("audit_api", __name__, tag="Audit")


@blueprint.get("/audit", responses={200: AuditList})
@login_required
def list_audit_events(query: PageQuery) -> dict[str, Any]:
    """List what was read or changed about you, and by whom, newest first."""
    page = service.list_events(current_user_id(), query)
    events = [AuditEventOut.of(event) for event in page.items]
    return AuditList(events=events, next_cursor=page.next_cursor).model_dump(mode="json")
