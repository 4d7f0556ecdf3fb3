"""The state of the memory panel beside a page: open or closed."""

from flask import request, session

from webapp.accounts.auth import current_user_id
from webapp.conversations.models import Conversation
from webapp.memories.showing import cards


def panel_state(conversation: Conversation | None = None) -> str:
    """Return "open" or "closed", as it was left; else "auto", open beside conversations, once it holds something.

    The start page shows nothing of memory to who passes by, unless the person opened the panel.
    """
    cookie = request.cookies.get("panel", "")
    if cookie in ("open", "closed"):
        return cookie
    is_guided = conversation is not None and conversation.journey_id is not None
    return "auto" if is_guided or has_memory() else "closed"


def has_memory() -> bool:
    """Return whether anything is, or was, remembered; the session notes it, so that it is asked for until then only."""
    user_id = current_user_id()
    if session.get("remembers") != user_id and cards.has_any(user_id):
        session["remembers"] = user_id
    return session.get("remembers") == user_id
