"""The state of conversations before a bulk change, kept for as long as that can be undone."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from redis.exceptions import RedisError

from webapp.conversations.models import Conversation
from webapp.conversations.schemas import ConversationChanges
from webapp.conversations.service import owned_conversations, update_conversation
from webapp.db.base import db
from webapp.errors import NotFound
from webapp.extensions import redis
from webapp.i18n.marks import say_n

SECONDS = 600
"""How many seconds that is: the notice that offers it stays on a page until it is dismissed."""
Before = Mapping[int, Mapping[str, Any]]
"""Fields of ConversationChanges as they were, by conversation."""


def keep(user_id: int, before: Before) -> str | None:
    """Store them and return the key to get them back; None if nothing changed, or while Redis is unavailable."""
    if not before:
        return None
    word = secrets.token_urlsafe(12)
    try:
        redis().set(_key(user_id, word), json.dumps(list(before.items())), ex=SECONDS)
    except RedisError:
        return None
    return word


def restore_one(user_id: int, word: str) -> str:
    """Restore the conversations and say how many; one that is gone by now, or whose folder is, is left as it is.

    Raises NotFound for a key that is unknown, somebody else's, used or expired; RedisError.
    """
    value = redis().getdel(_key(user_id, word))
    if value is None:
        raise NotFound("This can no longer be undone.")
    before = {number: ConversationChanges(**fields) for number, fields in json.loads(value)}
    mine = owned_conversations(user_id).where(Conversation.conversation_id.in_(before))
    rows = db.session.scalars(mine.order_by(Conversation.conversation_id).with_for_update()).all()
    count = 0
    for row in rows:
        with suppress(NotFound):
            update_conversation(user_id, row.conversation_id, before[row.conversation_id])
            count += 1
    return say_n("Restored 1 conversation.", "Restored %(num)s conversations.", count)


def _key(user_id: int, word: str) -> str:
    return f"undo:many:{user_id}:{word}"
