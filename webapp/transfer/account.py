"""Everything of an account, part by part, as JSON lines: what is whose, in which file, and what never goes out."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from sqlalchemy import JSON, Column, LargeBinary, Select, select

from webapp.accounts.models import User
from webapp.audit.models import AuditEvent
from webapp.conversations import reasoning
from webapp.conversations.models import Conversation, Folder, Message
from webapp.database import Base, db, now
from webapp.digests.models import ConversationMemory
from webapp.journeys.models import ConversationReport, Journey, PointEvidence, PointMemory
from webapp.library.models import SavedPrompt
from webapp.memories.models import (
    Memory,
    MemoryChangeSet,
    MemoryEvidence,
    MemoryRevision,
    MemoryTombstone,
)
from webapp.retrieval.models import ConversationChunk, TurnReceipt
from webapp.spaces.models import Space, SpaceDocument, SpaceMember
from webapp.transfer.readers.commonplace import FORMAT

VERSION = 1
BATCH = 200
NEVER = {"embedding", "password_hash", "token", "user_id"}
"""Columns that never go out: they are secrets, can be made again, or are the same in every line."""


def manifest(user_id: int) -> dict[str, Any]:
    """What the export is, and of whom."""
    user = db.session.get_one(User, user_id)
    return {
        "format": FORMAT,
        "version": VERSION,
        "made_at": now().isoformat(),
        "account": {"name": user.name, "email": user.email, "settings": user.settings or {}},
        "files": {name: about for name, (about, _) in PARTS.items()},
    }


def lines(user_id: int, name: str) -> Iterator[str]:
    """The lines of one file of the export, each a JSON object; read from the tables a batch at a time."""
    for row in _PARTS_READ[name](user_id):
        yield json.dumps(row, ensure_ascii=False, default=_plain) + "\n"


def reports(user_id: int) -> Iterator[tuple[str, bytes]]:
    """The PDF summaries of the user's journeys."""
    rows = db.session.execute(
        select(Conversation.conversation_id, ConversationReport.pdf)
        .join(Conversation, Conversation.conversation_id == ConversationReport.conversation_id)
        .where(Conversation.user_id == user_id, ConversationReport.pdf.is_not(None))
    )
    for conversation_id, pdf in rows:
        yield f"reports/conversation-{conversation_id}.pdf", pdf


def schema() -> dict[str, Any]:
    """A JSON schema for each file of the export."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Commonplace export, version 1",
        "$defs": {name: {"description": about, **_shape(model)} for name, (about, model) in PARTS.items()},
    }


PARTS: dict[str, tuple[str, type[Base]]] = {
    "folders.jsonl": ("Folders for conversations.", Folder),
    "prompts.jsonl": ("Saved prompts that you made.", SavedPrompt),
    "spaces.jsonl": ("Spaces that are yours, with instructions and the texts of their documents.", Space),
    "conversations.jsonl": ("Conversations, each with all messages and their earlier versions.", Conversation),
    "summaries.jsonl": ("Summaries of long conversations.", ConversationChunk),
    "memories.jsonl": ("Memories in every state.", Memory),
    "evidence.jsonl": ("The quotes that memories rest on.", MemoryEvidence),
    "change_sets.jsonl": ("What was done to memories, and by what.", MemoryChangeSet),
    "revisions.jsonl": ("Every earlier state of a memory.", MemoryRevision),
    "tombstones.jsonl": ("Keyed hashes of what was forgotten; they hold no text.", MemoryTombstone),
    "digests.jsonl": ("Digests of conversations.", ConversationMemory),
    "point_memories.jsonl": ("What is known for the points of journeys.", PointMemory),
    "point_evidence.jsonl": ("The quotes that points rest on.", PointEvidence),
    "receipts.jsonl": ("What each reply looked at.", TurnReceipt),
    "audit.jsonl": ("Who did or read what in your account.", AuditEvent),
}
"""The files of an export with what is in them and the table they are read from."""


def _conversations(user_id: int) -> Iterator[dict[str, Any]]:
    journeys = dict(db.session.execute(select(Journey.journey_id, Journey.slug)).all())
    mine = select(Conversation).where(Conversation.user_id == user_id, Conversation.deleted_at.is_(None))
    for row in _walk(mine, Conversation.conversation_id):
        said = select(Message).where(Message.conversation_id == row.conversation_id).order_by(Message.message_id)
        rows = db.session.scalars(said).all()
        thoughts = reasoning.texts_of([message.message_id for message in rows])
        yield _dump(row) | {
            "journey": journeys.get(row.journey_id or 0),
            "tags": row.tags,
            "messages": [_dump(message) | {"reasoning": thoughts.get(message.message_id)} for message in rows],
        }


def _spaces(user_id: int) -> Iterator[dict[str, Any]]:
    owned = select(SpaceMember.space_id).where(SpaceMember.user_id == user_id, SpaceMember.role == "owner")
    for row in _walk(select(Space).where(Space.space_id.in_(owned)), Space.space_id):
        mine = select(SpaceDocument).where(SpaceDocument.space_id == row.space_id)
        documents = db.session.scalars(mine.order_by(SpaceDocument.document_id))
        yield _dump(row) | {"documents": [{"title": d.title, "content": d.content} for d in documents]}


def _of(model: Any, key: Any, *conditions: Any) -> Any:
    """A reader of rows that carry the user's id, or meet conditions made from it."""

    def read(user_id: int) -> Iterator[dict[str, Any]]:
        wanted = [condition(user_id) for condition in conditions] or [model.user_id == user_id]
        for row in _walk(select(model).where(*wanted), key):
            yield _dump(row)

    return read


