"""Digests: reading, writing with history, and which conversations need one."""

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from sqlalchemy import false, or_, select, true

from webapp.accounts.identity import Identity
from webapp.accounts.models import User
from webapp.accounts.schemas import UserSettings
from webapp.accounts.service import get_user
from webapp.audit import service as audit
from webapp.conversations.models import Conversation
from webapp.conversations.service import get_conversation
from webapp.db.base import db, now, write_transaction
from webapp.digests.models import ConversationMemory, ConversationMemoryVersion
from webapp.digests.schemas import ConversationMemoryData, stored_digest
from webapp.errors import Conflict, Invalid, NotFound, require
from webapp.memories.prompt.conversation_memory import memory_is_on
from webapp.memories.rules.secrets import find_secret
from webapp.prompts.placeholders import DIGEST
from webapp.prompts.values import source_of


def existing_conversation(conversation_id: int) -> Conversation:
    """Return anybody's conversation, for services and jobs. Raises NotFound."""
    row = db.session.get(Conversation, conversation_id)
    if row is None or row.deleted_at is not None:
        raise NotFound("There is no such conversation.")
    return row


def find_digest(conversation_id: int) -> ConversationMemory | None:
    """Return the digest of a conversation that the caller may see; None if there is none."""
    statement = select(ConversationMemory).where(ConversationMemory.conversation_id == conversation_id)
    return db.session.scalar(statement.execution_options(populate_existing=True))


def get_digest(conversation_id: int) -> ConversationMemory:
    """Return the digest of a conversation that the caller may see. Raises NotFound if there is none."""
    return require(find_digest(conversation_id), "This conversation has no memory yet.")


def digests_of_user(user_id: int, *, after: int, limit: int) -> Sequence[ConversationMemory]:
    """Return a user's digests by id, those after `after`."""
    return db.session.scalars(
        select(ConversationMemory)
        .join(Conversation, Conversation.conversation_id == ConversationMemory.conversation_id)
        .where(Conversation.user_id == user_id, Conversation.deleted_at.is_(None), ConversationMemory.id > after)
        .order_by(ConversationMemory.id)
        .limit(limit)
    ).all()


def history(conversation_id: int) -> Sequence[ConversationMemoryVersion]:
    """Return the versions of a digest that the caller may see, newest first."""
    return db.session.scalars(
        select(ConversationMemoryVersion)
        .join(ConversationMemory, ConversationMemory.id == ConversationMemoryVersion.conversation_memory_id)
        .where(ConversationMemory.conversation_id == conversation_id)
        .order_by(ConversationMemoryVersion.version.desc())
    ).all()


def is_stale(digest: ConversationMemory, conversation: Conversation) -> bool:
    """Return whether the conversation has continued since the digest was made."""
    return digest.as_of < conversation.updated_at


def upsert_digest(
    user_id: int | None, conversation_id: int, data: ConversationMemoryData, *, source: str = "user"
) -> ConversationMemory:
    """Write the digest of the user's (None: anybody's) conversation. Raises NotFound, Conflict if memory is off."""
    if user_id is None:
        conversation = existing_conversation(conversation_id)
    else:
        conversation = get_conversation(user_id, conversation_id)
    db.session.refresh(conversation, with_for_update=True)
    if not memory_is_on(conversation):
        raise Conflict("Memory is switched off for this conversation, so it has no digest.")
    return write(conversation, data, source=source)


def restore_digest(user_id: int, conversation_id: int, version: int) -> ConversationMemory:
    """Restore an earlier version as a new one. Raises NotFound."""
    conversation = get_conversation(user_id, conversation_id, lock=True)
    row = next((row for row in history(conversation_id) if row.version == version), None)
    if row is None:
        raise NotFound("There is no such version of this digest.")
    return write(conversation, stored_digest(row.memory_data), source="user")


