"""Doing one thing to many conversations at once, and undoing it: their state before is kept for as long."""

import json
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from redis.exceptions import RedisError
from sqlalchemy import select

from webapp.conversations.folders import get_folder
from webapp.conversations.models import Conversation
from webapp.conversations.schemas import MAX_TAGS, ConversationChanges
from webapp.conversations.service import (
    hide_conversation,
    owned_conversations,
    unhide_conversation,
    update_conversation,
)
from webapp.db.base import db, now
from webapp.errors import Invalid, NotFound, require
from webapp.extensions import redis
from webapp.i18n.marks import NN_, say_n
from webapp.i18n.request_language import gettext as _

TEXTS = {
    "archive": NN_("Archived 1 conversation.", "Archived %(num)s conversations."),
    "unarchive": NN_("Unarchived 1 conversation.", "Unarchived %(num)s conversations."),
    "pin": NN_("Pinned 1 conversation.", "Pinned %(num)s conversations."),
    "unpin": NN_("Unpinned 1 conversation.", "Unpinned %(num)s conversations."),
    "delete": NN_("Deleted 1 conversation.", "Deleted %(num)s conversations."),
    "move": NN_("Moved 1 conversation.", "Moved %(num)s conversations."),
    "tag": NN_("Tagged 1 conversation.", "Tagged %(num)s conversations."),
    "untag": NN_("Removed the tag from 1 conversation.", "Removed the tag from %(num)s conversations."),
}
UNDO_SECONDS = 600
"""How long a change can be undone: the notice that offers it stays on a page until it is dismissed."""


@dataclass(frozen=True, slots=True)
class BulkResult:
    """A bulk change: the sentence that says how many; the time of a deletion, or the changed rows' earlier state."""

    text: str
    deleted_at: datetime | None
    before: dict[int, dict[str, Any]]


def change_many(
    user_id: int, conversation_ids: Sequence[int], action: str, *, folder_id: int | None = None, tag: str = ""
) -> BulkResult:
    """Apply a wish to those that are the user's. Raises Invalid for a bad wish or tag, NotFound for a folder."""
    if action not in TEXTS:
        raise Invalid.field("wish", "is not a possible action")
    if action in ("tag", "untag") and not (0 < len(tag) <= 50 and tag.isprintable()):
        raise Invalid.field("to_tag", "must have 1 to 50 characters")
    if action == "move" and folder_id is not None:
        get_folder(user_id, folder_id)
    # In the order of their ids, as everybody locks them: two orders of locking end in deadlocks.
    statement = owned_conversations(user_id).where(Conversation.conversation_id.in_(conversation_ids))
    rows = db.session.scalars(statement.order_by(Conversation.conversation_id).with_for_update()).all()
    deleted_at = now() if action == "delete" and rows else None
    before = {}
    for row in rows:
        if action == "delete":
            hide_conversation(user_id, row.conversation_id, moment=deleted_at)
            continue
        changes = _changes(row, action, folder_id, tag)
        values = {name: getattr(row, name) for name in changes.model_fields_set}
        if values != changes.model_dump(include=changes.model_fields_set):
            before[row.conversation_id] = values
            update_conversation(user_id, row.conversation_id, changes)
    return BulkResult(say_n(*TEXTS[action], len(rows)), deleted_at, before)


def undelete_many(user_id: int, deleted_at: datetime) -> str:
    """Restore what was deleted together at that time, and return how many; purged ones stay deleted."""
    statement = select(Conversation).where(Conversation.user_id == user_id, Conversation.deleted_at == deleted_at)
    rows = db.session.scalars(statement.order_by(Conversation.conversation_id).with_for_update()).all()
    for row in rows:
        unhide_conversation(user_id, row.conversation_id)
    return say_n("Restored 1 conversation.", "Restored %(num)s conversations.", len(rows))


def _changes(row: Conversation, action: str, folder_id: int | None, tag: str) -> ConversationChanges:
    others = [other for other in row.tags if other.casefold() != tag.casefold()]
    if action == "move":
        return ConversationChanges(folder_id=folder_id)
    if action == "tag":
        if len(others) >= MAX_TAGS:
            raise Invalid.field(
                "to_tag",
                "is one too many: “%(title)s” already has %(most)s",
                title=row.title or _("New conversation"),
                most=MAX_TAGS,
            )
        return ConversationChanges(tags=[*others, tag])
    if action == "untag":
        return ConversationChanges(tags=others)
    if action in ("pin", "unpin"):
        return ConversationChanges(is_pinned=action == "pin")
    return ConversationChanges(is_archived=action == "archive")


def store_previous(user_id: int, before: Mapping[int, Mapping[str, Any]]) -> str | None:
    """Return the word that `restore_previous` takes to undo a change; None if nothing changed, or without Redis."""
    if not before:
        return None
    word = secrets.token_urlsafe(12)
    try:
        redis().set(_key(user_id, word), json.dumps(list(before.items())), ex=UNDO_SECONDS)
    except RedisError:
        return None
    return word


def restore_previous(user_id: int, word: str) -> str:
    """Restore conversations that still exist, and say how many. Raises NotFound for an unknown word, RedisError."""
    value: Any = require(redis().getdel(_key(user_id, word)), "This can no longer be undone.")
    before = {number: ConversationChanges(**fields) for number, fields in json.loads(value)}
    statement = owned_conversations(user_id).where(Conversation.conversation_id.in_(before))
    rows = db.session.scalars(statement.order_by(Conversation.conversation_id).with_for_update()).all()
    count = 0
    for row in rows:
        with suppress(NotFound):
            update_conversation(user_id, row.conversation_id, before[row.conversation_id])
            count += 1
    return say_n("Restored 1 conversation.", "Restored %(num)s conversations.", count)


def _key(user_id: int, word: str) -> str:
    return f"undo:many:{user_id}:{word}"
