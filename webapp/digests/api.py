"""JSON endpoints of digests for their owners, and what placeholders turn into."""

from webapp.accounts import idempotency
from webapp.accounts.auth import current_user_id, login_required, require_identity
from webapp.conversations.service import get_conversation
from webapp.digests import service
from webapp.digests.schemas import (
    ConversationMemoryHistory,
    ConversationMemoryOut,
    ConversationMemoryVersionOut,
    NewMemory,
)
from webapp.digests.service import log_read, reachable_conversation
from webapp.http.json_api import Answer, api_blueprint
from webapp.http.validation import Id
from webapp.memories import service as memories
from webapp.memories.showing.responses import MemoryOut
from webapp.memories.web import api as memories_api
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


@memories_api.blueprint.post("/memories", responses={200: ConversationMemoryOut, 201: MemoryOut})
@login_required(services=True)
@idempotency.idempotent
def create_memory(body: NewMemory) -> Answer:
    """Write a memory by hand; it replaces the current value of its key. Or store a conversation's digest."""
    if body.conversation_id is None or body.memory_data is None:
        return MemoryOut.of(memories.create_memory(current_user_id(), body.fields)), 201
    identity = require_identity()
    reachable_conversation(identity, body.conversation_id)
    source = "service" if identity.is_service else "user"
    row = service.upsert_digest(None, body.conversation_id, body.memory_data, source=source)
    return ConversationMemoryOut.of(row), 200
