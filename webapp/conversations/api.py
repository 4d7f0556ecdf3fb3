"""JSON endpoints of conversations and their messages."""

from webapp.accounts import idempotency
from webapp.accounts.auth import current_user_id, login_required, writes
from webapp.conversations import lists, messages, service
from webapp.conversations.schemas import (
    ConversationChanges,
    ConversationLimit,
    ConversationList,
    ConversationOut,
    ConversationPath,
    ConversationQuery,
    ConversationWithMessages,
    DeleteConversationQuery,
    MessageList,
    MessageOut,
    MessagesQuery,
    NewConversation,
)
from webapp.http.answers import commit_empty, commit_json
from webapp.http.views import ViewResult, api_blueprint
from webapp.providers.model_choice import check_choice

blueprint = api_blueprint("conversations_api", __name__, tag="Conversations")


@blueprint.get("/conversations", responses={200: ConversationList})
@login_required
def list_conversations(query: ConversationQuery) -> ViewResult:
    """List conversations, newest activity first."""
    page = lists.list_conversations(current_user_id(), query)
    return ConversationList(
        conversations=[ConversationOut.of(row) for row in page.items], next_cursor=page.next_cursor
    ).model_dump(mode="json")


@blueprint.post("/conversations", responses={201: ConversationOut})
@login_required
@idempotency.idempotent
def create_conversation(body: NewConversation) -> ViewResult:
    """Create a conversation."""
    check_choice(body.model)
    row = service.create_conversation(current_user_id(), body)
    return idempotency.commit_json(ConversationOut.of(row), 201)


@blueprint.get("/conversations/current", responses={200: ConversationOut})
@login_required
@writes
def current_conversation() -> ViewResult:
    """The active conversation, created if there is none."""
    row = service.current_conversation(current_user_id())
    return commit_json(ConversationOut.of(row))


@blueprint.get("/conversations/<int:conversation_id>", responses={200: ConversationWithMessages})
@login_required
def get_conversation(path: ConversationPath, query: ConversationLimit) -> ViewResult:
    """A conversation with its newest messages."""
    row = service.get_conversation(current_user_id(), path.conversation_id)
    page = messages.list_messages(row.conversation_id, MessagesQuery(limit=query.limit))
    return ConversationWithMessages(
        **ConversationOut.of(row).model_dump(),
        messages=[MessageOut.of(message) for message in page.items],
        messages_cursor=page.next_cursor,
    ).model_dump(mode="json")


@blueprint.put("/conversations/<int:conversation_id>", responses={200: ConversationOut})
@login_required
def update_conversation(path: ConversationPath, body: ConversationChanges) -> ViewResult:
    """Change title, archive state or metadata."""
    check_choice(body.model)
    row = service.update_conversation(current_user_id(), path.conversation_id, body)
    return commit_json(ConversationOut.of(row))


@blueprint.delete("/conversations/<int:conversation_id>", responses={204: None})
@login_required
def delete_conversation(path: ConversationPath, query: DeleteConversationQuery) -> ViewResult:
    """Delete a conversation and its messages for good; with `forget=memories`, also memories that rest on it alone."""
    service.delete_conversation(current_user_id(), path.conversation_id, forget=query.forget == "memories")
    return commit_empty()


@blueprint.get("/conversations/<int:conversation_id>/messages", responses={200: MessageList})
@login_required
def list_messages(path: ConversationPath, query: MessagesQuery) -> ViewResult:
    """A page of messages, oldest first: the newest ones, or those before or after an id."""
    row = service.get_conversation(current_user_id(), path.conversation_id)
    page = messages.list_messages(row.conversation_id, query)
    return MessageList(
        messages=[MessageOut.of(message) for message in page.items], next_cursor=page.next_cursor
    ).model_dump(mode="json")
