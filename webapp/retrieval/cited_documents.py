"""Documents of spaces that the replies of a conversation drew on."""

from __future__ import annotations

from sqlalchemy import select

from webapp.conversations.models import Message
from webapp.db.base import db
from webapp.files.signals import documents_asked
from webapp.retrieval.models import TurnReceipt
from webapp.spaces.models import DocumentChunk


def init_documents_used() -> None:
    """Connect to the signal that asks for them."""
    documents_asked.connect(documents_used_in)


def documents_used_in(_sender: object, *, conversation_id: int) -> list[int]:
    """The ids of the documents of which a part was in a prompt."""
    used = (
        select(DocumentChunk.document_id)
        .join(TurnReceipt, TurnReceipt.passage_id == DocumentChunk.document_chunk_id)
        .join(Message, Message.message_id == TurnReceipt.message_id)
        .where(Message.conversation_id == conversation_id, TurnReceipt.kind == "document", TurnReceipt.injected)
        .distinct()
    )
    return list(db.session.scalars(used))
