"""The memory panel beside a page: open or closed, and the filters a request sets on its list."""

from flask import request, session
from sqlalchemy import select

from webapp.accounts.auth import current_user_id
from webapp.conversations.models import Conversation
from webapp.db.base import db
from webapp.http.validation import valid_fields
from webapp.memories import service
from webapp.memories.showing.cards import Filters
from webapp.spaces.current_space import chosen_space


def panel_state(conversation: Conversation | None = None) -> str:
    """Return "open" or "closed", as it was left; else "auto": open beside conversations, once it holds something."""
    cookie = request.cookies.get("panel", "")
    if cookie in ("open", "closed"):
        return cookie
    is_guided = conversation is not None and conversation.journey_id is not None
    return "auto" if is_guided or has_memory() else "closed"


def has_memory() -> bool:
    """Return whether anything is, or was, remembered; the session notes it, so that it is asked for until then only."""
    user_id = current_user_id()
    if session.get("remembers") != user_id and db.session.scalar(select(service.visible(user_id).exists())):
        session["remembers"] = user_id
    return session.get("remembers") == user_id


def read_filters(conversation: Conversation | None = None, *, arrives: bool = False) -> Filters:
    """Return the filters of the request, without nonsense; a panel that `arrives` shows only what is used there."""
    values = {name: value for name, value in request.args.items() if value != ""}
    values["conversation"] = str(conversation.conversation_id) if conversation else values.get("conversation", "")
    if arrives or (conversation is not None and "space" not in request.args):
        values["space"] = str(_space_here(conversation) or "")  # until something else is asked for
    values = {name: value for name, value in values.items() if name in Filters.model_fields and value}
    return valid_fields(Filters, values)


def _space_here(conversation: Conversation | None) -> int | None:
    """Return the space whose memories are used here: that of the conversation, or of the next one."""
    if conversation is not None:
        return conversation.space_id
    space = chosen_space(current_user_id())
    return space.space_id if space else None
