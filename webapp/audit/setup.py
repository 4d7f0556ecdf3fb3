"""Records what other packages announce by signal: what happens to accounts, and what programs do with a token."""

import logging
from dataclasses import replace
from typing import Any

from flask import Flask, Response, request
from sqlalchemy.exc import SQLAlchemyError

from webapp.accounts.signals import account_event
from webapp.audit.actions import Action
from webapp.audit.service import current_actor, record
from webapp.background.events import Kind, event_recorded
from webapp.db.base import write_transaction


def init_audit(app: Flask) -> None:
    """Record what happens to accounts, and what programs do with memory."""
    app.after_request(_note_reading)


@account_event.connect
def _record(_sender: object, user_id: int, action: str, target: str = "") -> None:
    actor = current_actor()
    if (actor.kind, action) == ("visitor", Action.ACCOUNT_CREATED):
        actor = replace(actor, kind="person", user_id=user_id)  # it is theirs, and they are about to be signed in
    record(user_id, action, target, actor=actor)


log = logging.getLogger(__name__)

READ_INTERVAL = 600
"""Seconds in which the same reading by the same program is recorded once."""
_MCP = "/mcp"
# What is read at the addresses that begin like this; the first match counts.
_READ = (
    ("/api/profile", "the profile"),
    ("/api/search", "search results"),
    *((path, "") for path in ("/api/memories", "/api/ai/", "/memory/")),
)


def _note_reading(response: Response) -> Response:
    """Record a reading in a transaction of its own, since the view that read is done."""
    target = next((target for beginning, target in _READ if request.path.startswith(beginning)), None)
    if target is None or request.method != "GET" or response.status_code >= 300:
        return response
    actor = current_actor()
    if actor.kind == "token" and actor.user_id is not None:
        try:
            with write_transaction():
                record(actor.user_id, Action.MEMORIES_READ, target, actor=actor, once_in=READ_INTERVAL)
        except SQLAlchemyError as error:  # the next reading is recorded
            log.warning("a reading was not recorded", extra={"error": type(error).__name__})
    return response


@event_recorded.connect
def _note_change(_sender: object, *, user_id: int, kind: Kind, data: dict[str, Any], **_more: Any) -> None:
    if kind not in (Kind.MEMORY_CHANGED, Kind.MEMORY_FORGOTTEN):
        return
    actor = current_actor()
    if actor.kind == "token" and actor.user_id == user_id and not request.path.startswith(_MCP):
        target = "some forgotten" if kind is Kind.MEMORY_FORGOTTEN else ""
        record(user_id, Action.MEMORIES_CHANGED, target, detail={"change_set_id": data["change_set_id"]}, actor=actor)
