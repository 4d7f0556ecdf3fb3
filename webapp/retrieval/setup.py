"""Parts of retrieval in an application: the cache of indexes, query vectors, and signal handlers."""

from typing import Any

from flask import Flask
from sqlalchemy import event, select
from sqlalchemy.orm import Session

from webapp.background.queues import enqueue_after_commit, requests_after_commit
from webapp.config import Settings
from webapp.conversations.models import Message
from webapp.db.base import db
from webapp.files.documents import collect_cited_documents
from webapp.memories.models import Memory
from webapp.providers.clients import embeddings
from webapp.retrieval.cache import IndexCache, index_cache
from webapp.retrieval.models import TurnReceipt
from webapp.retrieval.query_vectors import make_query_vectors, query_vectors
from webapp.spaces.models import DocumentChunk


def init_retrieval(app: Flask, settings: Settings) -> None:
    """Create the process's caches; no thread and no connection yet."""
    index_cache.put(app, IndexCache(app, settings.index_cache_mb * 2**20))
    query_vectors.put(app, make_query_vectors(embeddings.of(app), settings))


@event.listens_for(db.session, "after_flush")
def _request_vectors(session: Session, _context: Any) -> None:
    """Ask for the vector of every memory that has none, whoever wrote it; the sweep makes up for lost requests."""
    owners = {
        row.user_id
        for row in (*session.new, *session.dirty)
        if isinstance(row, Memory) and row.embedding is None and row.valid_to is None
    }
    user_ids = {request.ids.get("user_id") for request in requests_after_commit(session, "index")}
    for user_id in owners - user_ids:
        enqueue_after_commit("index", user_id=user_id)


@collect_cited_documents.connect
def documents_used_in(_sender: object, *, conversation_id: int) -> list[int]:
    """Return the ids of the documents of which a part was in a prompt."""
    statement = (
        select(DocumentChunk.document_id)
        .join(TurnReceipt, TurnReceipt.passage_id == DocumentChunk.document_chunk_id)
        .join(Message, Message.message_id == TurnReceipt.message_id)
        .where(Message.conversation_id == conversation_id, TurnReceipt.kind == "document", TurnReceipt.injected)
        .distinct()
    )
    return list(db.session.scalars(statement))
