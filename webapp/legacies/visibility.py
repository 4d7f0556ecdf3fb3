"""The effect of withdrawing and forgetting on other members: their replies, summaries and digests lose what was shared.

Receipts show which conversations used a memory, or recalled one; what their owners said in them stays.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from typing import Any

from sqlalchemy import select

from webapp.conversations.models import Conversation, Message, MessageReasoning
from webapp.db.base import db
from webapp.db.index_hints import batches_to_change
from webapp.memories.models import Memory
from webapp.memories.rules.paraphrases import ForgottenStatements, without_repeats
from webapp.memories.rules.tombstones import has_statements
from webapp.memories.store.copies import (
    replace_copies,
    replies_stripped,
    statements_withdrawn,
    strip_calls_and_offers,
    strip_thoughts,
)
from webapp.memories.store.forgetting import drop_streams, pre_forget
from webapp.memories.store.journal import statement_hash
from webapp.memories.store.reach import Reach, lock_affected_conversations, pre_withdraw
from webapp.retrieval.models import ConversationChunk, TurnReceipt

WITHDRAWN = "[no longer shared]"


def _conversations_with_memories(user_id: int, memory_ids: Collection[int]) -> dict[int, set[int]]:
    """Return others' conversations, by user, that were given these memories or something recalled from such a one."""
    conversations: dict[int, set[int]] = defaultdict(set)
    all_ids: set[int] = set()
    conversation_ids = _conversations_shown(user_id, [("memory", memory_ids)])
    while conversation_ids := {number: other for number, other in conversation_ids.items() if number not in all_ids}:
        all_ids |= conversation_ids.keys()
        for number, other in conversation_ids.items():
            conversations[other].add(number)
        replies = select(Message.message_id).where(
            Message.conversation_id.in_(conversation_ids), Message.role == "assistant"
        )
        summaries = select(ConversationChunk.chunk_id).where(ConversationChunk.conversation_id.in_(conversation_ids))
        conversation_ids = _conversations_shown(user_id, [("message", replies), ("chunk", summaries)])
    return conversations


def _conversations_shown(user_id: int, passages: Sequence[tuple[str, Any]]) -> dict[int, int]:
    """Return the conversations of others, with their owners, in whose prompts passages of these kinds and ids were."""
    rows_by_id: dict[int, int] = {}
    for kind, ids in passages:
        statement = (
            select(Conversation.conversation_id, Conversation.user_id)
            .join(Message, Message.conversation_id == Conversation.conversation_id)
            .join(TurnReceipt, TurnReceipt.message_id == Message.message_id)
            .where(TurnReceipt.kind == kind, TurnReceipt.passage_id.in_(ids), TurnReceipt.injected)
            .where(Conversation.user_id != user_id)
            .distinct()
        )
        rows_by_id |= dict(db.session.execute(statement).all())
    return rows_by_id


@lock_affected_conversations.connect
def _lock_conversations(_sender: Any, *, user_id: int, memory_ids: Collection[int]) -> None:
    """Lock the conversations, in order: ending a reply, too, locks its conversation before anybody's memory."""
    ids = sorted(number for numbers in _conversations_with_memories(user_id, memory_ids).values() for number in numbers)
    if ids:
        statement = select(Conversation.conversation_id).where(Conversation.conversation_id.in_(ids))
        db.session.execute(statement.order_by(Conversation.conversation_id).with_for_update())


@pre_withdraw.connect
@pre_forget.connect
def _remove_copies(
    _sender: Any, *, user_id: int, memory_ids: Collection[int], texts: Collection[str], **_: Any
) -> Reach:
    reach = Reach()
    for other, conversation_ids in sorted(_conversations_with_memories(user_id, memory_ids).items()):
        reach += _redact_conversations(other, sorted(conversation_ids), memory_ids, _exclude_own(other, texts))
    return reach


def _exclude_own(user_id: int, texts: Collection[str]) -> set[str]:
    """Return the texts, except those that are also memories of the user's own."""
    hashes = {statement_hash(text): text for text in texts}
    own_hashes = db.session.scalars(
        select(Memory.statement_hash).where(Memory.user_id == user_id, Memory.statement_hash.in_(hashes))
    )
    return set(texts) - {hashes[number] for number in own_hashes}


def _redact_conversations(
    user_id: int, conversation_ids: Collection[int], memory_ids: Collection[int], texts: Collection[str]
) -> Reach:
    """Remove the texts from somebody's conversations: from replies, with their reasoning, offers and lookups, here;
    what was derived from replies is left to the receivers of the signals."""
    if not texts:
        return Reach()
    statements, exact = ForgottenStatements(texts), sorted(filter(has_statements, texts), key=len, reverse=True)
    updates, quoted = [], 0
    for row in _finished_messages(conversation_ids):
        if row.role == "user":
            quoted += replace_copies(row.content, exact) != row.content
            continue
        text = without_repeats(replace_copies(row.content, exact, WITHDRAWN), statements, WITHDRAWN)
        if strip_calls_and_offers(row, memory_ids, texts) or text != row.content:
            row.content = text
            updates.append(row.message_id)
    for thoughts in _reasoning(conversation_ids):
        updates += strip_thoughts(thoughts, exact, statements, WITHDRAWN)
    updates = list(dict.fromkeys(updates))
    db.session.flush()
    statements_withdrawn.send(None, user_id=user_id, conversation_ids=conversation_ids, statements=statements)
    if updates:
        replies_stripped.send(None, user_id=user_id, message_ids=updates)
        drop_streams(updates)
    return Reach(len(updates), quoted)


def _finished_messages(conversation_ids: Collection[int]) -> Iterator[Message]:
    """Yield the messages of some conversations that are not being written, a few at a time; changes are flushed."""
    statement = select(Message).where(Message.conversation_id.in_(conversation_ids), Message.status != "streaming")
    return chain.from_iterable(batches_to_change(statement, Message.message_id))


def _reasoning(conversation_ids: Collection[int]) -> Iterator[Sequence[MessageReasoning]]:
    """Yield the reasoning for the replies of some conversations, a few at a time."""
    statement = (
        select(MessageReasoning)
        .join(Message, Message.message_id == MessageReasoning.message_id)
        .where(Message.conversation_id.in_(conversation_ids))
    )
    return batches_to_change(statement, MessageReasoning.message_id)
