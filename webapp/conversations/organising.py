"""Doing one thing to many conversations at once."""

from __future__ import annotations

from collections.abc import Sequence

from webapp.conversations.folders import get_folder
from webapp.conversations.models import Conversation
from webapp.conversations.schemas import MOST_TAGS, ConversationChanges
from webapp.conversations.service import hide_conversation, owned, update_conversation
from webapp.database import db
from webapp.errors import Invalid

SAID = {
    "archive": "Archived {}.",
    "unarchive": "Unarchived {}.",
    "pin": "Pinned {}.",
    "unpin": "Unpinned {}.",
    "delete": "Deleted {}.",
    "move": "Moved {}.",
    "tag": "Tagged {}.",
    "untag": "Removed the tag from {}.",
}


def change_many(
    user_id: int, conversation_ids: Sequence[int], wish: str, *, folder_id: int | None = None, tag: str = ""
) -> str:
    """Do what is wished to those that are the user's, and say to how many.

    Raises Invalid for a wish that is not one of SAID or lacks its tag, NotFound for a folder that is not the user's.
    """
    if wish not in SAID:
        raise Invalid.field("wish", "is not something that can be done")
    if wish in ("tag", "untag") and not (0 < len(tag) <= 50 and tag.isprintable()):
        raise Invalid.field("to_tag", "must have 1 to 50 characters")
    if wish == "move" and folder_id is not None:
        get_folder(user_id, folder_id)
    # In the order of their ids, as everybody locks them: two orders of locking end in deadlocks.
    mine = owned(user_id).where(Conversation.conversation_id.in_(conversation_ids))
    rows = db.session.scalars(mine.order_by(Conversation.conversation_id).with_for_update()).all()
    for row in rows:
        if wish == "delete":
            hide_conversation(user_id, row.conversation_id)
        else:
            update_conversation(user_id, row.conversation_id, _changes(row, wish, folder_id, tag))
    return SAID[wish].format("1 conversation" if len(rows) == 1 else f"{len(rows)} conversations")


def _changes(row: Conversation, wish: str, folder_id: int | None, tag: str) -> ConversationChanges:
    others = [known for known in row.tags if known.casefold() != tag.casefold()]
    if wish == "move":
        return ConversationChanges(folder_id=folder_id)
    if wish == "tag":
        return ConversationChanges(tags=[*others, tag][-MOST_TAGS:])
    if wish == "untag":
        return ConversationChanges(tags=others)
    if wish in ("pin", "unpin"):
        return ConversationChanges(is_pinned=wish == "pin")
    return ConversationChanges(is_archived=wish == "archive")