def write(
    conversation: Conversation,
    data: ConversationMemoryData,
    *,
    source: str,
    as_of: datetime | None = None,
    model: str | None = None,
    prompt_version: str | None = None,
) -> ConversationMemory:
    """Store a digest and its version; the caller has locked the conversation. An unchanged one adds no version."""
    moment = now()
    data = _without_secrets(data, refuse=source == "user")
    row = find_digest(conversation.conversation_id)
    values = data.model_dump()
    if row is None:
        row = ConversationMemory(
            conversation_id=conversation.conversation_id, created_at=moment, version=0, memory_data={}
        )
        db.session.add(row)
    row.as_of = as_of or moment
    if row.version == 0 or row.memory_data != values:
        row.memory_data, row.version, row.updated_at = values, row.version + 1, moment
        db.session.flush()
        db.session.add(
            ConversationMemoryVersion(
                conversation_memory_id=row.id,
                version=row.version,
                memory_data=values,
                source=source,
                model=model[:200] if model else None,
                prompt_version=prompt_version,
                created_at=moment,
            )
        )
    db.session.flush()
    return row


def conversations_to_digest(
    user_id: int | None,
    *,
    idle: timedelta,
    only_needing: bool = True,
    include_empty: bool = False,
    limit: int | None = None,
) -> list[int]:
    """Return the conversations that have been quiet for `idle` and have no digest, or a stale one; oldest first.

    They are anybody's without a user, of whoever has memory switched on. Without `only_needing` they are all that may
    have a digest, whenever they were active.
    """
    statement = (
        select(Conversation.conversation_id, User.settings)
        .join(User, User.user_id == Conversation.user_id)
        .outerjoin(ConversationMemory, ConversationMemory.conversation_id == Conversation.conversation_id)
        .where(
            Conversation.deleted_at.is_(None),
            Conversation.is_temporary == false(),
            Conversation.uses_memory == true(),
            User.is_active == true(),
        )
        .order_by(Conversation.updated_at, Conversation.conversation_id)
    )
    if user_id is not None:
        statement = statement.where(Conversation.user_id == user_id)
    if only_needing:
        is_stale = ConversationMemory.as_of < Conversation.updated_at
        statement = statement.where(
            Conversation.updated_at <= now() - idle, or_(ConversationMemory.id.is_(None), is_stale)
        )
    if not include_empty:
        statement = statement.where(Conversation.message_count > 0)
    rows = db.session.execute(statement)
    return list(islice((number for number, settings in rows if UserSettings.of(settings).memory_enabled), limit))


def _without_secrets(data: ConversationMemoryData, *, refuse: bool) -> ConversationMemoryData:
    """Return the digest without what looks like a secret; with `refuse`, raises Invalid if there is any."""
    if not find_secret(*data.main_topics, *data.action, data.typical_observation):
        return data
    if refuse:
        raise Invalid.field("memory_data", "contains what looks like a secret; secrets are never kept")
    return data.without(lambda text: bool(find_secret(text)))


@source_of(DIGEST)
def _for_prompts(conversation: Conversation) -> dict[str, Any] | None:
    row = find_digest(conversation.conversation_id) if memory_is_on(conversation) else None
    return row.memory_data if row is not None else None


log = logging.getLogger(__name__)


def reachable_conversation(identity: Identity, conversation_id: int) -> Conversation:
    """Return a conversation of the caller's, or anybody's for a service or an admin. Raises NotFound."""
    if identity.is_admin or identity.is_service:
        row = existing_conversation(conversation_id)
        require_user(identity, row.user_id)
        return row
    return get_conversation(identity.user_id, conversation_id)


def require_user(identity: Identity, user_id: int) -> None:
    """Raise NotFound unless this is the caller, a user for an admin, or an active account for a service."""
    if identity.is_admin or identity.is_service:
        if not get_user(user_id).is_active and not identity.is_admin:
            raise NotFound("There is no such account.")
    elif identity.user_id != user_id:
        raise NotFound("There is no such account.")


def log_read(identity: Identity, owner_id: int, action: str) -> None:
    """Record, and commit, that an admin is about to read what somebody else wrote."""
    if not identity.is_admin or owner_id == identity.user_id:
        return
    with write_transaction():
        audit.record_admin_access(identity.user_id, owner_id, action)
    log.warning("admin read a conversation", extra={"admin_id": identity.user_id, "user_id": owner_id, "what": action})
