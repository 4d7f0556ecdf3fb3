"""The page that explains how to connect other programs, and lists what they did."""

from flask import render_template
from sqlalchemy import select

from webapp.accounts.auth import current_user_id
from webapp.accounts.scopes import WORDS
from webapp.audit.actions import Action, words
from webapp.audit.models import AuditEvent
from webapp.db.base import db
from webapp.http.views import PageBlueprint, absolute
from webapp.oauth.service import list_grants, scopes_in
from webapp.spaces.schemas import SpaceQuery
from webapp.spaces.service import list_spaces

blueprint = PageBlueprint("mcp_pages", __name__, access="user")

MAX_EVENTS = 20


@blueprint.get("/settings/programs")
def index() -> str:
    """Show URLs, set-up instructions for common programs, and what programs have read or changed lately."""
    wanted = (Action.MEMORIES_READ, Action.MEMORIES_CHANGED, Action.SCHEDULES_CHANGED)
    events = db.session.scalars(
        select(AuditEvent)
        .where(AuditEvent.user_id == current_user_id(), AuditEvent.actor_kind == "token", AuditEvent.action.in_(wanted))
        .order_by(AuditEvent.event_id.desc())
        .limit(MAX_EVENTS)
    ).all()
    names = {space.space_id: space.name for space in list_spaces(current_user_id(), SpaceQuery(limit=100)).items}
    connected = [
        {
            "grant_id": grant.grant_id,
            "name": client.name,
            "rights": [WORDS[one] for one in scopes_in(grant.scope)],
            "proposes": "mcp" in scopes_in(grant.scope),
            "writes": "mcp_write" in scopes_in(grant.scope),
            "places": None if token.space_ids is None else [names.get(one, "") for one in token.space_ids if one],
            "is_personal": token.space_ids is None or 0 in token.space_ids,
            "since": grant.created_at,
            "used": token.last_used_at,
        }
        for grant, client, token in list_grants(current_user_id())
    ]
    return render_template("mcp_server/programs.html", host=absolute(), events=events, words=words, connected=connected)
