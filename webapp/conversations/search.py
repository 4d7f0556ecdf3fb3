"""Finding conversations by words in titles and messages, with the place that matched."""

import re
from dataclasses import dataclass
from datetime import datetime

from markupsafe import Markup
from sqlalchemy import select

from webapp.conversations import lists
from webapp.conversations.models import Message
from webapp.conversations.schemas import ConversationQuery
from webapp.db.base import db
from webapp.db.text_search import holds
from webapp.rendering import highlight
from webapp.text.words import search_form

MESSAGES_LOOKED_AT = 200
_MARKS = re.compile(r"[*`|]+|^[ \t]*(?:[#>]+|[-+](?= ))|[-:]{3,}", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Hit:
    """A conversation that matches; `message_id` and `excerpt` where a message does."""

    conversation_id: int
    title: Markup
    at: datetime
    message_id: int | None
    excerpt: Markup | None


def find(user_id: int, q: str, limit: int = 12) -> list[Hit]:
    """Return conversations that mention the words, newest first, the archived ones last."""
    if not q.strip():
        return []
    rows = [
        row
        for archived in (False, True)
        for row in lists.list_conversations(user_id, ConversationQuery(q=q, archived=archived, limit=limit)).items
    ][:limit]
    mentions = _newest_mentions([row.conversation_id for row in rows], q)
    hits = []
    for row in rows:
        message = mentions.get(row.conversation_id)
        title = highlight(row.title or "New conversation", q)
        excerpt = highlight(_plain(message[1], q), q) if message else None
        hits.append(Hit(row.conversation_id, title, row.updated_at, message[0] if message else None, excerpt))
    return hits


def _plain(text: str, q: str) -> str:
    """Return a message without Markdown, or unchanged if the words would be lost."""
    plain = " ".join(_MARKS.sub("", text).split())
    return plain if search_form(q.strip()) in search_form(plain) else text


def _newest_mentions(conversation_ids: list[int], q: str) -> dict[int, tuple[int, str]]:
    """Return the newest current message containing the words, for each conversation."""
    statement = (
        select(Message.conversation_id, Message.message_id, Message.content)
        .where(
            Message.conversation_id.in_(conversation_ids),
            Message.superseded_by_id.is_(None),
            holds(Message.content, q),
        )
        .order_by(Message.message_id.desc())
        .limit(MESSAGES_LOOKED_AT)
    )
    mentions: dict[int, tuple[int, str]] = {}
    for conversation_id, message_id, content in db.session.execute(statement):
        mentions.setdefault(conversation_id, (message_id, content))
    return mentions
