"""A user's conversations: create, find, list, change, delete. Other people's behave as unknown."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta

from redis.exceptions import RedisError
from sqlalchemy import Select, delete, false, or_, select, update

from webapp.accounts.models import User
from webapp.background import events
from webapp.background.events import Kind
from webapp.conversations.folders import get_folder
from webapp.conversations.journey_links import find_journey
from webapp.conversations.models import Conversation, Message, tag_lines_of
from webapp.conversations.schemas import ConversationChanges, NewConversation
from webapp.conversations.signals import conversation_deleted, conversation_moved, conversation_shown
from webapp.conversations.titles import title_from_words
from webapp.db.base import db, get_or_raise, insert_row, now, own_row, rows_changed
from webapp.errors import NotFound, require
from webapp.extensions import redis
from webapp.spaces.service import persona_in

UNDO_SECONDS = 60
MAX_PURGED = 500
"""For one run of the sweep."""


def owned_conversations(user_id: int) -> Select[Conversation]:
    """Return the one place that says which conversations a user may see."""
    return select(Conversation).where(Conversation.user_id == user_id, Conversation.deleted_at.is_(None))


def get_conversation(user_id: int, conversation_id: int, *, lock: bool = False) -> Conversation:
    """Return the user's conversation; `lock` holds its row until the transaction ends. Raises NotFound."""
    query = owned_conversations(user_id).where(Conversation.conversation_id == conversation_id)
    return require(db.session.scalar(query.with_for_update() if lock else query), "There is no such conversation.")


def create_conversation(
    user_id: int, fields: NewConversation, *, messages: int = 0, first_words: str = "", is_followed: bool = False
) -> Conversation:
    """Return a new conversation; a title given here is never overwritten, `first_words` are one until then.

    A guided one is named after its journey; in a legacy one of its personas speaks. Raises NotFound, Invalid.
    """
    persona = fields.persona or None
    if fields.space_id is not None:
        persona = persona_in(user_id, fields.space_id, persona)
    journey_id = title = None
    if fields.journey is not None:
        journey_id, title = require(find_journey(fields.journey, user_id), "There is no such journey.")
    moment = now()
    return insert_row(
        Conversation,
        user_id=user_id,
        title=fields.title or title or title_from_words(first_words) or None,
        title_source="user" if fields.title else "auto" if title else "none",
        journey_id=journey_id,
        space_id=fields.space_id,
        persona=persona,
        is_temporary=fields.is_temporary,
        extra=fields.metadata,
        uses_memory=fields.uses_memory,
        makes_memory=fields.makes_memory,
        is_pinned=fields.is_pinned,
        model=fields.model or None,
        parameters=(fields.parameters.non_empty if fields.parameters else None) or None,
        uses_web=fields.uses_web,
        folder_id=_own_folder(user_id, fields.folder_id),
        created_at=moment,
        updated_at=moment,
        seen_at=None if is_followed else moment,
        is_archived=False,
        message_count=messages,
        tag_lines=tag_lines_of(fields.tags),
    )


def current_conversation(user_id: int) -> Conversation:
    """Return the user's most recently active conversation, created if there is none."""
    active = (
        owned_conversations(user_id)
        .where(Conversation.is_archived == false(), Conversation.is_temporary == false())
        .order_by(Conversation.updated_at.desc(), Conversation.conversation_id.desc())
        .limit(1)
    )
    row = db.session.scalar(active)
    if row is None:  # of two requests at once, the second finds what the first has made
        get_or_raise(User, user_id, lock=True)
        row = db.session.scalar(active)
    return row or create_conversation(user_id, NewConversation())


def update_conversation(user_id: int, conversation_id: int, changes: ConversationChanges) -> Conversation:
    """Change the given fields only. A title is then the user's; clearing it lets the assistant choose one again."""
    row = get_conversation(user_id, conversation_id, lock=True)
    fields = changes.model_fields_set
    if "space_id" in fields and changes.space_id != row.space_id:
        move_conversation(row, changes.space_id, confirmed=changes.confirm)
    if "title" in fields:
        row.title = changes.title or None
        row.title_source = "user" if changes.title else "none"
    for name in ("is_archived", "is_pinned", "uses_memory", "uses_web", "tags"):
        if (value := getattr(changes, name)) is not None:
            setattr(row, name, value)
    if "metadata" in fields:
        row.extra = changes.metadata
    if "model" in fields:
        row.model = changes.model or None
    if "parameters" in fields:
        row.parameters = (changes.parameters.non_empty if changes.parameters else None) or None
    if "folder_id" in fields:
        row.folder_id = _own_folder(user_id, changes.folder_id)
    db.session.flush()
    return row


def _own_folder(user_id: int, folder_id: int | None) -> int | None:
    return None if folder_id is None else get_folder(user_id, folder_id, lock=True).folder_id


