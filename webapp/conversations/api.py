"""JSON endpoints of conversations, their messages and folders, and of ratings of replies."""

from webapp.accounts import idempotency
from webapp.accounts.auth import admin_only, current_user_id, writes
from webapp.conversations import feedback, folders, lists, messages, service
from webapp.conversations.schemas import (
    ConversationChanges,
    ConversationLimit,
    ConversationList,
    ConversationOut,
    ConversationQuery,
    ConversationWithMessages,
    DeleteConversationQuery,
    FeedbackCountQuery,
    FeedbackCounts,
    FeedbackOut,
    FolderFields,
    FolderList,
    FolderOut,
    MessageList,
    MessageOut,
    MessagesQuery,
    NewConversation,
    NewFeedback,
    ReadableFeedbackList,
)
from webapp.http.json_api import api_blueprint
from webapp.http.validation import Id, PageQuery
from webapp.providers.model_choice import check_choice

blueprint = api_blueprint("conversations_api", __name__, tag="Conversations", access="user")


@blueprint.get("/conversations")
def list_conversations(query: ConversationQuery) -> ConversationList:
    """List conversations, newest activity first."""
    return ConversationList.of(lists.list_conversations(current_user_id(), query).map(ConversationOut.of))


@blueprint.post("/conversations", status=201)
@idempotency.idempotent
def create_conversation(body: NewConversation) -> ConversationOut:
    """Create a conversation."""
    check_choice(body.model)
    return ConversationOut.of(service.create_conversation(current_user_id(), body))


@blueprint.get("/conversations/current")
@writes
def current_conversation() -> ConversationOut:
    """The active conversation, created if there is none."""
    return ConversationOut.of(service.current_conversation(current_user_id()))


@blueprint.get("/conversations/<int:conversation_id>")
def get_conversation(conversation_id: Id, query: ConversationLimit) -> ConversationWithMessages:
    """A conversation with its newest messages."""
    row = service.get_conversation(current_user_id(), conversation_id)
    page = messages.list_messages(row.conversation_id, MessagesQuery(limit=query.limit))
    items = [MessageOut.of(message) for message in page.items]
    return ConversationWithMessages.of(row, messages=items, messages_cursor=page.next_cursor)


@blueprint.put("/conversations/<int:conversation_id>")
def update_conversation(conversation_id: Id, body: ConversationChanges) -> ConversationOut:
    """Change title, archive state or metadata."""
    check_choice(body.model)
    return ConversationOut.of(service.update_conversation(current_user_id(), conversation_id, body))


@blueprint.delete("/conversations/<int:conversation_id>")
def delete_conversation(conversation_id: Id, query: DeleteConversationQuery) -> None:
    """Delete a conversation and its messages for good; with `forget=memories`, also memories that rest on it alone."""
    service.delete_conversation(current_user_id(), conversation_id, forget=query.forget == "memories")


@blueprint.get("/conversations/<int:conversation_id>/messages")
def list_messages(conversation_id: Id, query: MessagesQuery) -> MessageList:
    """A page of messages, oldest first: the newest ones, or those before or after an id."""
    row = service.get_conversation(current_user_id(), conversation_id)
    return MessageList.of(messages.list_messages(row.conversation_id, query).map(MessageOut.of))


@blueprint.get("/folders")
def list_folders(query: PageQuery) -> FolderList:
    """List your folders by name."""
    return FolderList.of(folders.list_folders(current_user_id(), query))


@blueprint.post("/folders", status=201)
@idempotency.idempotent
def create_folder(body: FolderFields) -> FolderOut:
    """Create a folder."""
    return folders.folder_response(folders.create_folder(current_user_id(), body), 0)


@blueprint.patch("/folders/<int:folder_id>")
def rename_folder(folder_id: Id, body: FolderFields) -> FolderOut:
    """Rename a folder."""
    return folders.folder_response(folders.rename_folder(current_user_id(), folder_id, body))


@blueprint.delete("/folders/<int:folder_id>")
def delete_folder(folder_id: Id) -> None:
    """Delete a folder; the conversations in it stay."""
    folders.delete_folder(current_user_id(), folder_id)


feedback_blueprint = api_blueprint("feedback_api", __name__, tag="Feedback", access="user")


@feedback_blueprint.get("/messages/<int:message_id>/feedback")
def get_feedback(message_id: Id) -> FeedbackOut:
    """Your rating of a reply."""
    return FeedbackOut.from_row(feedback.require_feedback(current_user_id(), message_id))


@feedback_blueprint.put("/messages/<int:message_id>/feedback")
def give_feedback(message_id: Id, body: NewFeedback) -> FeedbackOut:
    """Rate a reply, or change its rating."""
    return FeedbackOut.from_row(feedback.give_feedback(current_user_id(), message_id, body))


@feedback_blueprint.delete("/messages/<int:message_id>/feedback")
def take_feedback_back(message_id: Id) -> None:
    """Remove your rating of a reply."""
    feedback.remove_rating(current_user_id(), message_id)


@feedback_blueprint.get("/feedback/counts")
@admin_only
def count_feedback(query: FeedbackCountQuery) -> FeedbackCounts:
    """Return how replies were rated, by day, model and version of the prompt."""
    return FeedbackCounts(counts=feedback.counts(query.days))


@feedback_blueprint.get("/feedback")
@admin_only
@writes
def list_readable_feedback(query: PageQuery) -> ReadableFeedbackList:
    """Replies whose owners let admins read them, with their ratings. The owners can see that they were read."""
    return ReadableFeedbackList.of(feedback.readable(query))
