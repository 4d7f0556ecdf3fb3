"""JSON endpoints for services; an admin may use them too, and what they read is recorded."""

from collections.abc import Sequence

from sqlalchemy import select

from webapp.accounts.auth import require_identity
from webapp.conversations.models import Message
from webapp.db.base import db
from webapp.digests.schemas import ConversationMemoryOut
from webapp.digests.service import digests_of_user, get_digest, log_read, reachable_conversation, require_user
from webapp.http.json_api import api_blueprint
from webapp.http.validation import Id
from webapp.internal.schemas import DigestsQuery, HistoryQuery, MessagesForBrain, SpokenMessage, UserMemories

blueprint = api_blueprint("internal_api", __name__, tag="Internal", url_prefix="/api/internal", access="service")


@blueprint.get("/conversations/<int:conversation_id>/messages_for_brain")
def messages_for_brain(conversation_id: Id, query: HistoryQuery) -> MessagesForBrain:
    """The messages of a conversation, for a service that makes something of them."""
    conversation = reachable_conversation(require_identity(), conversation_id)
    user_id, title = conversation.user_id, conversation.title
    log_read(require_identity(), user_id, f"messages of conversation {conversation_id}")
    rows = _finished_messages(conversation_id, after=query.after or 0, limit=query.limit + 1)
    page_rows = rows[: query.limit]
    return MessagesForBrain(
        conversation_id=conversation_id,
        user_id=user_id,
        title=title,
        messages=[
            SpokenMessage(id=row.message_id, role=row.role, content=row.content, created_at=row.created_at)
            for row in page_rows
        ],
        next_after=page_rows[-1].message_id if len(rows) > query.limit else None,
    )


@blueprint.get("/conversations/<int:conversation_id>/memory")
def conversation_memory(conversation_id: Id) -> ConversationMemoryOut:
    """The memory (the digest) of a conversation."""
    owner_id = reachable_conversation(require_identity(), conversation_id).user_id
    log_read(require_identity(), owner_id, f"digest of conversation {conversation_id}")
    return ConversationMemoryOut.of(get_digest(conversation_id))


@blueprint.get("/users/<int:user_id>/memories")
def user_memories(user_id: Id, query: DigestsQuery) -> UserMemories:
    """The memories of all conversations of a user, a page at a time."""
    require_user(require_identity(), user_id)
    log_read(require_identity(), user_id, "digests")
    rows = digests_of_user(user_id, after=query.after or 0, limit=query.limit + 1)
    page_rows = rows[: query.limit]
    return UserMemories(
        user_id=user_id,
        memories=[ConversationMemoryOut.of(row) for row in page_rows],
        next_after=page_rows[-1].id if len(rows) > query.limit else None,
    )


def _finished_messages(conversation_id: int, *, after: int, limit: int) -> Sequence[Message]:
    """Return current messages after `after`, oldest first, without failed, unfinished or empty ones."""
    return db.session.scalars(
        select(Message)
        .where(
            Message.conversation_id == conversation_id,
            Message.superseded_by_id.is_(None),
            Message.status.in_(("complete", "stopped", "interrupted")),
            Message.content != "",
            Message.message_id > after,
        )
        .order_by(Message.message_id)
        .limit(limit)
    ).all()