def move_conversation(row: Conversation, space_id: int | None, *, confirmed: bool = False) -> None:
    """Move a locked conversation, and what rests on it. Raises NotFound, and Conflict unless it is confirmed."""
    persona = persona_in(row.user_id, space_id, None) if space_id is not None else None
    conversation_moved.send(None, conversation=row, to=space_id, confirmed=confirmed)
    row.space_id, row.persona = space_id, persona
    db.session.flush()
    conversation_shown.send(None, conversation=row)


def delete_conversation(user_id: int, conversation_id: int, *, forget: bool = False) -> None:
    """Delete a conversation for good; with `forget` also what was learned from it alone. Raises NotFound."""
    row = get_conversation(user_id, conversation_id, lock=True)
    conversation_deleted.send(None, conversation=row, forget=forget)
    conversation_shown.send(None, conversation=row)
    if row.deleted_at is None:
        _announce_deletion(row)
    db.session.execute(delete(Conversation).where(Conversation.conversation_id == row.conversation_id))
    db.session.expunge(row)


def hide_conversation(user_id: int, conversation_id: int, *, moment: datetime | None = None) -> Conversation:
    """Hide a conversation, as of `moment`; it is purged after UNDO_SECONDS unless restored."""
    row = get_conversation(user_id, conversation_id, lock=True)
    row.deleted_at = moment or now()
    db.session.flush()
    conversation_shown.send(None, conversation=row)
    _announce_deletion(row)
    return row


def return_to_temporary(user_id: int, conversation_id: int, leaving: str) -> None:
    """Undo the leaving of a temporary conversation, if possible; a late report of `leaving` then counts for nothing."""
    with suppress(RedisError):  # then it is gone if its report comes late
        redis().set(_return_key(user_id, conversation_id, leaving), b"1", ex=UNDO_SECONDS)
    # A request that handles its report right now holds the row, and has looked before the line above.
    row = own_row(Conversation, user_id, conversation_id, lock=True)
    earliest = now() - timedelta(seconds=UNDO_SECONDS)
    if row is not None and row.is_temporary and row.deleted_at is not None and row.deleted_at >= earliest:
        row.deleted_at = None
        db.session.flush()


def was_reloaded(user_id: int, conversation_id: int, leaving: str) -> bool:
    """Return whether a reload came before the report that its page was left."""
    try:
        return bool(leaving) and bool(redis().exists(_return_key(user_id, conversation_id, leaving)))
    except RedisError:
        return False


def _return_key(user_id: int, conversation_id: int, leaving: str) -> str:
    return f"returned:{user_id}:{conversation_id}:{leaving[:20]}"


def _announce_deletion(row: Conversation) -> None:
    if not row.is_temporary:
        events.note(row.user_id, Kind.CONVERSATION_DELETED, {"conversation_id": row.conversation_id})


def unhide_conversation(user_id: int, conversation_id: int) -> Conversation:
    """Restore a hidden conversation. Raises NotFound once it is purged."""
    row = require(own_row(Conversation, user_id, conversation_id, lock=True), "That conversation is gone for good.")
    row.deleted_at = None
    db.session.flush()
    conversation_shown.send(None, conversation=row)
    return row


def conversations_to_purge(*, deleted_before: datetime, temporary_before: datetime) -> Sequence[int]:
    """Return the hidden and temporary conversations that are to be deleted now, MAX_PURGED at most."""
    return db.session.scalars(
        select(Conversation.conversation_id)
        .where(
            or_(
                Conversation.deleted_at < deleted_before,
                Conversation.is_temporary.is_(True) & (Conversation.updated_at < temporary_before),
            )
        )
        .limit(MAX_PURGED)
    ).all()


def purge(conversation_ids: Sequence[int]) -> None:
    """Delete conversations with what belongs to them."""
    db.session.execute(delete(Conversation).where(Conversation.conversation_id.in_(conversation_ids)))


def conversations_without_title(*, since: datetime) -> Sequence[int]:
    """Return conversations that have had their first exchange and still have no title, the most recent first."""
    replies = select(Message.message_id).where(
        Message.conversation_id == Conversation.conversation_id,
        Message.superseded_by_id.is_(None),
        Message.role == "assistant",
        Message.status.in_(("complete", "stopped")),
        Message.content != "",
    )
    return db.session.scalars(
        select(Conversation.conversation_id)
        .where(
            Conversation.title_source == "none",
            Conversation.extraction_due == false(),  # else the extraction titles it, with the same model call
            Conversation.updated_at >= since,
            Conversation.deleted_at.is_(None),
            replies.exists(),
        )
        .order_by(Conversation.updated_at.desc())
    ).all()


def mark_seen(user_id: int, conversation_id: int) -> None:
    """Record that the user has looked at a conversation as it is now. Raises NotFound."""
    statement = (
        update(Conversation)
        .where(
            Conversation.conversation_id == conversation_id,
            Conversation.user_id == user_id,
            Conversation.deleted_at.is_(None),
        )
        .values(seen_at=now(), updated_at=Conversation.updated_at)
        .execution_options(synchronize_session=False)  # this session holds none of it
    )
    if rows_changed(statement) != 1:
        raise NotFound("There is no such conversation.")