def _in_own_conversations(column: Any) -> Any:
    return lambda user_id: column.in_(select(Conversation.conversation_id).where(Conversation.user_id == user_id))


def _of_own_memories(column: Any) -> Any:
    return lambda user_id: column.in_(select(Memory.memory_id).where(Memory.user_id == user_id))


def _of_own_messages(column: Any) -> Any:
    return lambda user_id: column.in_(
        select(Message.message_id)
        .join(Conversation, Conversation.conversation_id == Message.conversation_id)
        .where(Conversation.user_id == user_id)
    )


def _walk(statement: Select[Any], key: Any) -> Iterator[Any]:
    """Rows in the order of a key, in batches that are let go of again."""
    last: Any = None
    while True:
        page = statement.order_by(key).limit(BATCH)
        rows = db.session.scalars(page if last is None else page.where(key > last)).all()
        if not rows:
            return
        last = getattr(rows[-1], key.key)
        yield from rows
        db.session.expunge_all()


def _dump(row: Any) -> dict[str, Any]:
    """A row's columns under their names in the table, without those that never go out."""
    found = {}
    for attribute in row.__mapper__.column_attrs:
        column = attribute.columns[0]
        if not isinstance(column, Column) or not _goes_out(column):
            continue
        found[column.name] = getattr(row, attribute.key)
    return found


def _goes_out(column: Any) -> bool:
    return column.name not in NEVER and column.computed is None and not isinstance(column.type, LargeBinary)


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return str(value)


def _shape(model: type[Base]) -> dict[str, Any]:
    kinds = {bool: "boolean", int: "integer", float: "number", dict: "object", list: "array"}
    properties: dict[str, Any] = {}
    for column in model.__table__.columns:
        if not _goes_out(column):
            continue
        kind = kinds.get(column.type.python_type, "string")
        if not isinstance(column.type, JSON):
            properties[column.name] = {"type": [kind, "null"] if column.nullable else kind}
    if model is Conversation:
        properties |= {"tags": {"type": "array"}, "messages": {"type": "array"}}
    return {"type": "object", "properties": properties}


_PARTS_READ: dict[str, Any] = {
    "folders.jsonl": _of(Folder, Folder.folder_id),
    "prompts.jsonl": _of(SavedPrompt, SavedPrompt.saved_prompt_id),
    "spaces.jsonl": _spaces,
    "conversations.jsonl": _conversations,
    "summaries.jsonl": _of(
        ConversationChunk, ConversationChunk.chunk_id, _in_own_conversations(ConversationChunk.conversation_id)
    ),
    "memories.jsonl": _of(Memory, Memory.memory_id),
    "evidence.jsonl": _of(MemoryEvidence, MemoryEvidence.evidence_id, _of_own_memories(MemoryEvidence.memory_id)),
    "change_sets.jsonl": _of(MemoryChangeSet, MemoryChangeSet.change_set_id),
    "revisions.jsonl": _of(MemoryRevision, MemoryRevision.revision_id, _of_own_memories(MemoryRevision.memory_id)),
    "tombstones.jsonl": _of(MemoryTombstone, MemoryTombstone.digest),
    "digests.jsonl": _of(
        ConversationMemory,
        ConversationMemory.id,
        _in_own_conversations(ConversationMemory.conversation_id),
    ),
    "point_memories.jsonl": _of(PointMemory, PointMemory.point_memory_id),
    "point_evidence.jsonl": _of(
        PointEvidence,
        PointEvidence.evidence_id,
        lambda user_id: PointEvidence.point_memory_id.in_(
            select(PointMemory.point_memory_id).where(PointMemory.user_id == user_id)
        ),
    ),
    "receipts.jsonl": _of(TurnReceipt, TurnReceipt.receipt_id, _of_own_messages(TurnReceipt.message_id)),
    "audit.jsonl": _of(AuditEvent, AuditEvent.event_id),
}
