"""The replies that used some memories, by their receipts, and which of them links show."""

from collections import defaultdict
from collections.abc import Collection

from flask import Flask
from sqlalchemy import Select, func, or_, select

from webapp.conversations.models import Conversation, Message
from webapp.db.base import db, now
from webapp.memories.store.reach import MAX_NAMED, UsedIn, Uses, uses_of
from webapp.retrieval.models import TurnReceipt
from webapp.sharing.models import ConversationShare


def init_uses(app: Flask) -> None:
    """Let forgetting name the replies that used a memory."""
    uses_of.put(app, find_uses)


def find_uses(user_id: int, memory_ids: Collection[int]) -> Uses:
    """Return the finished replies whose prompts included these memories of the user."""
    condition = Conversation.user_id == user_id
    shared = _linked_replies(user_id, memory_ids)
    statement = _select_replies(memory_ids).where(condition, Message.message_id.not_in(list(shared)[:MAX_NAMED]))
    newest = db.session.execute(
        statement.order_by(Message.message_id.desc()).limit(max(0, MAX_NAMED - len(shared)))
    ).all()
    return Uses(
        [*shared.values(), *(UsedIn.model_validate(row, from_attributes=True) for row in newest)][:MAX_NAMED],
        _count(_select_replies(memory_ids).where(condition)),
        _count(_select_replies(memory_ids).where(~condition)),
    )


def _select_replies(memory_ids: Collection[int]) -> Select[int, int, int | None]:
    receipts = select(TurnReceipt.message_id).where(
        TurnReceipt.kind == "memory", TurnReceipt.passage_id.in_(memory_ids), TurnReceipt.injected
    )
    return (
        select(Message.message_id, Message.conversation_id, Conversation.space_id)
        .join(Conversation, Conversation.conversation_id == Message.conversation_id)
        .where(Message.message_id.in_(receipts), Message.status != "streaming", Conversation.deleted_at.is_(None))
    )


def _count(statement: Select[int, int, int | None]) -> int:
    return db.session.scalars(select(func.count()).select_from(statement.subquery())).one()


def _linked_replies(user_id: int, memory_ids: Collection[int]) -> dict[int, UsedIn]:
    """Return the replies that a link which still works shows, newest first."""
    links: dict[int, list[ConversationShare]] = defaultdict(list)
    for link in db.session.scalars(
        select(ConversationShare).where(
            ConversationShare.user_id == user_id,
            ConversationShare.conversation_id.in_(
                _select_replies(memory_ids).with_only_columns(Message.conversation_id)
            ),
            or_(ConversationShare.expires_at.is_(None), ConversationShare.expires_at > now()),
        )
    ):
        links[link.conversation_id].append(link)
    if not links:
        return {}
    message_ids = {link.share_id: frozenset(link.message_ids or ()) for shares in links.values() for link in shares}
    rows = db.session.execute(
        _select_replies(memory_ids)
        .add_columns(Message.superseded_by_id)
        .where(Conversation.user_id == user_id, Message.conversation_id.in_(links))
        .order_by(Message.message_id.desc())
    )
    replies = {}
    for message_id, conversation_id, space_id, superseded_by in rows:
        for link in links[conversation_id]:
            first, last = link.first_message_id or 0, link.last_message_id or message_id
            follows = link.is_live and superseded_by is None and first <= message_id <= last
            if follows or message_id in message_ids[link.share_id]:
                replies[message_id] = UsedIn(
                    message_id=message_id, conversation_id=conversation_id, space_id=space_id, is_shared=True
                )
    return replies
