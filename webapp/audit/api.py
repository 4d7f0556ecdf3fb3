"""The audit over the API: one's own events."""

from webapp.accounts.auth import current_user_id
from webapp.audit import service
from webapp.audit.schemas import AuditEventOut, AuditList
from webapp.http.json_api import api_blueprint
from webapp.http.validation import PageQuery

blueprint = api_blueprint("audit_api", __name__, tag="Audit", access="user")


@blueprint.get("/audit")
def list_audit_events(query: PageQuery) -> AuditList:
    """List what was read or changed about you, and by whom, newest first."""
    return AuditList.of(service.list_events(current_user_id(), query).map(AuditEventOut.of))
