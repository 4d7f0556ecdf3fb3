"""The effect of forgetting on digests: those that may contain it are deleted, and later made again without it."""

from collections.abc import Callable, Collection, Iterable
from typing import Any

from sqlalchemy import Select, delete, select

from webapp.conversations.models import Conversation, Message
from webapp.db.base import db
from webapp.db.index_hints import stream_rows
from webapp.digests.models import ConversationMemory, ConversationMemoryVersion
from webapp.digests.schemas import ConversationMemoryData
from webapp.memories.models import MemoryEvidence
from webapp.memories.rules.paraphrases import ForgottenStatements
from webapp.memories.store.copies import redact_value, statements_withdrawn
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
    """Delete the digests of the conversations behind the memories, and those that repeat the texts."""
    behind = select(Message.conversation_id).where(Message.message_id.in_({row.message_id for row in evidence}))
    involved, own = set(db.session.scalars(behind)), select(Conversation.conversation_id).filter_by(user_id=user_id)
    _delete(own, lambda conversation_id, data: conversation_id in involved or redact_value(data, (), texts) != data)


@statements_withdrawn.connect
def _delete_paraphrases(
    _sender: Any, *, conversation_ids: Collection[int], statements: ForgottenStatements, **_: Any
) -> None:
    """Delete the digests of these conversations that retell what may no longer be told."""
    _delete(conversation_ids, lambda _, data: any(map(statements.is_repeated_in, _sentences(data))))


def _sentences(data: dict[str, Any]) -> list[str]:
    return [text for value in data.values() for text in (value if isinstance(value, list) else [str(value)])]


def _delete(conversation_ids: Collection[int] | Select[int], must_go: Callable[[int, dict[str, Any]], bool]) -> None:
    """Delete, with their history, the digests of some conversations of which a version must go."""
    versions = (
        select(ConversationMemory.id, ConversationMemory.conversation_id, ConversationMemoryVersion.memory_data)
        .join(ConversationMemoryVersion, ConversationMemoryVersion.conversation_memory_id == ConversationMemory.id)
        .where(ConversationMemory.conversation_id.in_(conversation_ids))
    )
    digest_ids = {number for number, conversation_id, data in stream_rows(versions) if must_go(conversation_id, data)}
    if digest_ids:
        is_of_one = ConversationMemoryVersion.conversation_memory_id.in_(digest_ids)
        db.session.execute(delete(ConversationMemoryVersion).where(is_of_one))
        db.session.execute(delete(ConversationMemory).where(ConversationMemory.id.in_(digest_ids)))
