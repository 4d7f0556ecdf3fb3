"""The filters a request sets on the list of memories."""

from flask import request
from pydantic import ValidationError

from webapp.accounts.auth import current_user_id
from webapp.conversations.models import Conversation
from webapp.http.problems import field_errors
from webapp.memories.showing.cards import Filters
from webapp.spaces.current_space import chosen_space


def read_filters(conversation: Conversation | None = None, *, arrives: bool = False) -> Filters:
    """Return the filters of the request; nonsensical ones count as not set.

    A panel that `arrives` at a place shows only what is used there, whatever was chosen elsewhere.
    """
    values = {name: value for name, value in request.args.items() if value != ""}
    values["conversation"] = str(conversation.conversation_id) if conversation else values.get("conversation", "")
    if arrives or (conversation is not None and "space" not in request.args):
        values["space"] = str(_space_here(conversation) or "")  # until something else is asked for
    values = {name: value for name, value in values.items() if name in Filters.model_fields and value}
    try:
        return Filters(**values)
    except ValidationError as error:
        wrong = {str(item["loc"][0]) for item in field_errors(error)}
        return Filters(**{name: value for name, value in values.items() if name not in wrong})


def _space_here(conversation: Conversation | None) -> int | None:
    """Return the space whose memories are used here: that of the conversation, or of the next one."""
    if conversation is not None:
        return conversation.space_id
    space = chosen_space(current_user_id())
    return space.space_id if space else None
