"""The effect of forgetting on digests: those that may contain it are deleted, and later made again without it."""

from collections.abc import Collection, Iterable
from typing import Any

from sqlalchemy import delete, select

from webapp.conversations.models import Conversation, Message
from webapp.db.base import db
from webapp.db.index_hints import stream_rows
from webapp.digests.models import ConversationMemory, ConversationMemoryVersion
from webapp.digests.schemas import ConversationMemoryData
from webapp.memories.models import MemoryEvidence
from webapp.memories.rules.paraphrases import ForgottenStatements
from webapp.memories.store.copies import statements_withdrawn, without
from webapp.memories.store.forgetting import pre_forget
from webapp.memories.store.tombstones import tombstone_set


def without_forgotten(user_id: int, data: ConversationMemoryData) -> ConversationMemoryData:
    """Return a digest without what its user has forgotten, if it is in the same words."""
    forbids = tombstone_set(user_id).forbids
    return data.without(lambda text: forbids(text, quote=text))


@pre_forget.connect
def _forget(
    _sender: Any, *, user_id: int, evidence: Iterable[MemoryEvidence], texts: Collection[str], **_: Any
) -> None:
    """Delete, with history, the digests of the conversations behind the memories and those that repeat the texts."""
    statement = select(Message.conversation_id).where(Message.message_id.in_({row.message_id for row in evidence}))
    involved = set(db.session.scalars(statement))
    versions = (
        select(ConversationMemory.id, ConversationMemory.conversation_id, ConversationMemoryVersion.memory_data)
        .join(ConversationMemoryVersion, ConversationMemoryVersion.conversation_memory_id == ConversationMemory.id)
        .join(Conversation, Conversation.conversation_id == ConversationMemory.conversation_id)
        .where(Conversation.user_id == user_id)
    )
    digest_ids = {
        number
        for number, conversation_id, data in stream_rows(versions)
        if conversation_id in involved or without(data, (), texts) != data
    }
    _delete(digest_ids)


@statements_withdrawn.connect
def _delete_paraphrases(
    _sender: Any, *, conversation_ids: Collection[int], statements: ForgottenStatements, **_: Any
) -> None:
    """Delete, with their history, the digests of these conversations that retell what may no longer be told."""
    versions = (
        select(ConversationMemory.id, ConversationMemoryVersion.memory_data)
        .join(ConversationMemoryVersion, ConversationMemoryVersion.conversation_memory_id == ConversationMemory.id)
        .where(ConversationMemory.conversation_id.in_(conversation_ids))
    )
    _delete({number for number, data in stream_rows(versions) if any(map(statements.is_repeated_in, _sentences(data)))})


def _sentences(data: dict[str, Any]) -> list[str]:
    return [text for value in data.values() for text in (value if isinstance(value, list) else [str(value)])]


def _delete(digest_ids: Collection[int]) -> None:
    if digest_ids:
        db.session.execute(
            delete(ConversationMemoryVersion).where(ConversationMemoryVersion.conversation_memory_id.in_(digest_ids))
        )
        db.session.execute(delete(ConversationMemory).where(ConversationMemory.id.in_(digest_ids)))
