"""What a request narrows the list of memories to."""

from __future__ import annotations

from flask import request
from pydantic import ValidationError

from webapp.conversations.models import Conversation
from webapp.memories.showing.cards import Filters
from webapp.problems import field_errors


def read_filters(conversation: Conversation | None = None) -> Filters:
    """The filters of the request; those that make no sense are as if they were not set."""
    given = {name: value for name, value in request.args.items() if value != ""}
    given["conversation"] = str(conversation.conversation_id) if conversation else given.get("conversation", "")
    if conversation is not None and conversation.space_id is not None and "space" not in request.args:
        given["space"] = str(conversation.space_id)  # what its prompts use, until something else is asked for
    given = {name: value for name, value in given.items() if name in Filters.model_fields and value}
    try:
        return Filters(**given)
    except ValidationError as error:
        wrong = {str(item["loc"][0]) for item in field_errors(error)}
        return Filters(**{name: value for name, value in given.items() if name not in wrong})
