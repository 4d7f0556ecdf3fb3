"""JSON endpoints of digests for their owners, and what placeholders turn into."""

from typing import Any

from flask import Flask
from pydantic import ValidationError

from webapp.accounts.auth import Identity, current_user_id, login_required, require_identity
from webapp.conversations.service import get_conversation
from webapp.digests import service
from webapp.digests.schemas import (
    ConversationMemoryData,
    ConversationMemoryHistory,
    ConversationMemoryOut,
    ConversationMemoryVersionOut,
)
from webapp.digests.service import log_read, reachable_conversation
from webapp.errors import Invalid
from webapp.http.json_api import api_blueprint
from webapp.http.problems import field_errors
from webapp.http.validation import Id
from webapp.memories.web.api import digest_upsert
from webapp.prompts.placeholders import find
from webapp.prompts.schemas import Rendered, RenderRequest
from webapp.prompts.values import fill_for

blueprint = api_blueprint("digests_api", __name__, tag="Digests", access="user")


@blueprint.get("/conversations/<int:conversation_id>/memory")
def get_conversation_memory(conversation_id: Id) -> ConversationMemoryOut:
    """The memory (the digest) of a conversation of yours."""
    get_conversation(current_user_id(), conversation_id)
    return ConversationMemoryOut.of(service.get_digest(conversation_id))


@blueprint.get("/conversations/<int:conversation_id>/memory/history")
def get_conversation_memory_history(conversation_id: Id) -> ConversationMemoryHistory:
    """Every version of a conversation's memory, newest first."""
    get_conversation(current_user_id(), conversation_id)
    service.get_digest(conversation_id)
    return ConversationMemoryHistory(
        conversation_id=conversation_id,
        versions=[ConversationMemoryVersionOut.of(row) for row in service.history(conversation_id)],
    )


@blueprint.post("/prompts/render")
@login_required(services=True)
def render_prompt(body: RenderRequest) -> Rendered:
    """Fill the placeholders of a text for a conversation. Nothing is stored or sent."""
    identity = require_identity()
    conversation = reachable_conversation(identity, body.conversation_id)
    log_read(identity, conversation.user_id, f"prompt on conversation {body.conversation_id}")
    conversation = reachable_conversation(identity, body.conversation_id)
    return Rendered(
        text=fill_for(conversation, body.prompt_text),
        placeholders=[placeholder.text for placeholder in find(body.prompt_text)],
    )


def init_digests(app: Flask) -> None:
    """Register the writing of digests with the API of memories, which knows nothing of them; listen to forgetting."""
    digest_upsert.put(app, _upsert)


def _upsert(identity: Identity, conversation_id: int, memory_data: dict[str, Any]) -> ConversationMemoryOut:
    """Write a digest for its owner, a service or an admin; returns the answer. Raises NotFound, Invalid."""
    try:
        data = ConversationMemoryData.model_validate(memory_data)
    except ValidationError as error:
        errors = field_errors(error)
        for item in errors:
            item["loc"] = ["memory_data", *item["loc"]]
        raise Invalid(f"{'.'.join(errors[0]['loc'])}: {errors[0]['msg']}", errors=errors) from None
    everybodys = identity.is_service or identity.is_admin
    if everybodys:
        reachable_conversation(identity, conversation_id)
    row = service.upsert_digest(
        None if everybodys else identity.user_id,
        conversation_id,
        data,
        source="service" if identity.is_service else "user",
    )
    return ConversationMemoryOut.of(row)
