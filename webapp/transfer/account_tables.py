"""The contents of an account, part by part: in which file of an export each table is, in which order."""

import base64
import json
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from typing import Any

from sqlalchemy import JSON, select

from webapp.accounts.models import User
from webapp.audit.models import AuditEvent
from webapp.conversations.models import Conversation, Folder, MessageFeedback
from webapp.db.base import db, now
from webapp.digests.models import ConversationMemory
from webapp.files.models import File
from webapp.files.storage import file_storage, key_of
from webapp.journeys.models import ConversationReport, Journey, JourneyGuide, PointEvidence, PointMemory
from webapp.memories.models import (
    Memory,
    MemoryChangeSet,
    MemoryEvidence,
    MemoryRevision,
    MemoryTombstone,
    TombstoneKey,
)
from webapp.memories.portrait.models import Portrait
from webapp.retrieval.models import ConversationChunk, PassageVerdict, TurnReceipt
from webapp.saved_prompts.models import SavedPrompt
from webapp.schedules.models import Schedule
from webapp.sharing.models import ConversationShare
from webapp.spaces.models import Space, SpaceDocument
from webapp.transfer.account_rows import (
    ExportFile,
    conversation_lines,
    digest_lines,
    file_lines,
    in_conversations,
    is_exported,
    journey_lines,
    of_memories,
    of_messages,
    own_conversations,
    own_points,
    own_spaces,
    point_lines,
    portrait_lines,
    report_lines,
    report_path,
    space_lines,
    tombstone_key_lines,
)
from webapp.transfer.models import ImportSource
from webapp.transfer.readers.commonplace import FORMAT
from webapp.usage.models import UsageRecord

DOCUMENTS: dict[str, Any] = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "document_id": {"type": "integer"},
            "title": {"type": "string"},
            "content": {"type": "string", "description": "Its text; a form feed ends each page but the last."},
            "pages": {"type": "integer", "description": "0 for a text without pages."},
            "digest": {
                "type": ["string", "null"],
                "description": "The SHA-256 of the file it was read from, and its name below files/; null for a text.",
            },
            "media_type": {"type": ["string", "null"]},
            "file_name": {"type": ["string", "null"]},
            "created_at": {"type": "string"},
            "parts": {"type": "array", "description": "The numbers of its parts in receipts."},
        },
    },
}
"""The documents in a space."""


PARTS: dict[str, ExportFile] = {
    "folders.jsonl": ExportFile("Folders for conversations.", Folder),
    "journeys.jsonl": ExportFile(
        "Journeys that you wrote for yourself.", Journey, journey_lines, {"versions": "array", "points": "array"}
    ),
    "files.jsonl": ExportFile(
        "Files and the text read of them; their bytes lie below files/.", File, file_lines, {"text": "array"}
    ),
    "spaces.jsonl": ExportFile(
        "Spaces that are yours, with instructions and their documents; the bytes of the originals lie below files/.",
        Space,
        space_lines,
        {"documents": DOCUMENTS, "portrait": "array"},
    ),
    "prompts.jsonl": ExportFile("Saved prompts that you made.", SavedPrompt),
    "portrait.jsonl": ExportFile(
        "What is known of you in prose, each sentence with the memories it rests on.",
        Portrait,
        portrait_lines,
        {"sentences": "array", "before": "array"},
    ),
    "schedules.jsonl": ExportFile("Messages that are sent at a time.", Schedule),
    "conversations.jsonl": ExportFile(
        "Conversations, each with all messages and their earlier versions.",
        Conversation,
        conversation_lines,
        {"tags": "array", "messages": "array"},
    ),
    "feedback.jsonl": ExportFile(
        "What you think of replies, and why.", MessageFeedback, whose=of_messages(MessageFeedback.message_id)
    ),
    "sources.jsonl": ExportFile("Which conversations, spaces and documents came from another program.", ImportSource),
    "summaries.jsonl": ExportFile(
        "Summaries of long conversations.", ConversationChunk, whose=in_conversations(ConversationChunk.conversation_id)
    ),
    "digests.jsonl": ExportFile("Digests of conversations.", ConversationMemory, digest_lines, {"versions": "array"}),
    "change_sets.jsonl": ExportFile("What was done to memories, and by what.", MemoryChangeSet),
    "memories.jsonl": ExportFile("Memories in every state.", Memory),
    "evidence.jsonl": ExportFile(
        "The quotes that memories rest on.", MemoryEvidence, whose=of_memories(MemoryEvidence.memory_id)
    ),
    "revisions.jsonl": ExportFile(
        "Every earlier state of a memory.", MemoryRevision, whose=of_memories(MemoryRevision.memory_id)
    ),
    "tombstone_keys.jsonl": ExportFile(
        "The keys of your tombstones, so that they hold where you take them.",
        TombstoneKey,
        tombstone_key_lines,
        {"key": "string"},
    ),
    "tombstones.jsonl": ExportFile("Keyed hashes of what was forgotten; they hold no text.", MemoryTombstone),
    "point_memories.jsonl": ExportFile(
        "What is known for the points of journeys.", PointMemory, point_lines(PointMemory)
    ),
    "point_evidence.jsonl": ExportFile("The quotes that points rest on.", PointEvidence, whose=own_points),
    "guides.jsonl": ExportFile(
        "How far the journeys of conversations are.",
        JourneyGuide,
        point_lines(JourneyGuide, in_conversations(JourneyGuide.conversation_id)),
    ),
    "reports.jsonl": ExportFile(
        "Summaries of journeys; the PDFs lie below reports/.", ConversationReport, report_lines, {"evidence": "array"}
    ),
    "receipts.jsonl": ExportFile("What each reply looked at.", TurnReceipt, whose=of_messages(TurnReceipt.message_id)),
    "verdicts.jsonl": ExportFile("What you said of passages under replies.", PassageVerdict),
    "shares.jsonl": ExportFile("Links you share; a link holds only where it was made.", ConversationShare),
    "usage.jsonl": ExportFile("Tokens that were spent.", UsageRecord),
    "audit.jsonl": ExportFile("Who did or read what in your account.", AuditEvent),
}
"""The files of an export, in the order in which they are written."""


