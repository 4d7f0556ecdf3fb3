"""The page that tells how to connect other programs, and what they did."""

from __future__ import annotations

from flask import Blueprint, render_template, request
from sqlalchemy import select

from webapp.accounts.auth import current_user_id, signed_in
from webapp.audit.actions import Action, words
from webapp.audit.models import AuditEvent
from webapp.database import db

blueprint = Blueprint("mcp_pages", __name__)

SHOWN = 20


@blueprint.get("/settings/programs")
@signed_in
def index() -> str:
    """Addresses, set-up for the programs that people use, and what programs read or changed lately."""
    wanted = (Action.MEMORIES_READ, Action.MEMORIES_CHANGED)
    events = db.session.scalars(
        select(AuditEvent)
        .where(AuditEvent.user_id == current_user_id(), AuditEvent.actor_kind == "token", AuditEvent.action.in_(wanted))
        .order_by(AuditEvent.event_id.desc())
        .limit(SHOWN)
    ).all()
    return render_template("mcp/programs.html", host=request.host_url.rstrip("/"), events=events, words=words)
