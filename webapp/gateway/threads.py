"""The place where a resent history continues: in the conversation it came from, or in a new one that begins with it."""

from collections.abc import Sequence

from sqlalchemy import select

from webapp.conversations import messages
from webapp.conversations.models import Conversation, Message
from webapp.conversations.schemas import NewConversation
from webapp.conversations.service import create_conversation, owned_conversations
from webapp.db.base import db, now
from webapp.gateway.fingerprints import TextLine, fingerprint, is_same_reply
from webapp.gateway.models import GatewayThread
from webapp.gateway.wire import GatewayRequest
from webapp.memories.store.copies import FORGOTTEN_MARK
from webapp.memories.store.tombstones import tombstone_set
from webapp.tools.client_tools import CLIENT

CANDIDATES = 20
_PARTIAL = ("streaming", "stopped", "interrupted", "failed")


def record(user_id: int, mark: str, conversation_id: int, reply_id: int) -> None:
    """Remember that this reply answers the history with this fingerprint."""
    db.session.add(
        GatewayThread(user_id=user_id, fingerprint=mark, conversation_id=conversation_id, message_id=reply_id)
    )
    db.session.flush()


def fingerprint_of(user_id: int, reply: Message) -> str | None:
    """Return the fingerprint of the history before a reply; None for one not made through the gateway."""
    query = select(GatewayThread.fingerprint).where(
        GatewayThread.user_id == user_id,
        GatewayThread.conversation_id == reply.conversation_id,
        GatewayThread.message_id == reply.message_id,
    )
    return db.session.scalar(query.order_by(GatewayThread.thread_id.desc()).limit(1))


def find(user_id: int, seed: str, history: Sequence[TextLine]) -> tuple[Conversation, int] | None:
    """Return the conversation that a history comes from, locked, and its last reply; None for any other."""
    if not history or history[-1][0] != "assistant":
        return None
    for reply in _candidates(user_id, fingerprint(seed, history[:-1])):
        is_partial = reply.status in _PARTIAL
        if not is_same_reply(reply.content, history[-1][1], is_partial=is_partial, placeholder=FORGOTTEN_MARK):
            continue
        if (conversation := _lock_conversation(user_id, reply)) is not None:
            return conversation, reply.message_id
    return None


def find_question(user_id: int, mark: str) -> tuple[int, int, str] | None:
    """Return where this very question was asked before, after this very history: the conversation, locked, with the
    id and status of the reply it still ends with. None for a new question, or if the conversation has gone on.
    """
    for reply in _candidates(user_id, mark):
        conversation = _lock_conversation(user_id, reply)
        rest = messages.current_messages(reply.conversation_id, after=reply.message_id)
        if conversation is not None and all(row.role == "assistant" for row in rest):
            last = rest[-1] if rest else reply
            return reply.conversation_id, last.message_id, last.status
    return None


def find_part(user_id: int, request: GatewayRequest, seed: str) -> Message | None:
    """Return the part of a reply that ends with the calls this request answers; None if there is none."""
    last = request.rounds[-1]
    before = request.lines[:-1] if last.text else request.lines
    ids = {call.id for call in last.calls}
    for reply in _candidates(user_id, fingerprint(seed, before)):
        handed = {call.get("call_id") for call in reply.tool_calls or () if call.get("by") == CLIENT}
        if ids == handed and is_same_reply(reply.content, last.text, is_partial=True, placeholder=FORGOTTEN_MARK):
            return reply
    return None


def _lock_conversation(user_id: int, reply: Message) -> Conversation | None:
    own = owned_conversations(user_id).where(Conversation.conversation_id == reply.conversation_id)
    return db.session.scalar(own.with_for_update())


def _candidates(user_id: int, mark: str) -> Sequence[Message]:
    return db.session.scalars(
        select(Message)
        .join(GatewayThread, GatewayThread.message_id == Message.message_id)
        .join(Conversation, Conversation.conversation_id == Message.conversation_id)
        .where(GatewayThread.user_id == user_id, GatewayThread.fingerprint == mark, Message.superseded_by_id.is_(None))
        .where(Conversation.deleted_at.is_(None))
        .order_by(GatewayThread.thread_id.desc())
        .limit(CANDIDATES)
    ).all()


def existing_reply(conversation_id: int, after: int, question: str) -> tuple[int, str] | None:
    """Return id and status of the reply to exactly this last question; id 0 if `after` is last, None if it went on."""
    rest = messages.current_messages(conversation_id, after=after)
    if not rest:
        return 0, ""
    # A reply may have several parts.
    is_one = [row.role for row in rest] == ["user", *["assistant"] * (len(rest) - 1)] and len(rest) > 1
    if is_one and rest[0].content.strip() == question.strip():
        return rest[-1].message_id, rest[-1].status
    return None


def begin_with_history(user_id: int, fields: NewConversation, history: Sequence[TextLine]) -> Conversation:
    """Create a conversation from a client's history, without memories of it or forgotten text in it."""
    tombstones = tombstone_set(user_id)
    past = [
        Message(
            role=role,
            content=tombstones.without_forgotten(text, FORGOTTEN_MARK),
            created_at=now(),
            is_tainted=role == "assistant",  # nobody knows what its prompt held there
        )
        for role, text in history
    ]
    first = next((message.content for message in past if message.role == "user"), "")
    conversation = create_conversation(user_id, fields, first_words=first)
    messages.add_past_messages(conversation, past)
    return conversation