VERSION = 3
"""3: documents in spaces have their pages and their originals."""


def manifest(user_id: int) -> dict[str, Any]:
    """Return what the export contains, and whose it is."""
    user = db.session.get_one(User, user_id)
    return {
        "format": FORMAT,
        "version": VERSION,
        "made_at": now().isoformat(),
        "account": {"name": user.name, "email": user.email, "settings": user.settings or {}},
        "files": {name: part.description for name, part in PARTS.items()},
    }


def lines(user_id: int, name: str) -> Iterator[str]:
    """Yield the lines of one file of the export, each a JSON object; read from the tables a batch at a time."""
    for row in PARTS[name].read(user_id):
        yield json.dumps(row, ensure_ascii=False, default=_plain) + "\n"


def reports(user_id: int) -> Iterator[tuple[str, bytes]]:
    """Yield the PDF summaries of the user's journeys."""
    rows = db.session.execute(
        select(ConversationReport.conversation_id, ConversationReport.pdf).where(
            ConversationReport.conversation_id.in_(own_conversations(user_id)), ConversationReport.pdf.is_not(None)
        )
    )
    for conversation_id, pdf in rows:
        yield report_path(conversation_id), pdf


def stored_files(user_id: int) -> Iterator[tuple[str, Iterator[bytes]]]:
    """Yield name in the export and content, in pieces, of the user's files and their spaces' originals, once each."""
    files = select(File.digest).where(File.user_id == user_id).order_by(File.file_id)
    documents = (
        select(SpaceDocument.digest)
        .where(SpaceDocument.space_id.in_(own_spaces(user_id)), SpaceDocument.digest.is_not(None))
        .order_by(SpaceDocument.document_id)
    )
    digests = [*db.session.scalars(files), *db.session.scalars(documents)]
    db.session.rollback()
    for digest in dict.fromkeys(digests):
        with suppress(FileNotFoundError):
            yield f"files/{digest}", file_storage().pieces(key_of(digest))


def schema() -> dict[str, Any]:
    """Return a JSON schema for each file of the export."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Commonplace export, version {VERSION}",
        "$defs": {name: {"description": part.description, **_shape(part)} for name, part in PARTS.items()},
    }


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return str(value)


def _shape(part: ExportFile) -> dict[str, Any]:
    kinds = {bool: "boolean", int: "integer", float: "number", dict: "object", list: "array"}
    properties: dict[str, Any] = {}
    for column in part.model.__table__.columns:
        if not is_exported(column):
            continue
        kind = kinds.get(column.type.python_type, "string")
        if not isinstance(column.type, JSON):
            properties[column.name] = {"type": [kind, "null"] if column.nullable else kind}
    return {
        "type": "object",
        "properties": properties
        | {name: {"type": kind} if isinstance(kind, str) else kind for name, kind in part.extra.items()},
    }
