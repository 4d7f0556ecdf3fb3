"""JSON endpoints of conversations and their messages."""

from webapp.accounts import idempotency
from webapp.accounts.auth import current_user_id, writes
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
from webapp.db.base import db
from webapp.http.answers import commit
from webapp.http.json_api import api_blueprint
from webapp.providers.model_choice import check_choice

blueprint = api_blueprint("conversations_api", __name__, tag="Conversations", access="user")


@blueprint.get("/conversations")
def list_conversations(query: ConversationQuery) -> ConversationList:
    """List conversations, newest activity first."""
    page = lists.list_conversations(current_user_id(), query)
    return ConversationList(conversations=[ConversationOut.of(row) for row in page.items], next_cursor=page.next_cursor)


@blueprint.post("/conversations", status=201)
@idempotency.idempotent
def create_conversation(body: NewConversation) -> ConversationOut:
    """Create a conversation."""
    check_choice(body.model)
    row = service.create_conversation(current_user_id(), body)
    return idempotency.commit(ConversationOut.of(row))


@blueprint.get("/conversations/current")
@writes
def current_conversation() -> ConversationOut:
    """The active conversation, created if there is none."""
    row = service.current_conversation(current_user_id())
    return commit(ConversationOut.of(row))


@blueprint.get("/conversations/<int:conversation_id>")
def get_conversation(path: ConversationPath, query: ConversationLimit) -> ConversationWithMessages:
    """A conversation with its newest messages."""
    row = service.get_conversation(current_user_id(), path.conversation_id)
    page = messages.list_messages(row.conversation_id, MessagesQuery(limit=query.limit))
    return ConversationWithMessages(
        **ConversationOut.of(row).model_dump(),
        messages=[MessageOut.of(message) for message in page.items],
        messages_cursor=page.next_cursor,
    )


@blueprint.put("/conversations/<int:conversation_id>")
def update_conversation(path: ConversationPath, body: ConversationChanges) -> ConversationOut:
    """Change title, archive state or metadata."""
    check_choice(body.model)
    row = service.update_conversation(current_user_id(), path.conversation_id, body)
    return commit(ConversationOut.of(row))


@blueprint.delete("/conversations/<int:conversation_id>")
def delete_conversation(path: ConversationPath, query: DeleteConversationQuery) -> None:
    """Delete a conversation and its messages for good; with `forget=memories`, also memories that rest on it alone."""
    service.delete_conversation(current_user_id(), path.conversation_id, forget=query.forget == "memories")
    db.session.commit()


@blueprint.get("/conversations/<int:conversation_id>/messages")
def list_messages(path: ConversationPath, query: MessagesQuery) -> MessageList:
    """A page of messages, oldest first: the newest ones, or those before or after an id."""
    row = service.get_conversation(current_user_id(), path.conversation_id)
    page = messages.list_messages(row.conversation_id, query)
    return MessageList(messages=[MessageOut.of(message) for message in page.items], next_cursor=page.next_cursor)
